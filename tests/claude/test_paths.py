"""Where the client keeps memory and transcripts, rule by rule (black-box facts of the real client)."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.claude.earlier import earlier_directories
from memstore.claude.paths import Placement, memory_directory, settings_for, transcript_directory
from memstore.claude.root import Root, find_root
from memstore.claude.settings import Scalar
from memstore.claude.slug import sanitise

OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
REMOTE_DIRECTORY = "CLAUDE_CODE_REMOTE_MEMORY_DIR"


def root_at(path: str, worktree: str | None = None) -> Root:
    return Root(path, worktree or path, "repository", None, None, None, "a test says so", ())


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def root(base: Path) -> Root:
    (base / "repo/.claude").mkdir(parents=True)
    return root_at(str(base / "repo"))


def place(
    root: Root,
    env: dict[str, str] | None = None,
    *,
    agreed: bool = False,
    cwd: str | None = None,
    explicit: dict[str, object] | None = None,
) -> Placement:
    def consent(key: str, value: Scalar) -> bool:
        return agreed

    home = os.path.dirname(root.path) + "/user"
    variables = env or {}
    settings = settings_for(
        root, variables, home, consent=consent, cwd=cwd, explicit=explicit, managed=f"{home}/no-managed"
    )
    return memory_directory(root, variables, home, settings, cwd=cwd)


def put(path: Path, **content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def default_of(root: Root) -> str:
    return f"{os.path.dirname(root.path)}/user/.claude/projects/{sanitise(root.path)}/memory"


# The slug


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/srv/a_b.c d/é", "-srv-a-b-c-d--"),
        ("/srv/新聞", "-srv---"),
        ("/srv/🙂", "-srv---"),
        ("/srv/e\u0301", "-srv-e-"),
        ("/Srv//X", "-Srv--X"),
        ("/srv/\udcff", "-srv--"),
        ("", ""),
    ],
)
def test_each_utf16_unit_outside_the_alphabet_becomes_one_dash(path: str, slug: str) -> None:
    assert sanitise(path) == slug


def test_up_to_200_units_nothing_is_added_and_above_a_hash_is() -> None:
    assert sanitise("/" + "a" * 199) == "-" + "a" * 199
    long = sanitise("/" + "a" * 200)
    assert long[:201] == "-" + "a" * 199 + "-"
    assert long[201:] == reference_hash("/" + "a" * 200)
    assert len(sanitise("/" + "🙂" * 99 + "a")) == 200
    assert len(sanitise("/" + "🙂" * 100)) > 200


def test_the_hash_is_of_the_path_before_its_characters_are_replaced() -> None:
    assert sanitise("/" + "a" * 250 + "_x") != sanitise("/" + "a" * 250 + "-x")


def reference_hash(text: str) -> str:
    """JavaScript's `h = (h << 5) - h + unit | 0`, `Math.abs`, `toString(36)`, the long way round."""
    data = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(data), 2):
        value = (value << 5) - value + int.from_bytes(data[index : index + 2], "big")
        value = (value + 2**31) % 2**32 - 2**31
    number, digits = abs(value), ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


@given(st.text(max_size=300))
def test_a_slug_holds_only_letters_digits_and_dashes_and_agrees_with_the_long_way(text: str) -> None:
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    slug = sanitise(text)
    assert set(slug) <= set("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")
    if units <= 200:
        assert len(slug) == units
    else:
        assert slug[200:] == "-" + reference_hash(text)


@pytest.mark.parametrize(
    ("one", "two"), [("my_app", "my-app"), ("my.app", "my-app"), ("新聞", "暫存"), ("외주", "회사")]
)
def test_h02_two_projects_on_one_slug_keep_two_roots(base: Path, one: str, two: str) -> None:
    for name in (one, two):
        (base / name).mkdir()
    first, second = find_root(str(base / one)), find_root(str(base / two))
    assert place(first).directory == place(second).directory
    assert first.path != second.path


# The directory


def test_by_default_it_is_under_the_home_and_nothing_is_created(root: Root, base: Path) -> None:
    found = place(root)
    assert found.directory == default_of(root)
    assert (found.enabled, found.untrusted) == (True, ())
    assert found.rule
    assert found.why
    assert not (base / "user").exists()


def test_every_rule_that_was_looked_at_is_listed(root: Root) -> None:
    decisions = place(root).decisions
    names = [decision.what for decision in decisions[:6]]
    assert names == ["override", "setting", "base", "project name", "project name", "default"]
    assert all(decision.rule and decision.source for decision in decisions)
    assert decisions[5].value == default_of(root)
    assert decisions[-1].what == "enabled"


def test_the_override_is_the_whole_directory_and_beats_the_setting(root: Root, base: Path) -> None:
    put(base / "user/.claude/settings.json", autoMemoryDirectory="/from/setting")
    assert place(root, {OVERRIDE: "/over/ride/"}).directory == "/over/ride"


@pytest.mark.parametrize("value", ["relative", "~/x", "~", "/", "/a", "", "C:\\", "\\\\server\\share", "/a\0b"])
def test_an_invalid_override_counts_as_unset(root: Root, base: Path, value: str) -> None:
    assert place(root, {OVERRIDE: value}).directory == default_of(root)
    put(base / "user/.claude/settings.json", autoMemoryDirectory="/from/setting")
    assert place(root, {OVERRIDE: value}).directory == "/from/setting"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/ab", "/ab"),
        ("/abc/../de/", "/de"),
        ("//srv/share", "/srv/share"),
        ("/srv//x/./y", "/srv/x/y"),
        ("~/mem", "HOME/mem"),
        ("~/a/../b/", "HOME/b"),
        ("~//etc", "HOME/etc"),
        ("/srv/e\u0301", "/srv/\u00e9"),
    ],
)
def test_a_valid_setting_is_normalised(root: Root, base: Path, value: str, expected: str) -> None:
    put(base / "user/.claude/settings.json", autoMemoryDirectory=value)
    assert place(root).directory == expected.replace("HOME", str(base / "user"))


@pytest.mark.parametrize(
    "value",
    [
        "rel/x",
        "",
        "~",
        "~/",
        "~/.",
        "~/..",
        "~/../x",
        "~/a/..",
        "~root/x",
        "/",
        "/a",
        "C:\\x",
        "/a\0b",
        "/\ud800x",
    ],
)
def test_an_invalid_setting_falls_to_the_default_not_to_a_weaker_setting(root: Root, base: Path, value: str) -> None:
    put(base / "user/.claude/settings.json", autoMemoryDirectory="/weaker/one")
    found = place(root, explicit={"autoMemoryDirectory": value})
    assert found.directory == default_of(root)
    assert any(decision.what == "setting" and "is ignored" in decision.rule for decision in found.decisions)


def test_an_existing_directory_in_another_unicode_form_is_kept(root: Root, base: Path) -> None:
    written = f"{base}/me\u0301m"
    os.mkdir(written)
    assert place(root, {OVERRIDE: written}).directory == written
    os.mkdir(unicodedata.normalize("NFC", written))
    assert place(root, {OVERRIDE: written}).directory == unicodedata.normalize("NFC", written)


def test_h03_a_configured_directory_is_used_after_consent_and_named_before(root: Root, base: Path) -> None:
    put(base / "repo/.claude/settings.local.json", autoMemoryDirectory=str(base / "elsewhere/mem"))
    before = place(root)
    assert before.directory == default_of(root)
    (waiting,) = before.untrusted
    assert (waiting.key, waiting.value) == ("autoMemoryDirectory", str(base / "elsewhere/mem"))
    assert waiting.source == str(base / "repo/.claude/settings.local.json")
    after = place(root, agreed=True)
    assert (after.directory, after.untrusted) == (str(base / "elsewhere/mem"), ())
    assert not (base / "user").exists()


def test_h03_a_configuration_directory_moves_settings_and_default(root: Root, base: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(base / "altcfg")}
    assert place(root, env).directory == f"{base}/altcfg/projects/{sanitise(root.path)}/memory"
    put(base / "altcfg/settings.json", autoMemoryDirectory="~/mem")
    assert place(root, env).directory == str(base / "user/mem")


def test_hostile_24_a_repository_value_that_changes_nothing_asks_nothing(root: Root, base: Path) -> None:
    put(base / "repo/.claude/settings.json", autoMemoryEnabled=True, autoMemoryDirectory="relative")
    assert place(root).untrusted == ()
    put(base / "repo/.claude/settings.json", autoMemoryEnabled=False, autoMemoryDirectory="/evil/x")
    assert [value.key for value in place(root).untrusted] == ["autoMemoryDirectory", "autoMemoryEnabled"]
    assert place(root, {OVERRIDE: "/over/ride", "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}).untrusted == ()


def test_hostile_24_an_invalid_repository_value_does_not_switch_the_users_own_off(root: Root, base: Path) -> None:
    put(base / "user/.claude/settings.json", autoMemoryDirectory="/users/own")
    put(base / "repo/.claude/settings.json", autoMemoryDirectory="relative")
    found = place(root)
    assert found.directory == "/users/own"
    assert [value.value for value in found.untrusted] == ["relative"]


def test_a_linked_worktrees_own_settings_hold_for_it_alone(root: Root, base: Path) -> None:
    tree = root_at(root.path, str(base / "tree"))
    put(base / "tree/.claude/settings.local.json", autoMemoryDirectory="/own/memory")
    assert place(tree, agreed=True).directory == "/own/memory"
    assert place(root, agreed=True).directory == default_of(root)


def test_h01_the_main_checkouts_local_settings_hold_in_its_linked_worktrees_before_their_own(
    root: Root, base: Path
) -> None:
    """Seen on the client; so the session in the worktree reads and writes the main checkout's folder."""
    (base / "repo/.git").mkdir()
    tree = root_at(root.path, str(base / "tree"))
    put(base / "repo/.claude/settings.local.json", autoMemoryDirectory="/shared/memory")
    put(base / "repo/.claude/settings.json", autoMemoryDirectory="/committed/memory")
    assert place(tree, agreed=True).directory == "/shared/memory"
    put(base / "tree/.claude/settings.local.json", autoMemoryDirectory="/own/memory")
    assert place(tree, agreed=True).directory == "/shared/memory"
    assert place(root, agreed=True).directory == "/shared/memory"
    assert place(tree).untrusted[0].value == "/shared/memory"


def test_h01_every_directory_of_a_checkout_has_the_same_folder(root: Root, base: Path) -> None:
    put(base / "repo/.claude/settings.local.json", autoMemoryDirectory="/own/memory")
    (base / "repo/sub/.claude").mkdir(parents=True)
    put(base / "repo/sub/.claude/settings.json", autoMemoryDirectory="/other/memory")
    for cwd in (root.path, f"{root.path}/sub"):
        assert place(root, cwd=cwd, agreed=True).directory == "/own/memory"
    tree = root_at(root.path, str(base / "tree"))
    assert place(tree).directory == place(root).directory


def test_the_remote_directory_is_the_base_before_the_configuration_directory(root: Root) -> None:
    env = {REMOTE_DIRECTORY: "/remote/base", "CLAUDE_CONFIG_DIR": "/config"}
    assert place(root, env).directory == f"/remote/base/projects/{sanitise(root.path)}/memory"


def test_a_tilde_in_the_configuration_directory_is_taken_literally(root: Root) -> None:
    found = place(root, {"CLAUDE_CONFIG_DIR": "~/x"})
    assert found.directory == f"{root.path}/~/x/projects/{sanitise(root.path)}/memory"
    assert any("literally" in decision.rule for decision in found.decisions)


def test_settings_in_a_configuration_directory_inside_the_repository_wait_for_consent(root: Root, base: Path) -> None:
    put(base / "repo/~/x/settings.json", autoMemoryDirectory="/evil/x")
    env = {"CLAUDE_CONFIG_DIR": "~/x"}
    assert place(root, env).directory.startswith(root.path)
    assert [value.value for value in place(root, env).untrusted] == ["/evil/x"]


def test_a_home_that_is_itself_a_repository_keeps_its_own_settings(base: Path) -> None:
    home = str(base / "user")
    put(base / "user/.claude/settings.json", autoMemoryDirectory="~/mem")
    root = root_at(home)
    settings = settings_for(root, {}, home, consent=lambda key, value: False, managed="/nonexistent")
    assert memory_directory(root, {}, home, settings).directory == f"{home}/mem"


@pytest.mark.parametrize("name", ["my-project_1", "A" * 64, "console"])
def test_a_project_name_counts_with_a_configuration_directory(root: Root, name: str) -> None:
    env = {"CLAUDE_CODE_PROJECT_DIR_NAME": name, "CLAUDE_CONFIG_DIR": "/config"}
    assert place(root, env).directory == f"/config/projects/{name}/memory"
    del env["CLAUDE_CONFIG_DIR"]
    assert place(root, env).directory == default_of(root)


@pytest.mark.parametrize("name", ["", "..", "a/b", "a.b", "é", "A" * 65, "con", "NUL", "Com1", "LPT9", "a\0"])
def test_an_invalid_project_name_is_ignored(root: Root, name: str) -> None:
    env = {"CLAUDE_CODE_PROJECT_DIR_NAME": name, "CLAUDE_CONFIG_DIR": "/config"}
    assert place(root, env).directory == f"/config/projects/{sanitise(root.path)}/memory"


# Other names of the same folder


def test_an_existing_folder_of_the_other_unicode_form_is_preferred(base: Path) -> None:
    root = root_at(f"{base}/cafe\u0301")
    twin = root_at(f"{base}/caf\u00e9")
    exact, other = default_of(root), default_of(twin)
    assert exact != other
    assert place(root).directory == exact
    os.makedirs(other)
    assert place(root).directory == other
    os.makedirs(exact)
    assert place(root).directory == exact


def test_the_other_unicode_form_of_another_project_is_not_taken(base: Path) -> None:
    root = root_at(f"{base}/cafe\u0301")
    for name in (root.path, f"{base}/caf\u00e9"):
        os.mkdir(name)
    os.makedirs(default_of(root_at(f"{base}/caf\u00e9")))
    assert place(root).directory == default_of(root)


def test_a_long_paths_folder_of_an_older_client_is_found_by_its_beginning(base: Path) -> None:
    root = root_at(f"{base}/{'x' * 240}")
    slug = sanitise(root.path)
    projects = base / "user/.claude/projects"
    assert place(root).directory == f"{projects}/{slug}/memory"
    (projects / f"{slug[:200]}-abcdef" / "memory").mkdir(parents=True)
    assert place(root).directory == f"{projects}/{slug}/memory"
    (projects / f"{slug[:200]}-abcdefghijkl" / "memory").mkdir(parents=True)
    assert place(root).directory == f"{projects}/{slug[:200]}-abcdefghijkl/memory"
    (projects / f"{slug[:200]}-mnopqrstuvwx" / "memory").mkdir(parents=True)
    assert place(root).directory == f"{projects}/{slug}/memory"
    (projects / slug / "memory").mkdir(parents=True)
    assert place(root).directory == f"{projects}/{slug}/memory"


def test_h01_folders_of_earlier_per_worktree_use_are_listed_and_left_alone(base: Path) -> None:
    common = base / "repo/.git"
    for name in ("tree", "vanished"):
        (common / "worktrees" / name).mkdir(parents=True)
        (common / "worktrees" / name / "gitdir").write_text(f"{base}/{name}/.git\n")
    (base / "repo/sub").mkdir()
    root = find_root(f"{base}/repo/sub")
    projects = base / "user/.claude/projects"
    left = [f"{base}/tree", f"{base}/vanished", f"{base}/repo/sub", f"{base}/repo/.claude/worktrees/old"]
    for path in (root.path, *left, f"{base}/stranger"):
        (projects / sanitise(path) / "memory").mkdir(parents=True)
        (projects / sanitise(path) / "memory/note.md").write_text("kept\n")
    found = earlier_directories(root, {}, f"{base}/user", current=place(root).directory, cwd=f"{base}/repo/sub")
    assert {earlier.directory for earlier in found} == {f"{projects}/{sanitise(path)}/memory" for path in left}
    assert all(earlier.files == 1 and earlier.rule for earlier in found)


def test_h03_folders_by_another_route_are_listed(root: Root, base: Path) -> None:
    (base / "link").symlink_to(root.path)
    usual = base / "user/.claude/projects"
    for slug in (sanitise(f"{base}/link"), sanitise(root.path)):
        (usual / slug / "memory").mkdir(parents=True)
    env = {"CLAUDE_CONFIG_DIR": str(base / "altcfg")}
    current = place(root, env).directory
    found = earlier_directories(root, env, f"{base}/user", current=current, cwd=f"{base}/link")
    assert [earlier.directory for earlier in found] == [
        f"{usual}/{sanitise(root.path)}/memory",
        f"{usual}/{sanitise(f'{base}/link')}/memory",
    ]


def test_where_nothing_was_left_nothing_is_listed(root: Root, base: Path) -> None:
    assert earlier_directories(root, {}, f"{base}/user", current=default_of(root)) == ()


# Transcripts


def test_transcripts_are_keyed_by_the_real_working_directory(root: Root, base: Path) -> None:
    (base / "repo/sub").mkdir()
    (base / "link").symlink_to(root.path)
    home = f"{base}/user"
    assert transcript_directory(f"{base}/repo/sub", {}, home) == (
        f"{home}/.claude/projects/{sanitise(f'{base}/repo/sub')}"
    )
    assert transcript_directory(f"{base}/link", {}, home) == transcript_directory(root.path, {}, home)
    env = {"CLAUDE_CONFIG_DIR": "/config", REMOTE_DIRECTORY: "/remote"}
    assert transcript_directory(root.path, env, home) == f"/config/projects/{sanitise(root.path)}"
    env["CLAUDE_CODE_PROJECT_DIR_NAME"] = "named"
    assert transcript_directory(root.path, env, home) == "/config/projects/named"


# On or off


@pytest.mark.parametrize(
    ("env", "setting", "enabled"),
    [
        ({}, None, True),
        ({}, False, False),
        ({}, True, True),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, True, False),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "true"}, None, False),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "YES"}, None, False),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}, False, True),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "maybe"}, False, False),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0", "CLAUDE_CODE_REMOTE": "1"}, None, True),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0", "CLAUDE_CODE_SIMPLE": "1"}, None, True),
        ({"CLAUDE_CODE_SIMPLE": "1"}, True, False),
        ({"CLAUDE_CODE_SIMPLE": "0"}, None, True),
        ({"CLAUDE_CODE_SAFE_MODE": "1"}, True, False),
        ({"CLAUDE_CODE_REMOTE": "1"}, True, False),
        ({"CLAUDE_CODE_REMOTE": "1", REMOTE_DIRECTORY: "/remote"}, None, True),
        ({"CLAUDE_CODE_REMOTE": "1", REMOTE_DIRECTORY: "/remote"}, False, False),
    ],
)
def test_on_or_off_follows_the_clients_order(
    root: Root, base: Path, env: dict[str, str], setting: bool | None, enabled: bool
) -> None:
    if setting is not None:
        put(base / "user/.claude/settings.json", autoMemoryEnabled=setting)
    found = place(root, env)
    assert (found.enabled, bool(found.why)) == (enabled, True)
