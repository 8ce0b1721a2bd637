"""No job writes a secret down: what is refused, and what stands on record of it."""

from __future__ import annotations

import pytest

from memstore.core.changes import Create, Revise
from memstore.core.model import SHELF
from memstore.errors import InputRefused
from memstore.jobs.secrecy import check_text
from memstore.store.connection import many
from tests.core.test_secrets import ONES, key_block, made
from tests.jobs.desk import text_of
from tests.jobs.noting import Notes, answers, edit
from tests.jobs.scene import Scene, saves
from tests.messages_api import Say, Use
from tests.store.stores import at, put

TOKEN = ONES["github-token"]
SAID = "deploy with the token of the bot"


def talk(scene: Scene) -> None:
    scene.transcript().person(f"from now on {SAID}, it is {TOKEN}")
    scene.transcript().agent("All right.")


def everything(scene: Scene) -> str:
    """Every text of the store."""
    with scene.store.view() as connection:
        tables = [row[0] for row in many(connection, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return "\n".join(str(many(connection, f'SELECT * FROM "{table}"')) for table in tables)


def test_a_secret_is_refused_by_rule_and_line_and_the_rest_is_saved(scene: Scene):
    talk(scene)
    end = scene.turn(
        saves("bot.md", f"The bot deploys.\n\nIts token is {TOKEN}", SAID),
        saves("bot.md", "The bot deploys; its token lies in the vault.", SAID),
        Say("Kept where the token is."),
    )
    assert end.outcome == "saved" and scene.files() == {"bot.md": "The bot deploys; its token lies in the vault."}
    told = (
        "it looks like a secret: github-token in line 3, github-token in line 10; leave"
        " the value out, and say at most where it is kept"
    )
    assert scene.events()[0] == ("refused", f"Write 'bot.md': {told}")
    assert told in scene.told(1)
    assert TOKEN[4:] not in everything(scene)


def test_nor_does_it_stand_in_a_reason_a_name_or_the_last_word(scene: Scene):
    talk(scene)
    put(scene.store, Create("old", SHELF, "old.md", text_of("old", "1\n")))
    end = scene.turn(
        (saves(f"{TOKEN}.md", "The bot deploys.", SAID), Use("Read", {"file_path": "old.md"})),
        Use("Delete", {"file_path": "old.md", "reason": f"now it is {TOKEN}", "quote": SAID}),
        Say(f"Kept nothing of {TOKEN}."),
    )
    assert (end.outcome, end.reason) == ("saved", "Kept nothing of ***.")
    assert [kind for kind, _ in scene.events()] == ["refused", "tool", "tool"]
    assert scene.store.operations()[0][0].reason == "Kept nothing of ***.; old.md deleted: now it is ***"
    assert TOKEN[4:] not in everything(scene)


def test_what_a_memory_holds_already_is_its_writer_s_affair(scene: Scene):
    talk(scene)
    put(scene.store, Create("bot", SHELF, "bot.md", text_of("bot", f"It is {TOKEN}.\nIt deploys.\n")))
    change = {"file_path": "bot.md", "old_string": "It deploys.", "new_string": "It deploys at noon.", "quote": SAID}
    more = {**change, "old_string": "at noon", "new_string": f"with password: {made(20)}"}
    end = scene.turn(Use("Edit", change), Use("Edit", more), Say("Kept the time."))
    assert end.outcome == "saved" and scene.files()["bot.md"] == f"It is {TOKEN}.\nIt deploys at noon."
    assert [kind for kind, _ in scene.events()] == ["tool", "refused"]


def test_a_secret_that_comes_in_parts_is_refused_with_the_part_that_completes_it(scene: Scene):
    talk(scene)
    half = {"file_path": "bot.md", "old_string": "END", "new_string": TOKEN[20:], "quote": SAID}
    scene.turn(saves("bot.md", f"It is {TOKEN[:20]}END", SAID), Use("Edit", half), Say("Kept half."))
    assert [kind for kind, _ in scene.events()] == ["tool", "refused"]
    assert TOKEN not in everything(scene)


def test_a_secret_that_others_took_out_meanwhile_does_not_come_back_by_a_merge(scene: Scene):
    talk(scene)
    put(scene.store, Create("bot", SHELF, "bot.md", text_of("bot", f"1\n2\nIt is {TOKEN}.\n3\n4\n5\n6\nIt deploys.\n")))

    def without() -> None:
        head = at(scene.store, "bot")
        put(scene.store, Revise(head.id, head.token, head.state.content.replace(TOKEN.encode(), b"in the vault")))

    scene.meanwhile({2: without})
    change = {"file_path": "bot.md", "old_string": "It deploys.", "new_string": "It deploys at noon.", "quote": SAID}
    assert scene.turn(Use("Edit", change), Say("Kept the time.")).outcome == "saved"
    assert "It is in the vault." in scene.files()["bot.md"] and "at noon" in scene.files()["bot.md"]


def test_notes_of_a_session_hold_none_either(scene: Scene):
    notes = Notes(scene)
    notes.talk.person("please port the cache to h2")
    answers(notes.talk, 12_000)
    end = notes.update(
        (edit("Current", f"the key is\n{key_block('RSA PRIVATE' + ' KEY')}"), edit("Learnings", "h2 is fast")),
        Say("Noted what h2 is."),
    )
    assert end.outcome == "saved" and notes.says("Current") == "" and notes.says("Learnings") == "h2 is fast"
    assert [event.kind for event in end.events] == ["refused", "tool"]
    assert "private-key in line" in end.events[0].text


def test_many_are_counted():
    text = "\n".join(f"token: {made(24, seed=str(number))}" for number in range(5))
    with pytest.raises(
        InputRefused, match=r"in line 1, assigned-secret in line 2, assigned-secret in line 3 and 2 more"
    ):
        check_text("", text)
    check_text(text, f"{text}\nand no more")
