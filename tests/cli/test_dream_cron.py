"""`install-cron` and `uninstall-cron`, with programs that stand in for crontab and systemctl."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from memstore.cli import exits
from memstore.cli.dream_cron import install_cron, uninstall_cron
from memstore.cli.state import State
from tests.cli.conftest import Ran, Run

CRONTAB = """\
#!/bin/sh
case "$1" in
-l) if [ -f {0}/broken ]; then echo 'not allowed to use this program' >&2; exit 1; fi
    if [ -f {0}/table ]; then /bin/cat {0}/table; else echo "no crontab for me" >&2; exit 1; fi ;;
-) /bin/cat > {0}/table ;;
esac
"""
SYSTEMCTL = """\
#!/bin/sh
echo "$@" >> {0}/calls
if [ -f {0}/fails ] && [ "$2" = enable ]; then echo 'Failed to connect to bus' >&2; exit 1; fi
"""
THEIRS = b"MAILTO=me\n# 1 1 * * * old\n0 1 * * * backup 100\\% \xff\n"


class Machine:
    """A machine with the programs that the test gives it."""

    def __init__(self, base: Path, repo: Path) -> None:
        self.place, self.repo = base / "programs", repo
        self.place.mkdir()
        self.table = self.place / "table"
        self.units = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"

    def has(self, **programs: str) -> None:
        for name, text in programs.items():
            (self.place / name).write_text(text.format(self.place))
            (self.place / name).chmod(0o755)

    def call(self, *args: str) -> Ran:
        """The two commands as a group has them."""
        group = click.Group("dream", commands={"install-cron": install_cron, "uninstall-cron": uninstall_cron})
        runner = CliRunner()
        with runner.isolation() as (out, err, _):
            state = State(str(self.repo))
            code = exits.guarded(lambda: group.main(args, obj=state, standalone_mode=False) or 0, "--json" in args)
            raw, said = out.getvalue(), err.getvalue()
        return Ran(code, raw.decode(), said.decode(), raw)

    def calls(self) -> list[str]:
        """What systemctl was told since the last time."""
        path = self.place / "calls"
        found = path.read_text().split("\n")[:-1] if path.exists() else []
        path.unlink(missing_ok=True)
        return found


@pytest.fixture
def machine(tmp_path: Path, repo: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Machine:
    run("write", "topic", "text")
    made = Machine(tmp_path, repo)
    monkeypatch.setenv("PATH", str(made.place))  # the person's own crontab and systemd are out of reach
    return made


def test_the_line_is_shown_first_and_written_only_after_a_yes(machine: Machine):
    machine.has(crontab=CRONTAB)
    machine.table.write_bytes(THEIRS)
    shown = machine.call("install-cron", "--at", "3:07", "--dry-run")
    assert re.fullmatch(
        rf"new      crontab\n\+ 7 3 \* \* \* MEMSTORE_HOME=\S+ XDG_DATA_HOME=\S+ {re.escape(sys.executable)} -I .+"
        rf" -q -C {re.escape(str(machine.repo))} dream --scheduled # memstore dream [0-9a-f-]{{36}}\n",
        shown.out,
    )
    refused = machine.call("install-cron", "--at", "3:07")
    assert refused.code == 2 and "--yes" in refused.err
    assert machine.table.read_bytes() == THEIRS
    done = machine.call("install-cron", "--at", "3:07", "--yes")
    assert done.out.endswith("a dream starts every day at 03:07\n")
    line = shown.out.split("\n")[1].removeprefix("+ ").encode()
    assert machine.table.read_bytes() == THEIRS + line + b"\n"


def test_again_it_changes_nothing_then_the_time_only_and_goes_without_a_trace(machine: Machine):
    machine.has(crontab=CRONTAB)
    machine.table.write_bytes(THEIRS)
    shown = machine.call("install-cron", "--dry-run", "--json").json
    first = machine.call("install-cron", "--yes", "--json").json
    assert (shown["at"], shown["changes"]) == (first["at"], first["changes"])
    assert "00:00" <= first["at"] < "06:00" and first["done"]
    once = machine.table.read_bytes()
    again = machine.call("install-cron", "--yes", "--json").json
    assert (again["at"], again["changes"], again["done"]) == (first["at"], [], False)
    assert machine.table.read_bytes() == once
    machine.call("install-cron", "--yes", "--at", "23:59")
    assert machine.table.read_bytes().startswith(THEIRS + b"59 23 * * * ")
    assert machine.table.read_bytes().count(b"\n") == THEIRS.count(b"\n") + 1
    assert machine.call("uninstall-cron").code == 2
    gone = machine.call("uninstall-cron", "--yes", "--json").json
    assert [(change["kind"], change["change"], change["after"]) for change in gone["changes"]] == [
        ("crontab", "gone", None)
    ]
    assert machine.table.read_bytes() == THEIRS
    assert "nothing to change" in machine.call("uninstall-cron", "--yes").out


def test_a_person_without_a_crontab_gets_one_with_this_line(machine: Machine):
    machine.has(crontab=CRONTAB)
    assert machine.call("install-cron", "--yes").code == 0
    assert machine.table.read_bytes().count(b"\n") == 1


def test_a_crontab_that_cannot_be_read_is_never_written(machine: Machine):
    machine.has(crontab=CRONTAB, systemctl=SYSTEMCTL)
    machine.table.write_bytes(THEIRS)
    (machine.place / "broken").touch()
    failed = machine.call("install-cron", "--yes")
    assert (failed.code, machine.table.read_bytes()) == (5, THEIRS)
    assert "not allowed" in failed.err and "--systemd" in failed.err
    assert "line of the crontab would stay" in machine.call("install-cron", "--systemd", "--yes").err
    assert machine.table.read_bytes() == THEIRS


def test_a_machine_without_the_program_is_told_what_else_there_is(machine: Machine):
    machine.has(systemctl=SYSTEMCTL)
    missing = machine.call("install-cron", "--yes")
    assert missing.code == 5 and "no program crontab" in missing.err and "--systemd" in missing.err
    (machine.place / "systemctl").unlink()
    missing = machine.call("install-cron", "--systemd", "--yes")
    assert missing.code == 5 and "no program systemctl" in missing.err and "dream --scheduled" in missing.err


def test_units_are_written_and_started_and_go_again(machine: Machine):
    machine.has(crontab=CRONTAB, systemctl=SYSTEMCTL)
    machine.table.write_bytes(THEIRS)
    machine.call("install-cron", "--yes", "--at", "4:05")
    assert machine.calls() == []
    shown = machine.call("install-cron", "--systemd", "--dry-run", "--json").json
    assert [(change["kind"], change["change"]) for change in shown["changes"]] == [
        ("crontab", "gone"), ("unit", "new"), ("unit", "new"),
    ]  # fmt: skip
    assert not machine.units.exists()
    done = machine.call("install-cron", "--systemd", "--yes")
    assert done.code == 0 and "enable-linger" in done.err
    service, timer = sorted(machine.units.iterdir())
    assert "OnCalendar=*-*-* 04:05:00" in timer.read_text()  # the time that it had in the crontab
    assert f'"-C" "{machine.repo}" "dream" "--scheduled"\n' in service.read_text()
    assert machine.table.read_bytes() == THEIRS
    assert machine.calls() == [
        "--user daemon-reload", f"--user enable --now {timer.name}", f"--user restart {timer.name}",
    ]  # fmt: skip
    assert "nothing to change" in machine.call("install-cron", "--systemd", "--yes").out
    assert machine.calls() == ["--user daemon-reload", f"--user enable --now {timer.name}"]
    machine.call("uninstall-cron", "--yes")
    assert list(machine.units.iterdir()) == []
    assert machine.calls() == [f"--user disable --now {timer.name}", "--user daemon-reload"]


def test_where_systemd_does_not_take_the_timer_its_files_go_again(machine: Machine):
    machine.has(systemctl=SYSTEMCTL)
    (machine.place / "fails").touch()
    failed = machine.call("install-cron", "--systemd", "--yes")
    assert failed.code == 5 and "Failed to connect to bus" in failed.err
    assert list(machine.units.iterdir()) == []


def test_a_unit_of_somebody_else_is_left_alone(machine: Machine, run: Run):
    machine.has(systemctl=SYSTEMCTL)
    store = run("where", "--json").json["store"]
    machine.units.mkdir(parents=True)
    (machine.units / f"memstore-dream-{store}.timer").write_text("[Timer]\n")
    for command in (("install-cron", "--systemd"), ("uninstall-cron",)):
        assert machine.call(*command, "--yes").code == 5
    assert [path.read_text() for path in machine.units.iterdir()] == ["[Timer]\n"]


def test_no_secret_and_no_setting_is_handed_on_and_that_is_said(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    machine.has(crontab=CRONTAB)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(machine.place / "100% of it"))
    done = machine.call("install-cron", "--yes")
    text = machine.table.read_text()
    assert "ANTHROPIC_API_KEY" in done.err and "sk-secret" not in done.out + done.err + text
    assert f"CLAUDE_CONFIG_DIR='{machine.place}/100\\% of it'" in text and "PATH=" not in text


@pytest.mark.parametrize("args", [("--at", "25:00"), ("--at", "noon"), ("now",)])
def test_a_time_that_is_none_is_refused(machine: Machine, args: tuple[str, ...]):
    machine.has(crontab=CRONTAB)
    assert machine.call("install-cron", "--yes", *args).code == 2
    assert not machine.table.exists()


def test_a_place_without_memories_gets_no_dream(machine: Machine, tmp_path: Path):
    machine.has(crontab=CRONTAB)
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    machine.repo = tmp_path / "empty"
    assert machine.call("install-cron", "--yes").code == 3


def test_the_answer_has_its_keys(machine: Machine):
    machine.has(crontab=CRONTAB)
    told = json.loads(machine.call("install-cron", "--dry-run", "--json").out)
    assert told.keys() == {"memstore", "command", "at", "changes", "warnings", "done"}
    assert told["changes"][0].keys() == {"kind", "path", "change", "before", "after"}
