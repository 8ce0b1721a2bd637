"""Forgetting on purpose: what was purged is in no file of the store and of its folders, and nothing else is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from memstore import daily
from memstore.core.forgetting import secret_of
from memstore.core.plan import Wanted as Text
from memstore.errors import Conflict, DiskFull, NotFound, PlaceRefused, StoreBusy
from memstore.store import purging as rows
from memstore.store import snapshot, tombstones
from memstore.upkeep import backups, purging
from memstore.upkeep.purging import Purged, Wanted
from tests.files.desk import Desk, topic
from tests.race.crowd import CONTEXT
from tests.upkeep import dying

SECRET = "hunter2-Zaubertrank"
ISOLATED = ("XDG_", "MEMSTORE_", "GIT_")


def purge(desk: Desk, *names: str, secret: str = "", before: int | None = None, with_copies: bool = False) -> Purged:
    wanted = Wanted(names, secret_of(secret) if secret else None, before)
    return purging.purge(
        desk.memories, purging.plan(desk.memories, wanted), reason="asked for", with_copies=with_copies
    )


def holding(desk: Desk, *needles: str) -> list[str]:
    """The files of home and folder that hold one of these, in any case. Read by another process: the store is live."""
    program = (
        "import pathlib, sys\n"
        "for place in sys.argv[1].split(':'):\n"
        "    for path in sorted(pathlib.Path(place).rglob('*')):\n"
        "        raw = path.read_bytes().lower() if path.is_file() else b''\n"
        "        if any(needle.lower().encode() in raw for needle in sys.argv[2:]):\n"
        "            print(path.name)\n"
    )
    places = f"{desk.memories.place.home.path}:{desk.folder}"
    done = subprocess.run([sys.executable, "-c", program, places, *needles], capture_output=True, text=True, check=True)
    return done.stdout.split()


def child(desk: Desk, program: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Another process, in the same repository."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], cwd=desk.base / "repo", env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def test_a_memory_is_in_no_file_afterwards_and_its_tombstone_tells(desk: Desk):
    desk.write("kept", "Other words stay here.\n", description="what stays")
    desk.write("gone", "The Zaubertrank is brewed from nettles and honey.\n", description="how the Zaubertrank is made")
    desk.write("gone", "The Zaubertrank is brewed from nettles, honey and salt.\n")
    assert "store.db" in "".join(holding(desk, "Zaubertrank"))
    done = purge(desk, "gone")
    assert done.whole and done.seq is not None and not done.notices
    assert holding(desk, "Zaubertrank", "gone.md") == []
    assert sorted(desk.files()) == [".memstore", "MEMORY.md", "kept.md"]
    assert desk.text("kept").endswith("Other words stay here.\n")
    with pytest.raises(NotFound, match=f"purged by operation #{done.seq}"):
        desk.memories.show("gone")
    with pytest.raises(Conflict, match="is a purge"):
        desk.memories.undo(str(done.seq))
    with pytest.raises(Conflict, match=f"purged by operation #{done.seq}"):
        desk.memories.undo("2")
    assert desk.sync().quiet
    assert purging.finish(desk.memories) == ([], None)


def test_a_secret_is_replaced_everywhere_and_all_else_stays(desk: Desk):
    desk.write("key", f"The key is {SECRET}, it opens the gate.\n", description=f"the key {SECRET}")
    desk.write("key", f"The key is {SECRET}, it opens the gate and the door.\n")
    desk.write(f"about-{SECRET}", "A memory whose file is called like it.\n")
    desk.edit("MEMORY.md", "- [key]", f"A line by hand: {SECRET}\n- [key]")
    desk.write("old", f"Was {SECRET}.\n")
    desk.memories.delete("old", reason=f"{SECRET} is not used any more")
    daily.note(desk.memories, f"used {SECRET} today", None)
    assert any(SECRET.encode() in raw for name, raw in desk.files().items() if name.startswith("logs/"))
    before = {name: raw for name, raw in desk.files().items() if SECRET not in name}
    done = purge(desk, secret=SECRET)
    assert done.whole, done
    assert holding(desk, SECRET) == []
    after = desk.files()
    assert after.keys() == before.keys() | {"about-purged.md"}
    assert after["key.md"] == before["key.md"].replace(SECRET.encode(), b"[purged]")
    assert b"A line by hand: [purged]" in after["MEMORY.md"]
    log = next(name for name in before if name.startswith("logs/"))
    assert after[log] == before[log].replace(SECRET.encode(), b"[purged]")
    assert [version.number for version in desk.memories.versions("key")] == [1, 2, 3]
    assert desk.sync().quiet
    daily.note(desk.memories, "and another", None)
    assert desk.files()[log].startswith(after[log]) and desk.files()[log].count(b"[purged]") == 1


def test_an_edit_that_nobody_has_taken_in_is_kept_but_for_the_secret(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    desk.put("new.md", topic("new", body=f"Fresh words with {SECRET} in them.\n"))
    desk.edit("key.md", "The key", "By hand: the key")
    assert purge(desk, secret=SECRET).whole
    assert "By hand: the key is [purged]." in desk.text("key") and "Fresh words with [purged]" in desk.text("new")
    assert holding(desk, SECRET) == []


def test_other_folders_of_the_store_follow_too(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    second = desk.second()
    second.sync()
    assert SECRET in second.read("key.md")
    assert purge(desk, secret=SECRET).whole
    assert "[purged]" in second.read("key.md") and "[purged]" in desk.read("key.md")


def test_a_file_that_cannot_follow_stops_it_before_the_history(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    target = desk.base / "elsewhere.md"
    (desk.folder / "key.md").rename(target)
    os.link(target, desk.folder / "key.md")  # a hard link is not written
    with pytest.raises(PlaceRefused, match="could not be changed"):
        purge(desk, secret=SECRET)
    versions = desk.memories.store.versions(desk.memories.store.memories()[0].id)
    assert SECRET.encode() in versions[0].state.content
    target.unlink()
    assert purge(desk, secret=SECRET).whole and holding(desk, SECRET) == []


def test_what_is_old_goes_and_what_stands_now_stays(desk: Desk):
    desk.write("a", "The first Geheimnis of many words.\n")
    desk.write("dead", "A dead Geheimnis of many words.\n")
    desk.memories.delete("dead")
    desk.ahead += 10
    cut = desk.world().clock()
    desk.write("a", "The second text.\n")
    done = purge(desk, before=cut)
    assert done.whole and done.taken["memories"] == 1
    assert holding(desk, "Geheimnis") == [] and "The second text." in desk.text("a")
    assert desk.sync().quiet


def test_backups_and_other_copies_are_named_and_deleted_only_when_asked(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    copy = backups.back_up(desk.memories).path
    done = purge(desk, secret=SECRET)
    assert done.copies == (copy,) and copy in done.found and not done.whole
    again = purge(desk, secret=SECRET, with_copies=True)
    assert again.seq is None and again.removed == (copy,) and again.whole
    assert holding(desk, SECRET) == []


def test_what_other_commands_left_in_the_home_goes_too(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.write("key", f"The key is {SECRET}.\n")
    home = Path(desk.memories.place.home.path)
    (home / "shell_history").write_text(f"select 1;\nselect '{SECRET}';\n")
    left = home / "snapshots" / "db-left"
    left.mkdir(parents=True)
    (left / "snapshot.db").write_text(SECRET)
    monkeypatch.setattr(snapshot, "_YOUNG", -1)
    assert purge(desk, secret=SECRET).whole
    assert (home / "shell_history").read_text() == "select 1;\nselect '[purged]';\n"


def test_another_store_of_the_same_home_is_named_and_stays(desk: Desk):
    other = desk.other("elsewhere")
    other.write("key", f"The key is {SECRET}.\n")
    desk.write("key", f"The key is {SECRET}.\n")
    backups.back_up(other.memories)
    done = purge(desk, secret=SECRET)
    assert done.whole and any("other stores" in notice and "elsewhere" in notice for notice in done.notices)
    assert SECRET in other.text("key")


def test_a_plan_takes_nothing(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    files, last = desk.files(), desk.memories.store.operations()[0][0].seq
    planned = purging.plan(desk.memories, Wanted(secret=secret_of(SECRET)))
    assert planned.memories == ("key.md",) and planned.taken["texts"] and not planned.nothing
    assert str(desk.folder / "key.md") in planned.files
    assert purging.plan(desk.memories, Wanted(("key",))).taken["memories"] == 1
    assert purging.plan(desk.memories, Wanted(secret=secret_of("nowhere at all"))).nothing
    assert desk.files() == files and desk.memories.store.operations()[0][0].seq == last


def test_retired_memories_of_the_same_name_go_along(desk: Desk):
    desk.write("gone", "The first Geheimnis.\n")
    desk.memories.rename("gone", "other")
    desk.memories.delete("other")
    desk.write("gone", "The second Geheimnis.\n")
    with pytest.raises(NotFound):
        purge(desk, "never")
    purge(desk, "gone")
    assert holding(desk, "second Geheimnis") == []
    purge(desk, "other")
    assert holding(desk, "Geheimnis") == []


def test_lines_that_others_have_too_are_no_sign_of_it(desk: Desk):
    desk.write("gone", "A line that is long enough and stands in both.\n")
    desk.write("kept", "A line that is long enough and stands in both.\n")
    done = purge(desk, "gone")
    assert done.whole and any("text.content" in notice for notice in done.notices)


def test_an_old_copy_that_comes_back_is_news(desk: Desk):
    desk.write("gone", "Words of the memory that goes.\n")
    old = desk.read("gone.md")
    purge(desk, "gone")
    desk.put("gone.md", old)
    assert [noted.what for noted in desk.sync().absorbed] == ["created"]


def test_a_secret_that_was_deleted_long_ago_is_cleaned_out_of_freed_pages(desk: Desk):
    store = desk.memories.store
    with store.change() as connection:
        connection.execute("INSERT INTO recall_asked VALUES ('s', ?, NULL, 1)", (f"{SECRET} {'words ' * 900}",))
    with store.change() as connection:
        connection.execute("DELETE FROM recall_asked")
    done = purge(desk, secret=SECRET)
    assert done.seq is None and done.whole and holding(desk, SECRET) == []


def test_somebody_who_writes_it_again_all_the_time_is_told_of(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.write("key", f"The key is {SECRET}.\n")
    changed = purging._change_current

    def again(*arguments: object) -> object:
        report = changed(*arguments)  # type: ignore[arg-type]  # passed on as they came
        desk.write("key", f"The key is {SECRET}, again.\n")
        return report

    monkeypatch.setattr(purging, "_change_current", again)
    monkeypatch.setattr(purging, "_check_files", lambda *_: None)
    with pytest.raises(StoreBusy, match="written again meanwhile"):
        purge(desk, secret=SECRET)


def test_a_full_disk_is_told_with_what_helps(desk: Desk):
    desk.write("key", f"The key is {SECRET}. {'words ' * 5000}\n")
    copy = backups.back_up(desk.memories).path
    connection = desk.memories.store._link.connection
    planned = purging.plan(desk.memories, Wanted(secret=secret_of(SECRET)))
    pages = connection.pragma("page_count")
    connection.pragma("max_page_count", pages)
    with pytest.raises(DiskFull) as caught:
        purging.purge(desk.memories, planned)
    assert copy in caught.value.hint
    connection.pragma("max_page_count", 4294967294)
    assert purge(desk, secret=SECRET, with_copies=True).whole


# Other processes


def test_a_process_that_reads_keeps_the_log_and_finish_does_the_rest(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    program = (
        "import sys\nfrom memstore import Memstore\n"
        "with Memstore.open() as memories, memories.store.view() as view:\n"
        "    view.execute('SELECT * FROM text').fetchall()\n"
        "    print('reading', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with child(desk, program) as reader:
        assert reader.stdin and reader.stdout and reader.stdout.readline() == b"reading\n"
        desk.memories.store._link.connection.set_busy_timeout(10)
        done = purge(desk, secret=SECRET)
        assert not done.whole and isinstance(done.trouble, StoreBusy) and f"process {reader.pid}" in str(done.trouble)
        waiting, trouble = purging.finish(desk.memories)
        assert [tombstone.seq for tombstone in waiting] == [done.seq] and trouble is not None
        reader.stdin.close()
        assert reader.wait(30) == 0
    waiting, trouble = purging.finish(desk.memories)
    assert len(waiting) == 1 and trouble is None
    assert holding(desk, SECRET) == []


def test_who_has_the_store_open_goes_on_with_what_is_left(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    other = desk.open()
    head, _ = other.show("key")
    assert purge(desk, secret=SECRET).whole
    assert b"[purged]" in other.show("key")[0].state.content
    other.append("key", "More words.")
    with pytest.raises(Conflict):
        other.write("key", Text(body="Mine alone.\n"), expect=head.token, on_conflict="refuse")
    assert "More words." in desk.text("key")


def killed(desk: Desk, where: str, wanted: str) -> None:
    """Another process purges and is killed. It comes from a fork server, so that it costs no start of Python."""
    environment = {name: os.environ[name] for name in os.environ if name == "HOME" or name.startswith(ISOLATED)}
    process = CONTEXT.Process(target=dying.purge, args=(str(desk.base / "repo"), environment, where, wanted))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("where", ["before", "inside", "logs", "vacuum", "log"])
def test_killed_anywhere_it_is_finished_by_the_same_command(desk: Desk, where: str):
    desk.write("key", f"The key is {SECRET}.\n")
    desk.write("other", "Words that stay.\n")
    daily.note(desk.memories, f"used {SECRET}", None)
    desk.close()
    killed(desk, where, SECRET)
    desk.memories = desk.open()
    assert "other.md" in desk.living() and "key.md" in desk.living()
    assert purge(desk, secret=SECRET).whole
    assert holding(desk, SECRET) == []
    assert "Words that stay." in desk.text("other") and "[purged]" in desk.text("key")


@pytest.mark.parametrize("where", ["before", "inside", "vacuum"])
def test_killed_anywhere_a_memory_is_there_or_gone(desk: Desk, where: str):
    desk.write("key", f"The key of the gate is {SECRET}.\n")
    desk.close()
    killed(desk, where, "key")
    desk.memories = desk.open()
    if where == "vacuum":
        with pytest.raises(NotFound) as caught:
            purge(desk, "key")
        assert "--finish" in caught.value.hint
        waiting, trouble = purging.finish(desk.memories)
        assert len(waiting) == 1 and trouble is None
    else:
        assert len(desk.memories.store.versions(desk.memories.show("key")[0].id)) == 2
        assert purge(desk, "key").whole
    assert holding(desk, SECRET) == []


def test_the_history_is_append_only_for_everybody_else(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    purge(desk, secret=SECRET)
    with desk.memories.store.view() as connection:
        assert connection.execute("SELECT count(*) FROM purge_permit").get == 0
        assert tombstones.unswept(connection) == []
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        desk.memories.store._link.connection.execute("DELETE FROM version")
    assert rows.KIND == "purge" and Path(desk.memories.store.path).exists()


def test_what_was_made_of_a_secret_goes_as_well(desk: Desk):
    secret = "p@ss [w0rd] x9!"
    desk.write("cut", "nothing\n", description="word " * 24 + secret)
    desk.write("cut", "nothing\n", description=secret)
    desk.write("header", f"{secret}\n", description="all of p@ss [w0…")
    desk.write(f"the {secret} here", "see [it](the-p-ss-w0rd-x9-here.md)\n", description="d")
    below = Path(desk.folder) / secret
    below.mkdir()
    (below / "note.md").write_text("words\n")
    daily.note(desk.memories, f"one\n{secret}\nfirst {secret}", None)
    desk.sync()
    assert purge(desk, secret=secret).whole
    assert holding(desk, "w0rd", "p@ss", "p-ss") == []
    assert not below.exists() and (Path(desk.folder) / "the-purged-here.md").exists() is False


def test_a_secret_that_is_a_file_s_name_leaves_a_file(desk: Desk):
    desk.write("key", "words\n", description="d")
    desk.write("other", "in key.md\n", description="d")
    assert purge(desk, secret="key.md").whole
    assert not desk.sync().pending and sorted(desk.living()) == ["other.md", "purged.md"]
    assert desk.text("other").endswith("in [purged]\n") and "purged.md" in desk.files()
