"""What a text says is there, and what it does not say."""

from __future__ import annotations

import time

import pytest

from memstore.core.claims import LONGEST, MOST, Claim, Missing, claims, told


def named(text: str) -> list[tuple[object, ...]]:
    return [(one.kind, one.what, *([one.line] if one.line else []), *one.files) for one in claims(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is in `src/auth.py`.", [("path", "src/auth.py")]),
        ("It is in src/auth.py, see ./lib/db.ts:", [("path", "src/auth.py"), ("path", "lib/db.ts")]),
        ("`src/auth.py:42`", [("path", "src/auth.py"), ("line", "src/auth.py", 42)]),
        ("(see src/auth.py:42-60)", [("path", "src/auth.py"), ("line", "src/auth.py", 42)]),
        ("[there](src/auth.py#L7)", [("path", "src/auth.py"), ("line", "src/auth.py", 7)]),
        ("`src/auth/` and src/xx_model.py", [("path", "src/auth"), ("path", "src/xx_model.py")]),
        ("run `pytest -q tests/test_a.py::TestA::test_b`",
         [("path", "tests/test_a.py"), ("name", "test_b", "tests/test_a.py")]),
        ("`Auth.login(user)` in `src/auth.py`", [("path", "src/auth.py"), ("name", "login", "src/auth.py")]),
        ("`class Auth` in `src/auth.py`", [("path", "src/auth.py"), ("name", "Auth", "src/auth.py")]),
        ("登录在src/auth.py文件里", [("path", "src/auth.py")]),
        ("see `docs/設計.md`", [("path", "docs/設計.md")]),
        ("the CI is .github/workflows/ci.yml", [("path", ".github/workflows/ci.yml")]),
        ("on branch `feature/login`", [("branch", "feature/login")]),
        ("the `v2` branch, 分支 `dev`", [("branch", "v2"), ("branch", "dev")]),
        ("src/a.py and src/a.py", [("path", "src/a.py")]),
    ],
)  # fmt: skip
def test_files_lines_functions_and_branches_are_found(text: str, found: list[tuple[object, ...]]):
    assert named(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "", "and/or, 24/7, TCP/IP, e.g./i.e., `application/json`, `GET /api/users.json`", "`auth.py`, setup.cfg",
        "https://example.com/src/auth.py and example.com/a.html", "`git@example.com:shop/shop.git`",
        "/etc/app.conf ~/x/a.py ../up/a.py a/../b.py `/etc/x.py` C:/a/b.py $HOME/a/b.py %TMP%/a.py",
        "src/*.py src/{a,b}.py src/<name>.py `src/<name>/x.py` src/.../x.py app/[slug]/page.tsx",
        "`src/` logs/YYYY/MM/notes.md docs/NNN.md `.claude/settings.json`",
        "node_modules/a/b.js dist/app.js .venv/lib/x.py `.git/config.lock`", "`@scope/pkg/x.js`",
        "```\nsrc/auth.py\n```", "~~~\n`src/auth.py`\n~~~", "`login()` is slow", "the branch is main", "naïve/x.py",
        "branch `--all`, branch `a..b`, branch `x y`, branch `../../etc`, branch `.git`", "src\\auth/x.py",
    ],
)  # fmt: skip
def test_what_can_be_meant_otherwise_is_no_claim(text: str):
    assert named(text) == []


def test_a_line_with_a_not_says_nothing_of_functions():
    assert named("never call `print()` in `src/a.py`") == [("path", "src/a.py")]


def test_of_a_text_that_is_cut_off_no_half_of_a_path_is_taken():
    line = "x " * 995 + "src/auth.python src/auth.py"
    assert named(line) == []
    assert named("x\n" * (LONGEST // 2 - 2) + "src/auth.python") == []


def test_there_are_only_so_many():
    assert len(claims(" ".join(f"src/{number}.py" for number in range(500)))) == MOST


@pytest.mark.parametrize(
    "piece",
    ["a/", "`", "a", "`a", "a/a.py ", "`f(", "branch `", "`a.a.a", "src/x.py::a.", "[" , "x.py:1", "`(a", "`a::", "#L"],
)  # fmt: skip
def test_any_text_is_read_in_time_that_grows_with_it(piece: str):
    started = time.process_time()
    claims((piece * 600 + "\n") * 40, 10**6)
    claims((f"{piece} branch" + " " * 1_980 + "`\n") * 100, 10**6)
    assert time.process_time() - started < 1


def test_what_is_missing_is_told_in_one_line():
    assert told(Missing(Claim("path", "src/a.py"), "3f2a1bc")) == "names `src/a.py`, which is gone since commit 3f2a1bc"
    assert told(Missing(Claim("path", "src/a.py"))) == "names `src/a.py`, which is not in this working tree"
    assert told(Missing(Claim("line", "src/a.py", 9), lines=1)) == "names line 9 of `src/a.py`, which has 1 line"
    assert told(Missing(Claim("name", "f", files=("a/b.py",)))) == "names `f`, which is not in `a/b.py`"
    assert told(Missing(Claim("branch", "x"))) == "names the branch `x`, which this repository does not have"
