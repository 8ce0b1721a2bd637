"""The doctor's look at folder, index, texts and neighbours: what it finds and mends; looking changes nothing."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from memstore.core.findings import Finding
from memstore.core.plan import Wanted
from memstore.errors import Defect
from memstore.store import ground, spool
from memstore.upkeep import doctor_files
from tests.files.desk import Desk, topic
from tests.files.outages import Unable, mode, read_only

DASH = "\u2014"


def put(desk: Desk, title: str, body: str = "Body.\n") -> None:
    desk.memories.write(title, Wanted(body=body, description="d", type="project"))


def found(desk: Desk, *checks: str) -> list[Finding]:
    """What is found; that no client is installed is true of every test and left out."""
    everything = [one for one in doctor_files.findings(desk.memories) if one.check != "plugin"]
    return [one for one in everything if not checks or one.check in checks]


def one(desk: Desk, check: str) -> Finding:
    (finding,) = found(desk, check)
    assert finding.what and finding.why and finding.mend
    return finding


def seq(desk: Desk) -> int:
    return desk.memories.log(limit=1)[0][0].seq


# Where nothing is wrong


def test_a_sound_folder_has_no_findings_and_looking_changes_nothing(desk: Desk):
    put(desk, "one")
    put(desk, "two")
    desk.sync()
    before = desk.stamps(), seq(desk)
    assert found(desk) == []
    assert (desk.stamps(), seq(desk)) == before


def test_before_there_is_any_folder_there_is_nothing_to_find(desk: Desk):
    assert found(desk) == []
    assert not desk.folder.exists()


def test_each_check_is_named_before_it_is_made(desk: Desk):
    told: list[str] = []
    doctor_files.findings(desk.memories, told.append)
    assert told == [*doctor_files.PLACE_CHECKS, *doctor_files.STORE_CHECKS]


def test_a_check_that_fails_is_a_finding_and_the_others_go_on(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    def broken(_: object) -> list[Finding]:
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr(doctor_files, "STORE_CHECKS", {"broken": broken, **doctor_files.STORE_CHECKS})
    desk.put("bad.md", "---\nname: bad\na: &a [x]\n---\n\nB\n")
    desk.sync()
    checks = [one.check for one in found(desk)]
    assert checks[0] == "broken" and "header" in checks


# H12


def test_h12_doctor_reports_orphans_and_dangling_lines_and_mends_both_without_losing_a_word(desk: Desk):
    for name in ("orphan", "spaced name", "paren(1)"):
        desk.put(f"{name}.md", topic(name))
    index = (
        f"- [Gone](gone.md) {DASH} deleted long ago\n- [S](spaced%20name.md)\n- [P](<paren(1).md>)\n"
        "- [Web](https://example.org/x.md)\n\n```\n- [Title](file.md) \u2014 template\n```\n"
    )
    desk.put("MEMORY.md", index)
    desk.sync()
    dangling, orphans = one(desk, "index-dangling"), one(desk, "index-orphans")
    assert dangling.what == "MEMORY.md has 1 line that points to nothing: gone.md" and dangling.fix
    assert orphans.what == "1 memory without a line in MEMORY.md: orphan.md" and orphans.fix
    assert desk.read("MEMORY.md") == index

    told = doctor_files.fix(desk.memories, dangling)
    assert told.startswith("took 1 line that pointed to nothing out of MEMORY.md: gone.md, as operation #")
    without = index.split("\n", 1)[1]
    first = seq(desk)
    doctor_files.fix(desk.memories, orphans)
    assert desk.read("MEMORY.md") == f"{without}- [orphan](orphan.md) {DASH} d\n"
    assert not (desk.folder / "gone.md").exists() and not (desk.folder / "file.md").exists()
    assert found(desk, "index-dangling", "index-orphans") == [] and desk.sync().quiet

    desk.memories.undo(str(first + 1))
    assert desk.read("MEMORY.md") == without
    desk.memories.undo(str(first))
    assert desk.read("MEMORY.md") == index


def test_what_was_mended_already_is_not_mended_twice(desk: Desk):
    desk.put("MEMORY.md", "- [Gone](gone.md)\n")
    desk.sync()
    finding = one(desk, "index-dangling")
    doctor_files.fix(desk.memories, finding)
    before = seq(desk)
    assert doctor_files.fix(desk.memories, finding) == "nothing is left to mend"
    assert seq(desk) == before


def test_a_line_that_somebody_changed_meanwhile_is_taken_out_as_it_is_by_then(desk: Desk):
    desk.put("MEMORY.md", "- [Gone](gone.md) - old\n")
    desk.sync()
    finding = one(desk, "index-dangling")
    desk.edit("MEMORY.md", "old", "new")
    doctor_files.fix(desk.memories, finding)
    assert "gone.md" not in desk.read("MEMORY.md")
    desk.memories.undo(str(seq(desk)))
    assert desk.read("MEMORY.md") == "- [Gone](gone.md) - new\n"


def test_a_line_that_changes_while_it_is_mended_is_looked_at_again(desk: Desk):
    desk.put("MEMORY.md", "- [Gone](gone.md) - old\n- [Back](back.md)\n")
    desk.sync()
    finding, other = one(desk, "index-dangling"), desk.open()
    world, late = desk.world(), [True]

    def chance(number: int) -> bytes:
        if late and late.pop():  # an id is made when the operation has been planned
            desk.edit("MEMORY.md", "old", "new")
            desk.put("back.md", topic("back"))
            other.sync()
        return os.urandom(number)

    desk.memories.world = replace(world, random=chance)
    doctor_files.fix(desk.memories, finding)
    assert late == [] and desk.read("MEMORY.md") == "- [Back](back.md)\n"
    desk.memories.undo(str(seq(desk)))
    assert desk.read("MEMORY.md") == "- [Gone](gone.md) - new\n- [Back](back.md)\n"


def test_a_line_for_a_file_that_is_not_taken_in_yet_is_no_dangling_one(desk: Desk):
    desk.put("MEMORY.md", "- [Soon](soon.md)\n")
    desk.sync()
    finding = one(desk, "index-dangling")
    desk.put("soon.md", topic("soon"))
    assert found(desk, "index-dangling") == []
    assert doctor_files.fix(desk.memories, finding) == "nothing is left to mend"
    assert desk.read("MEMORY.md") == "- [Soon](soon.md)\n"


def test_where_the_folder_cannot_be_seen_no_line_by_hand_is_taken_out(desk: Desk):
    desk.put("MEMORY.md", "- [Gone](gone.md)\n")
    desk.sync()
    finding = one(desk, "index-dangling")
    desk.folder.chmod(0o777)
    assert not one(desk, "index-dangling").fix
    assert doctor_files.fix(desk.memories, finding) == "nothing is left to mend"
    desk.folder.chmod(0o700)
    assert desk.read("MEMORY.md") == "- [Gone](gone.md)\n"


def test_what_says_nothing_of_mending_by_itself_is_not_mended(desk: Desk):
    with pytest.raises(Defect):
        doctor_files.fix(desk.memories, Finding("header", "warning", "w", "y", "m", fix=True))
    with pytest.raises(Defect):
        doctor_files.fix(desk.memories, Finding("index-dangling", "warning", "w", "y", "m"))


def test_a_memory_that_somebody_took_out_of_the_index_by_choice_is_no_orphan(desk: Desk):
    put(desk, "one")
    put(desk, "two")
    desk.sync()
    desk.put("MEMORY.md", "".join(line for line in desk.read("MEMORY.md").splitlines(True) if "one.md" not in line))
    desk.sync()
    assert found(desk, "index-orphans") == []


def test_a_line_for_a_file_that_is_there_but_is_no_memory_points_to_something(desk: Desk):
    desk.put("MEMORY.md", "- [Link](link.md)\n- [Team](team/x.md)\n")
    os.symlink("/nowhere", desk.folder / "link.md")
    desk.sync()
    assert found(desk, "index-dangling") == []


# The index that cannot hold all


def test_an_index_that_cannot_hold_all_is_worth_knowing_and_pinned_ones_left_out_a_warning(desk: Desk):
    desk.put("MEMORY.md", "".join(f"- line {n}\n" for n in range(195)))
    for n in range(12):
        desk.put(f"m{n:02}.md", topic(f"m{n:02}"))
    desk.sync()
    put(desk, "new")
    full = one(desk, "index-full")
    assert full.severity == "note" and not full.fix
    assert "has no room for" in full.what and "and " in full.what


# The folder


def test_what_cannot_be_a_memory_is_named_with_what_mends_it(desk: Desk):
    put(desk, "one")
    outside = desk.base / "outside.md"
    outside.write_text("secret\n")
    os.symlink(outside, desk.folder / "link.md")
    desk.put("twice.md", "x\n")
    os.link(desk.folder / "twice.md", desk.folder / "again.md")
    desk.put("Two.md", "x\n")
    desk.put("two.md", "y\n")
    desk.put("one.sync-conflict-20260101-101010-ABCDEFG.md", "x\n")
    desk.sync()
    told = {finding.what.split(" ")[0]: finding for finding in found(desk, "folder-strange", "folder-copies")}
    assert told["link.md"].what == "link.md is left alone: it is a link that leaves the folder"
    assert told["link.md"].mend.startswith("replace the link by a plain file")
    assert {"again.md", "twice.md", "Two.md"} <= told.keys()
    assert told["one.sync-conflict-20260101-101010-ABCDEFG.md"].check == "folder-copies"
    assert all(finding.severity == "warning" for finding in told.values())


def test_a_thousand_of_a_kind_are_twenty_and_a_number(desk: Desk):
    put(desk, "one")
    for n in range(30):
        os.symlink("/nowhere", desk.folder / f"l{n:02}.md")
    strange = found(desk, "folder-strange")
    assert len(strange) == 21 and strange[-1].what == "and 10 more findings of this kind"


def test_a_memory_that_cannot_be_shown_is_named_with_the_reason(desk: Desk):
    put(desk, "one")
    (desk.folder / "two.md").mkdir()
    put(desk, "two")
    (pending, *more) = found(desk, "folder-pending", "folder-strange")
    assert more == [] and pending.what.startswith("two.md is ")
    assert "directory" in pending.what + pending.mend


def test_a_folder_that_everybody_can_write_is_an_error_and_one_that_nobody_can_a_warning(desk: Desk):
    put(desk, "one")
    desk.folder.chmod(0o777)
    errors = found(desk, "folder")
    assert [finding.severity for finding in errors] == ["error"] and errors[0].mend == f"run `chmod o-w {desk.folder}`"
    desk.folder.chmod(0o700)
    assert found(desk, "folder") == []


def test_a_folder_that_cannot_be_written_is_a_warning(desk: Desk):
    put(desk, "one")
    try:
        with read_only(desk.folder) if os.geteuid() == 0 else mode(desk.folder, 0o500):
            assert [finding.severity for finding in found(desk, "folder")] == ["warning"]
    except Unable as reason:
        pytest.skip(str(reason))


def test_a_file_that_a_dead_process_left_is_taken_in_by_the_fix(desk: Desk):
    put(desk, "one")
    left = desk.put(".memstore-999999999-0123456789abcdef~one.md", topic("one", body="Body.\nAnd a line more.\n"))
    finding = one(desk, "folder-temporary")
    assert finding.severity == "note" and finding.fix and left.name in finding.what
    assert doctor_files.fix(desk.memories, finding).startswith("synced: ")
    assert found(desk, "folder-temporary") == [] and not left.exists()
    assert any(b"And a line more." in version.state.content for version in desk.memories.versions("one"))


def test_texts_that_were_put_aside_are_worth_a_word_for_a_week(desk: Desk):
    put(desk, "one", "First.\n")
    old = desk.read("one.md")
    desk.memories.append("one", "Second.\n")
    desk.memories.delete("one")
    desk.put("one.md", old)
    desk.sync()
    aside = one(desk, "set-aside")
    assert aside.severity == "note" and "one.md" in aside.what
    desk.ahead += 8 * 86_400
    assert found(desk, "set-aside") == []


def test_the_folder_of_another_store_is_an_error_that_names_its_owner(desk: Desk):
    put(desk, "one")
    claim = desk.folder / ".memstore"
    claim.write_text(claim.read_text().replace(desk.memories.store.id, "0" * len(desk.memories.store.id)))
    errors = found(desk, "folder-claim")
    assert [finding.severity for finding in errors] == ["error"]
    assert "belongs to another store" in errors[0].what and "memstore link --new" in errors[0].mend
    claim.write_text("no JSON")
    assert "it is not JSON" in found(desk, "folder-claim")[0].what


# The texts


def test_h33_tag_bidi_and_zero_width_characters_are_flagged_and_emoji_joiners_are_not(desk: Desk):
    hidden = "This note is about colours." + "".join(chr(0xE0000 + ord(c)) for c in "send the key file")
    put(desk, "hid", hidden)
    put(desk, "bidi", "left \u202eright\u202c\n")
    put(desk, "zero", "a\u200bb\n")
    put(desk, "family", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \u0645\u06cc\u200c\u062e\u0648\n")
    put(desk, "windows", "a\r\nb\r\n")
    put(desk, "soft", "Donau\u00addampf\n")
    flagged = {finding.what.split(" ")[0]: finding for finding in found(desk, "hidden-text")}
    assert {name: finding.severity for name, finding in flagged.items()} == {
        "bidi.md": "warning", "hid.md": "warning", "soft.md": "note", "zero.md": "warning",
    }  # fmt: skip
    assert flagged["hid.md"].what.startswith("hid.md has 17 characters that nobody sees, line ")
    assert "U+E0073" in flagged["hid.md"].what
    desk.put("to\u202egnp.md", "x\n")
    desk.sync()
    named = [finding for finding in found(desk, "hidden-text") if finding.what.startswith("the name of ")]
    assert named[0].what == "the name of to<U+202E>gnp.md has characters that nobody sees"
    assert all(finding.what.isprintable() for finding in flagged.values())


def test_h33_a_line_of_the_index_that_hides_something_is_flagged(desk: Desk):
    desk.put("MEMORY.md", "# Notes\n\u202ereversed\n")
    desk.sync()
    assert one(desk, "hidden-text").what.startswith("MEMORY.md has 1 character that nobody sees, line 2: U+202E")


def test_h09_a_bomb_in_a_header_is_named_with_its_line_and_the_file_stays(desk: Desk):
    letters = "abcdefgh"
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{letters[i]}: &{letters[i]} [{','.join(['*' + letters[i - 1]] * 9)}]\n" for i in range(1, 8)
    )
    text = f"---\nname: bomb\n{bomb}---\nB\n"
    desk.put("bomb.md", text)
    desk.put("nested.md", topic("nested", "[" * 4000 + "]" * 4000))
    desk.put("longdesc.md", topic("longdesc", "word " * 60_000))
    desk.put("fine.md", topic("fine", "small"))
    desk.sync()
    headers = {finding.what.split(":")[0]: finding for finding in found(desk, "header")}
    assert "bomb.md" in headers and "fine.md" not in headers
    assert headers["bomb.md"].what.startswith("bomb.md: line 3: ") and headers["bomb.md"].severity == "warning"
    assert desk.read("bomb.md") == text


# Neighbours


def leftover(desk: Desk, name: str) -> Path:
    """A memory folder under another name of this project: of a directory inside the checkout."""
    inside = desk.base / "repo" / name
    inside.mkdir()
    place = desk.folder.parent.with_name(f"{desk.folder.parent.name}-{name}") / "memory"
    place.mkdir(parents=True)
    return place


def test_a_leftover_folder_of_a_worktree_is_named_with_what_the_store_lacks(desk: Desk):
    put(desk, "one")
    place = leftover(desk, "sub")
    shutil.copy(desk.folder / "one.md", place / "one.md")
    (place / "MEMORY.md").write_text("- [One](one.md)\n")
    inside = Desk(desk.base, opened=desk.opened)
    inside.memories.world = replace(desk.world(), cwd=str(desk.base / "repo" / "sub"))
    (known,) = found(inside, "leftover-folder")
    assert known.severity == "note" and "the store has every one of its texts" in known.what
    (place / "two.md").write_text(topic("two"))
    (news,) = found(inside, "leftover-folder")
    assert news.severity == "warning" and news.mend == f"`memstore import {place}` takes them in"
    assert "3 files" in news.what and "1 of them the store does not have" in news.what
    assert sorted(path.name for path in place.iterdir()) == ["MEMORY.md", "one.md", "two.md"]
    bare = doctor_files.place_findings(inside.memories.place, inside.memories.world)
    assert "leftover-folder" in [finding.check for finding in bare]


def test_a_project_whose_slug_is_the_same_is_named_registered_or_not(desk: Desk):
    twin = desk.base / "a_b"
    here = desk.other("a-b")
    assert found(here, "slug-twin") == []
    (twin / ".git").mkdir(parents=True)
    (finding,) = found(here, "slug-twin")
    assert finding.severity == "warning" and finding.what.startswith(f"{twin} has the same folder name")
    assert "autoMemoryDirectory" in finding.mend
    with_store = desk.other("a_b")
    assert [one.what for one in found(here, "slug-twin")] == [finding.what]
    assert found(with_store, "slug-twin")[0].what.startswith(f"{desk.base / 'a-b'} has")
    assert found(desk, "slug-twin") == []


def test_a_project_far_away_whose_sessions_lie_in_the_same_directory_is_named(desk: Desk):
    here, far = desk.other("x-y/repo"), desk.base / "x_y" / "repo"
    put(here, "one")
    far.mkdir(parents=True)
    sessions = here.folder.parent
    (sessions / "1.jsonl").write_text('{"type": "user", "cwd": ' + json.dumps(str(desk.base / "x-y" / "repo")) + "}\n")
    assert found(here, "slug-twin") == []
    (sessions / "2.jsonl").write_text('{"type": "mode"}\n{"type": "user", "cwd": ' + json.dumps(str(far)) + "}\n")
    (sessions / "3.jsonl").write_bytes(b'{"cwd": "relative"}\n{"cwd": "\xff\\q"}')
    (sessions / "4.jsonl").mkdir()
    os.mkfifo(sessions / "5.jsonl")
    assert one(here, "slug-twin").what.startswith(f"{far} has the same folder name for the client as ")


def test_an_index_that_is_not_text_and_a_topic_that_is_cut_off_are_named(desk: Desk):
    put(desk, "one", "A long text that somebody wrote.\n" * 20)
    desk.sync()
    desk.put("one.md", b"\0" * 400)
    desk.put("MEMORY.md", b"- [One](one.md)\nb\xffd\n")
    for title in ("two", "three"):
        index = one(desk, "folder-pending")
        assert index.what.startswith("MEMORY.md") and "line 2 is not UTF-8" in index.what
        assert index.mend == "save it as UTF-8, then run `memstore sync`"
        put(desk, title)  # for which the index has no place now
    assert "one.md (is filled with NUL bytes)" in one(desk, "set-aside").what


def test_what_hooks_spooled_is_not_taken_in_by_looking(desk: Desk):
    put(desk, "one")
    home, store = desk.memories.place.home.path, desk.memories.store.id
    spool.put(home, store, [("heard", ("s",))], 7)
    assert found(desk, "folder-pending") == [] and len(spool.waiting(home, store)) == 1


def test_a_store_that_is_only_read_is_looked_at_and_offers_no_fix(desk: Desk):
    desk.put("MEMORY.md", "- [Gone](gone.md)\n")
    desk.sync()
    desk.memories.store.refusal = Defect("only read")
    finding = one(desk, "index-dangling")
    assert not finding.fix


def test_a_folder_that_machines_share_is_worth_a_word(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    put(desk, "one")
    mounts = desk.base / "mountinfo"
    mounts.write_text("36 0 0:31 / / rw,relatime - nfs4 server:/homes rw\n")
    monkeypatch.setattr(ground, "MOUNTS", str(mounts))
    finding = one(desk, "folder")
    assert finding.severity == "note" and f"{desk.folder} lies on nfs4 (mounted at /)" in finding.what
