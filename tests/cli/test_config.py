"""`config`: what is set counts where it was set, a value says where it is from, a person's settings are a person's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memstore.cli import terminal
from memstore.core.settings import KEYS, Key, written
from tests.cli.conftest import Run


def listed(run: Run, *options: str) -> dict[str, list[str]]:
    rows = [line.split("\t") for line in run("config", "list", *options).out.strip().split("\n")]
    return {row[0]: row[1:] for row in rows}


def test_all_settings_are_listed_with_value_source_meaning_and_what_is_allowed(run: Run):
    found = listed(run)
    assert found.keys() == KEYS.keys()
    assert found["extract.every"] == [
        "1", "default", "of the turns that hold anything, look at every so many (a whole number from 1 to 1000)",
    ]  # fmt: skip
    assert run("config").out == run("config", "list").out


def test_listing_makes_nothing(run: Run, home: Path):
    for call in (("config", "list"), ("config", "get", "extract.every"), ("config", "list", "--user")):
        assert run(*call).code == 0
    assert not (home / "memstore").exists()


def test_on_a_terminal_each_setting_has_its_meaning_below_it(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memstore.cli.config.drawn", lambda: True)
    assert terminal.drawn() is False
    lines = run("config", "list").out.split("\n")
    assert lines[:2] == [
        "extract.enabled = true  (default)",
        "    whether what a turn taught is kept by itself (true or false)",
    ]


def test_a_value_holds_in_its_repository_and_the_user_s_in_every_other_one(run: Run, repo: Path, tmp_path: Path):
    assert run("config", "set", "extract.every", "3").out == "extract.every is 3 for this repository\n"
    assert run("config", "set", "--user", "extract.every", "4").out == "extract.every is 4 for the user\n"
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert [run("config", "get", "extract.every", at=place).out for place in (repo, other)] == ["3\n", "4\n"]
    assert listed(run)["extract.every"][:2] == ["3", "repository"]
    assert listed(run, "--user")["extract.every"][:2] == ["4", "user"]
    assert run("config", "unset", "extract.every").out == "extract.every is not set for this repository any more\n"
    assert listed(run)["extract.every"][:2] == ["4", "user"]
    run("config", "unset", "--user", "extract.every")
    assert listed(run)["extract.every"][:2] == ["1", "default"]


def test_what_is_not_set_cannot_be_taken_back(run: Run):
    run("write", "note", "words")
    for options, whom in (((), "this repository"), (("--user",), "the user")):
        failed = run("config", "unset", "notes.calls", *options)
        assert failed.code == 3 and f"notes.calls is not set for {whom}" in failed.err


def test_the_environment_counts_first_and_a_change_below_it_says_so(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMSTORE_EXTRACT_ENABLED", "off")
    assert run("config", "get", "extract.enabled").out == "false\n"
    assert listed(run)["extract.enabled"][:2] == ["false", "$MEMSTORE_EXTRACT_ENABLED"]
    changed = run("config", "set", "extract.enabled", "yes")
    assert changed.err == "note: $MEMSTORE_EXTRACT_ENABLED is set and counts before it\n"
    assert run("config", "set", "--user", "extract.enabled", "yes").err == ""
    assert listed(run, "--user")["extract.enabled"][:2] == ["true", "user"]


@pytest.mark.parametrize(
    ("call", "said", "hint"),
    [
        (("set", "extract.every", "often"), "extract.every cannot be 'often'", "a whole number from 1 to 1000"),
        (("set", "extract.evry", "1"), "there is no setting 'extract.evry'", "there are extract.enabled,"),
        (("get", "x\x1b[31m"), "there is no setting", "there are extract.enabled,"),
        (("unset", "nope"), "there is no setting 'nope'", "there are"),
    ],
)
def test_what_is_refused_says_what_is_allowed_and_changes_nothing(
    run: Run, home: Path, call: tuple[str, ...], said: str, hint: str
):
    for options in ((), ("--user",)):
        failed = run("config", *call, *options)
        assert failed.code == 2 and said in failed.err and hint in failed.err and "\x1b" not in failed.err
    assert not (home / "memstore").exists()


def test_a_value_that_cannot_be_used_is_named_in_the_list_and_refused_where_it_is_asked_for(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
):
    (home / "memstore").mkdir()
    (home / "memstore" / "settings.json").write_text('{"budget.day": "lots", "extract.turns": 9}')
    found = listed(run)
    assert found["budget.day"] == [
        "?", "user",
        "budget.day cannot be 'lots' (the user's settings): it is US dollars such as 0.50; 0 for no limit",
    ]  # fmt: skip
    assert found["extract.turns"][:2] == ["9", "user"]
    failed = run("config", "get", "budget.day")
    assert failed.code == 2 and "budget.day cannot be 'lots' (the user's settings)" in failed.err
    (shown,) = run("config", "get", "budget.day", "--json").json["settings"]
    assert (shown["value"], shown["source"]) == (None, "user") and "'lots'" in shown["problem"]


def test_the_path_of_the_users_file_is_told_before_and_after_it_is_there(run: Run, home: Path):
    path = home / "memstore" / "settings.json"
    assert run("config", "path").out == f"{path}\n" and not path.parent.exists()
    assert run("config", "path", "--json").json["exists"] is False
    run("config", "set", "--user", "extract.every", "3")
    assert run("config", "path", "--json").json["exists"] is True
    path.write_text('{"extract.every": 4}')
    assert listed(run)["extract.every"][:2] == ["4", "user"]


def test_what_is_no_setting_in_the_users_file_is_said_and_stays(run: Run, home: Path):
    path = home / "memstore" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"extract.evry": 4, "x\\u001b[31m": 1}')
    for options in ((), ("--user",), ("--json",)):
        said = run("config", "list", *options).err
        assert "note: 'extract.evry' in the user's file is no setting; did you mean extract.every?" in said
        assert "\x1b" not in said and said.count("note: ") == 2
    run("config", "set", "--user", "notes.calls", "1")
    assert json.loads(path.read_text()) == {"extract.evry": 4, "x\x1b[31m": 1, "notes.calls": "1"}


def test_the_readme_has_each_setting_with_its_default_and_what_it_means():
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    section = readme.split("### Settings\n", 1)[1].split("\n### ", 1)[0]
    rows = [line for line in section.split("\n") if line.startswith("| `")]
    assert rows == [
        f"| `{key.name}` | {written(key.name, key.default)} | {key.meaning} ({key.allowed})"
        f"{'; a person sets it' if key.personal else ''} |"
        for key in KEYS.values()
    ]


def test_a_file_that_cannot_be_read_is_named(run: Run, home: Path):
    (home / "memstore").mkdir()
    (home / "memstore" / "settings.json").write_text("{")
    failed = run("config", "list")
    assert failed.code == 2 and "settings.json cannot be used: it is not valid JSON" in failed.err


@pytest.mark.parametrize("key", [key for key in KEYS.values() if key.personal], ids=lambda key: key.name)
@pytest.mark.parametrize("options", [(), ("--user",)], ids=["repository", "user"])
def test_what_a_run_may_start_and_cost_is_not_for_an_agent_to_set(
    run: Run, monkeypatch: pytest.MonkeyPatch, key: Key, options: tuple[str, ...]
):
    name, value = (key.name, key.choices[-1] if key.kind == "choice" else "5")
    monkeypatch.delenv(key.variable, raising=False)
    assert run("config", "set", name, value, *options).code == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    for call in (("set", name, value), ("unset", name)):
        failed = run("config", *call, *options)
        assert failed.code == 5 and "a person's decision, and $CLAUDECODE says" in failed.err
    assert run("config", "get", name, *options).out == f"{value}\n"
    assert run("config", "set", "extract.every", "2", *options).code == 0


def test_money_is_dollars_in_json(run: Run):
    (shown,) = run("config", "set", "budget.run", "0.25", "--json").json["settings"]
    assert (shown["value"], shown["default"], shown["kind"], shown["source"]) == (0.25, 0.0, "money", "store")
    listed_too = {each["key"]: each["value"] for each in run("config", "list", "--json").json["settings"]}
    assert listed_too["budget.run"] == 0.25 and listed_too["extract.enabled"] is True


def test_the_store_keeps_what_was_meant_not_what_was_typed(run: Run, home: Path):
    run("config", "set", "--user", "extract.enabled", "OFF")
    run("config", "set", "--user", "budget.day", "$01.500")
    assert json.loads((home / "memstore" / "settings.json").read_text()) == {
        "extract.enabled": "false",
        "budget.day": "1.5",
    }
