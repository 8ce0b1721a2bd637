"""A command once a day: what stands in a crontab and in units, and that nothing else there is touched."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.schedule import (
    Daily,
    at_in_line,
    at_in_timer,
    clock,
    crontab_line,
    is_ours,
    line_of,
    parse_at,
    service,
    timer,
    with_line,
)
from memstore.errors import InputRefused

STORE = "01890000-0000-7000-8000-000000000000"
OTHER = "01890000-0000-7000-8000-000000000001"
ODD = ["a b", "50% off", "it's", '"q"', "$HOME", "`id`", "back\\slash", "#", "~", "*", "新聞"]


def daily(at: int = 187, command: list[str] | None = None, root: str = "/srv/shop", **variables: str) -> Daily:
    return Daily(at, root, STORE, command or ["/usr/bin/python3", "-m", "memstore"], variables)


def test_what_a_shell_makes_of_the_line_is_the_command_with_its_variables():
    code = "import os, sys; print(ascii(sys.argv[1:]), ascii(os.environ['PLACE']))"
    line = crontab_line(daily(command=[sys.executable, "-c", code, *ODD], PLACE="/a b/50%/$x"))
    times, words = line.split(b" ", 5)[:5], line.split(b" ", 5)[5]
    assert times == [b"7", b"3", b"*", b"*", b"*"]
    assert b"%" not in words.replace(b"\\%", b"")  # cron ends a command there
    done = subprocess.run(["/bin/sh", "-c", words.replace(b"\\%", b"%")], capture_output=True, text=True, check=True)
    assert done.stdout == f"{ODD!a} {'/a b/50%/$x'!a}\n"


def test_the_units_quote_what_systemd_would_read_otherwise():
    text = service(daily(command=["/a b/python", "50%", "$HOME", '"q"', "back\\slash"], PLACE="/x y/%h/$z")).decode()
    assert '\nExecStart="/a b/python" "50%%" "$$HOME" "\\"q\\"" "back\\\\slash"\n' in text
    assert '\nEnvironment="PLACE=/x y/%%h/$z"\n' in text
    assert is_ours(text.encode()) and is_ours(timer(daily())) and not is_ours(b"[Unit]\n")
    assert "\nOnCalendar=*-*-* 03:07:00\n" in timer(daily()).decode()


@given(st.integers(0, 24 * 60 - 1))
def test_every_time_reads_back(at: int):
    assert parse_at(clock(at)) == at_in_line(crontab_line(daily(at))) == at_in_timer(timer(daily(at))) == at


@pytest.mark.parametrize("text", ["", "24:00", "3", "3:7", "03:60", "3:07:00", "-1:00", "３:07", "@daily"])
def test_what_is_no_time_of_day_is_refused(text: str):
    with pytest.raises(InputRefused):
        parse_at(text)


@pytest.mark.parametrize("root", ["/srv/a\nb", "/srv/\x1b[31m", "/srv/\t"])
def test_a_path_that_would_end_the_line_is_refused(root: str):
    with pytest.raises(InputRefused):
        crontab_line(daily(command=["python3", "-C", root]))
    with pytest.raises(InputRefused):
        service(daily(root=root))


def test_a_line_that_is_too_long_for_cron_is_refused():
    with pytest.raises(InputRefused, match="bytes"):
        crontab_line(daily(command=["python3", "x" * 1_000]))


def test_a_line_is_put_in_changed_in_its_place_and_taken_out_again():
    mine, new = crontab_line(daily()), crontab_line(daily(60))
    theirs = b"MAILTO=me\n\n# 5 4 * * * " + mine + b"\n0 1 * * * backup \xff\n"
    others = crontab_line(Daily(5, "/srv/other", OTHER, ["x"], {})) + b"\n"
    for before in (b"", theirs, theirs + others, theirs.rstrip(b"\n")):
        assert line_of(before, STORE) is None
        added = with_line(before, STORE, mine)
        assert added == (before + b"\n" if before and not before.endswith(b"\n") else before) + mine + b"\n"
        assert line_of(added, STORE) == mine
        assert with_line(added, STORE, mine) == added
        after = b"7 7 * * * after\n"
        assert with_line(added + after, STORE, new) == added.removesuffix(mine + b"\n") + new + b"\n" + after
        assert with_line(added, STORE, None).rstrip(b"\n") == before.rstrip(b"\n")
    doubled = mine + b"\n" + theirs + new + b"\n"
    assert with_line(doubled, STORE, mine) == mine + b"\n" + theirs
    assert with_line(theirs, STORE, None) == theirs
