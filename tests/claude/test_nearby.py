"""The quick look-ups of a hook say what the rooms that know all the rules say."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest

from memstore.claude import hooks, nearby
from memstore.claude.paths import config_directory, memory_directory, settings_for
from memstore.claude.root import find_root
from memstore.claude.settings import MEMORY_ENABLED
from memstore.errors import PlaceRefused
from memstore.files.claim import make_claim
from memstore.files.folder import Folder
from memstore.store.home import Home
from memstore.store.quick import Json

STORE = "01234567-89ab-7def-8123-456789abcdef"


def git(place: Path, branch: str = "main") -> Path:
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    return place


def places(base: Path) -> dict[str, Path]:
    """Working directories of every kind."""
    main = git(base / "main")
    (main / "src" / "deep").mkdir(parents=True)
    (base / "plain" / "below").mkdir(parents=True)
    found = {"repository": main, "below": main / "src" / "deep", "plain": base / "plain" / "below"}
    (base / "link").symlink_to(main / "src")
    found["link"] = base / "link"
    for name, back in (("linked", True), ("forged", False)):
        own = main / ".git" / "worktrees" / name
        own.mkdir(parents=True)
        found[name] = base / name
        found[name].mkdir()
        (found[name] / ".git").write_text(f"gitdir: {own}\n")
        (own / "commondir").write_text("../..\n")
        (own / "HEAD").write_text(f"ref: refs/heads/{name}\n")
        (own / "gitdir").write_text(f"{found[name] if back else base / 'elsewhere'}/.git\n")
    bare = base / "bare.git"
    own = bare / "worktrees" / "of-bare"
    own.mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    found["of bare"] = base / "of-bare"
    found["of bare"].mkdir()
    (found["of bare"] / ".git").write_text(f"gitdir: {own}\n")
    (own / "commondir").write_text("../..\n")
    (own / "HEAD").write_text("0123456789012345678901234567890123456789\n")
    (own / "gitdir").write_text(f"{found['of bare']}/.git\n")
    module = main / ".git" / "modules" / "sub"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/of-sub\n")
    found["submodule"] = main / "sub"
    found["submodule"].mkdir()
    (found["submodule"] / ".git").write_text("gitdir: ../.git/modules/sub\n")
    found["broken"] = base / "broken"
    found["broken"].mkdir()
    (found["broken"] / ".git").write_text("gitdir: /nowhere\n")
    return found


def test_the_checkout_of_a_directory_is_that_of_the_full_rules(tmp_path: Path):
    for name, place in places(tmp_path).items():
        root = find_root(str(place))
        found = nearby.checkout(str(place))
        assert found is not None
        assert found[:2] == (root.path, root.worktree), name
        assert found[2] == root.branch or root.kind == "directory", name


@pytest.mark.parametrize("cwd", [None, "", "relative", "\0", "/a\0b"])
def test_no_directory_has_no_checkout(cwd: str | None):
    assert nearby.checkout(cwd) is None


HOMES: dict[str, dict[str, str]] = {
    "variable": {"MEMSTORE_HOME": "{base}/own"},
    "link": {"MEMSTORE_HOME": "{base}/link"},
    "data": {"MEMSTORE_HOME": "", "XDG_DATA_HOME": "{base}/data"},
    "relative data": {"XDG_DATA_HOME": "data", "HOME": "{base}/me"},
    "user": {"HOME": "{base}/me"},
}


@pytest.mark.parametrize("name", HOMES)
def test_the_home_is_that_of_the_full_rules(tmp_path: Path, name: str):
    for place in ("own", "data/memstore", "me/.local/share/memstore", "real"):
        (tmp_path / place).mkdir(parents=True, mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    env = {key: value.format(base=tmp_path) for key, value in HOMES[name].items()}
    assert nearby.home_of(env) == Home.locate(env, "linux").path


def test_a_home_that_others_can_write_or_that_is_not_there_is_none(tmp_path: Path):
    place = tmp_path / "home"
    assert nearby.home_of({"MEMSTORE_HOME": str(place)}) is None
    place.mkdir(mode=0o700)
    assert nearby.home_of({"MEMSTORE_HOME": str(place)}) == str(place)
    place.chmod(0o770)
    assert nearby.home_of({"MEMSTORE_HOME": str(place)}) is None
    with pytest.raises(PlaceRefused):
        Home.locate({"MEMSTORE_HOME": str(place)})
    assert nearby.home_of({"MEMSTORE_HOME": "relative"}) is None and nearby.home_of({}) is None


def test_the_store_of_a_root_is_the_one_that_the_registry_has(tmp_path: Path):
    root = git(tmp_path / "repo \u00fc")
    home = Home(str(tmp_path / "home"))
    home.store_for(str(root), lambda: STORE, 1)
    assert nearby.store_of(home.path, str(root), Json()) == STORE
    assert nearby.store_of(home.path, str(tmp_path), Json()) is None
    (entry,) = (tmp_path / "home" / "roots").iterdir()
    for content in (b"", b"{", b'{"store": 5}', b'{"store": "../../x"}', b"[]"):
        entry.write_bytes(content)
        assert nearby.store_of(home.path, str(root), Json()) is None


def test_a_file_belongs_to_the_nearest_claimed_folder_above_it(tmp_path: Path):
    place = tmp_path / "memory"
    folder = Folder.open(str(place), create=True)
    assert folder is not None
    with folder:
        make_claim(folder, STORE, "/srv/repo")
    (tmp_path / "link").symlink_to(place)
    for path, name in (("a.md", "a.md"), ("sub/b.md", "sub/b.md"), ("new/deep/c.md", "new/deep/c.md")):
        for above in (place, tmp_path / "link"):
            assert nearby.claimed(f"{above}/{path}", Json()) == (str(place), STORE, name)
    for path in (None, "", "a.md", f"{place}/a.txt", f"{tmp_path}/a.md", f"{place}/../x.md", f"{place}/\0.md"):
        assert nearby.claimed(path, Json()) is None
    (place / ".memstore").write_text('{"store": "/etc/passwd"}')
    assert nearby.claimed(f"{place}/a.md", Json()) is None


VARIABLES = [
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", ("", "0", "1", "yes", "odd")),
    ("CLAUDE_CODE_SIMPLE", ("", "1")),
    ("CLAUDE_CODE_SAFE_MODE", ("", "true")),
    ("CLAUDE_CODE_REMOTE", ("", "1")),
    ("CLAUDE_CODE_REMOTE_MEMORY_DIR", ("", "/remote")),
]


@pytest.mark.parametrize("setting", [None, True, False])
def test_the_switches_are_those_of_the_full_rules(tmp_path: Path, setting: bool | None):
    root = git(tmp_path / "repo")
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    if setting is not None:
        (home / ".claude" / "settings.json").write_text(json.dumps({"autoMemoryEnabled": setting}))
    tried = 0
    for values in itertools.product(*(values for _, values in VARIABLES)):
        env = {"HOME": str(home), **{name: value for (name, _), value in zip(VARIABLES, values, strict=True) if value}}
        found = find_root(str(root))
        settings = settings_for(found, env, str(home), consent=lambda *_: True, managed=str(tmp_path / "managed"))
        placement = memory_directory(found, env, str(home), settings)
        off = hooks.switched_off(env)
        if off is None:
            off = nearby.set_off(env, str(root), str(root), Json(), str(tmp_path / "managed"))
        assert off is not placement.enabled, env
        tried += 1
    assert tried == 80


FILES = {
    "drop-in": "managed/managed-settings.d/10.json",
    "later drop-in": "managed/managed-settings.d/20.json",
    "managed": "managed/managed-settings.json",
    "local": "repo/.claude/settings.local.json",
    "project": "repo/.claude/settings.json",
    "user": "home/.claude/settings.json",
}
CONTENTS = [
    b'{"autoMemoryEnabled": true}',
    b'\xef\xbb\xbf{"autoMemoryEnabled": false}',
    b'{"autoMemory": false}',
    b'{"autoMemoryEnabled": "no"}',
    b'{"autoMemoryEnabled": true, "autoMemoryEnabled": false}',
    b'{"autoMemoryEnabled": false,} // no JSON',
    b"{",
    b"",
]


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(FILES, 2)))
def test_of_two_settings_files_the_one_counts_that_the_full_rules_choose(tmp_path: Path, first: str, second: str):
    root = git(tmp_path / "repo")
    for path in FILES.values():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    env = {"HOME": str(tmp_path / "home")}
    for one, other in itertools.product(CONTENTS, repeat=2):
        (tmp_path / FILES[first]).write_bytes(one)
        (tmp_path / FILES[second]).write_bytes(other)
        settings = settings_for(
            find_root(str(root)), env, env["HOME"], consent=lambda *_: True, managed=str(tmp_path / "managed")
        )
        wanted = settings.wanted(MEMORY_ENABLED)
        off = nearby.set_off(env, str(root), str(root), Json(), str(tmp_path / "managed"))
        assert off is (wanted is not None and wanted.value is False), (one, other)


@pytest.mark.parametrize(("main", "own"), list(itertools.product((None, True, False), repeat=2)))
def test_in_a_linked_worktree_the_settings_are_those_of_the_full_rules(
    tmp_path: Path, main: bool | None, own: bool | None
):
    cwd = str(places(tmp_path)["linked"])
    for place, value in ((tmp_path / "main", main), (tmp_path / "linked", own)):
        if value is not None:
            (place / ".claude").mkdir()
            (place / ".claude" / "settings.local.json").write_text(json.dumps({"autoMemoryEnabled": value}))
    env, managed = {"HOME": str(tmp_path / "home")}, str(tmp_path / "managed")
    root = find_root(cwd)
    wanted = settings_for(root, env, env["HOME"], consent=lambda *_: True, managed=managed).wanted(MEMORY_ENABLED)
    off = nearby.set_off(env, root.path, cwd, Json(), managed)
    assert off is (wanted is not None and wanted.value is False) is ((main if main is not None else own) is False)


def test_transcripts_lie_in_the_clients_own_place_and_nowhere_else(tmp_path: Path):
    env = {"HOME": str(tmp_path)}
    projects = tmp_path / ".claude" / "projects" / "-srv-shop"
    projects.mkdir(parents=True)
    assert nearby.config_of(env) == config_directory(env, str(tmp_path), "/")
    (projects / "a.jsonl").touch()
    (projects / "out.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(projects / "pipe.jsonl")
    for path, good in (
        ("a.jsonl", True), ("not yet there.jsonl", True), ("out.jsonl", False), ("pipe.jsonl", False),
        ("a.json", False), ("../../../x.jsonl", False), ("\0.jsonl", False),
    ):  # fmt: skip
        assert nearby.is_transcript(f"{projects}/{path}", env) is good, path
    assert not nearby.is_transcript("a.jsonl", env) and not nearby.is_transcript(None, env)


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x" * 100)
    os.mkfifo(tmp_path / "pipe")
    assert nearby.read_small(str(tmp_path / "a"), 100) == b"x" * 100
    for path in (tmp_path / "a", tmp_path, tmp_path / "pipe", tmp_path / "absent"):
        assert nearby.read_small(str(path), 99) is None
