"""`lint`: warnings with a reason and a suggestion, in text, as JSON and for GitHub; never a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstore.core.lint import RULES
from tests.cli.conftest import Run


def test_warnings_come_with_reason_suggestion_and_their_own_exit_code(run: Run):
    run("write", "port", "It is 7443 since yesterday.", "-d", "which port staging listens on", "--type", "reference")
    found = run("lint")
    assert (found.code, found.out) == (
        8,
        "port.md:8: date: 'yesterday' is no date\n"
        "    write the day out, such as 2027-03-01\n"
        "why:\n"
        "    date        whoever reads it later cannot know which day is meant\n"
        "1 warning in 1 file, 1 memory looked through\n",
    )
    assert run("lint", "--exit-zero").code == 0
    assert (run("lint", "--ignore", "date").code, run("lint", "--rule", "link").code) == (0, 0)
    assert run("-q", "lint").out == "port.md:8: date: 'yesterday' is no date\n"


def test_nothing_to_say(run: Run):
    run("write", "port", "It is 7443.", "-d", "which port staging listens on", "--type", "reference")
    assert (run("lint").code, run("lint").out) == (0, "1 memory looked through: nothing to say\n")
    assert run("lint", "port").code == 0
    assert run("lint", "absent").code == 3


def test_names_choose_memories_and_an_edit_outside_is_seen(run: Run, folder: Path):
    run("write", "one", "Since yesterday.", "-d", "what the first one is about", "--type", "user")
    run("write", "two", "Nothing.", "-d", "what the second one is about", "--type", "user")
    assert run("lint", "two").code == 0
    file = folder / "two.md"
    file.write_text(file.read_text().replace("Nothing.", "See [[nowhere]]."))
    found = run("lint", "two", "--json").json
    assert (found["checked"], [one["rule"] for one in found["warnings"]]) == (1, ["link"])


def test_files_need_no_store_and_none_is_made(run: Run, repo: Path, home: Path):
    place = repo / "memory"
    place.mkdir()
    (place / "one.md").write_text("---\nname: one\ndescription: what it is about\ntype: user\n---\nSince yesterday.\n")
    found = run("lint", "memory")
    assert (found.code, found.out.split("\n")[0]) == (8, "memory/one.md:6: date: 'yesterday' is no date")
    assert run("lint", "memory/one.md", "--json").json["warnings"][0]["path"] == "memory/one.md"
    assert not (home / "memstore").exists()


def test_files_and_names_do_not_mix(run: Run, repo: Path):
    (repo / "one.md").write_text("")
    refused = run("lint", "one.md", "absent")
    assert refused.code == 2
    assert "give files and directories, or names of memories" in refused.err


def test_for_github_each_warning_is_a_command_that_no_text_ends(run: Run, repo: Path):
    name = "a,b%c:d.md"
    (repo / name).write_text("---\nname: x\ndescription: what it is about\ntype: 'a\u2028::b'\n---\nText.\n")
    found = run("lint", name, "--format", "github")
    assert found.code == 8
    assert found.out.startswith("::warning file=a%2Cb%25c%3Ad.md,line=4,title=memstore lint type::")
    assert [line.partition(" ")[0] for line in found.out.split("\n")] == ["::warning", "::warning", ""]


def test_for_github_a_path_begins_at_the_top_of_what_was_checked_out(
    run: Run, repo: Path, monkeypatch: pytest.MonkeyPatch
):
    place = repo / "sub" / "memory"
    place.mkdir(parents=True)
    (place / "a.md").write_text("---\nname: x\ndescription: what it is about\ntype: user\n---\nSince yesterday.\n")
    for top, path in ((str(repo), "sub/memory/a.md"), ("/nowhere", "memory/a.md"), (".", "memory/a.md")):
        monkeypatch.setenv("GITHUB_WORKSPACE", top)
        assert run("lint", "./memory", "--format", "github", at=repo / "sub").out.startswith(f"::warning file={path},")


def test_an_empty_argument_is_no_directory_and_no_rule_left_is_said(run: Run, repo: Path):
    (repo / "one.md").write_text("Since yesterday.")
    assert run("lint", "").code in (2, 3)
    refused = run("lint", "one.md", "--rule", "date", "--ignore", "date")
    assert (refused.code, "no rule is left" in refused.err) == (2, True)


def test_a_name_of_two_lines_is_told_in_one(run: Run, repo: Path):
    place = repo / "memory"
    place.mkdir()
    (place / "a\nnot looked through: b.md").write_text("x")
    assert "not looked through: memory/a\\nnot looked through: b.md: " in run("lint", "memory").err


def test_rules_are_listed_with_their_reasons(run: Run):
    listed = run("lint", "--rules")
    assert (listed.code, listed.out.count("\n")) == (0, len(RULES))
    assert [one["rule"] for one in run("lint", "--rules", "--json").json["rules"]] == list(RULES)
    assert run("lint", "--rule", "nonsense").code == 2


def test_a_secret_is_in_no_output(run: Run, repo: Path):
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    (repo / "a.md").write_text(f"---\nname: x\ndescription: what it is about\ntype: user\n---\nThe key is {secret}.\n")
    for call in (("lint", "a.md"), ("lint", "a.md", "--json"), ("lint", "a.md", "--format", "github")):
        found = run(*call)
        assert "secret" in found.out
        assert secret not in found.out + found.err


def test_what_would_steer_the_terminal_is_shown_as_an_escape(run: Run, repo: Path):
    (repo / "a.md").write_text('---\nname: x\ndescription: what it is about\ntype: "\x1b[31mred"\n---\n[[\x1b]0;x]]\n')
    found = run("lint", "a.md")
    assert found.code == 8
    assert "\x1b" not in found.out


def test_the_hook_for_pre_commit_calls_a_command_that_there_is(run: Run, pytestconfig: pytest.Config):
    import re

    import yaml

    hooks = yaml.safe_load((pytestconfig.rootpath / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [(hook["id"], hook["entry"], hook["language"]) for hook in hooks] == [
        ("memstore-lint", "memstore lint", "python")
    ]
    looked_at = re.compile(hooks[0]["files"])
    for path in ("memory/a.md", ".claude/agent-memory/rev/sub/a.md", "x/agent-memory-local/r/MEMORY.md"):
        assert looked_at.search(path), path
    for path in ("README.md", "docs/memory.md", "memory/a.txt", "mymemory/a.md"):
        assert not looked_at.search(path), path
    left_out = re.compile(hooks[0]["exclude"])
    assert left_out.search("src/memory/README.md") and not left_out.search("memory/a.md")


def test_an_agents_own_memory_is_looked_through_by_name(run: Run, repo: Path):
    place = repo / ".claude" / "agent-memory" / "rev"
    place.mkdir(parents=True)
    (place / "one.md").write_text("---\nname: one\ndescription: what it is about\ntype: user\n---\nSince yesterday.\n")
    found = run("--agent", "rev:project", "lint", "--json")
    assert (found.code, [one["rule"] for one in found.json["warnings"]]) == (8, ["date"])


def test_the_index_of_the_store_is_looked_at_too(run: Run, folder: Path):
    run("write", "one", "Nothing.", "-d", "what the first one is about", "--type", "user")
    with open(folder / "MEMORY.md", "a") as file:
        file.write("- [Gone](gone.md) and more\n")
    found = run("lint", "--json").json
    assert [(one["path"], one["rule"]) for one in found["warnings"]] == [("MEMORY.md", "link")]
    assert run("lint", "one").code == 0


def test_nothing_is_written_for_a_look(run: Run, folder: Path):
    run("write", "one", "Since yesterday.", "-d", "d", "--type", "user")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    log = run("log", "--json").json
    assert run("lint").code == 8
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert run("log", "--json").json == log
