"""The worker keeps the notes of sessions: when they are due, before all else, within the same budgets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.model import NOTES
from memstore.core.notes_text import TEMPLATE, path_of
from memstore.errors import SettingRefused
from memstore.extracting import Worker
from memstore.jobs.notes import Custom
from memstore.noting import custom
from memstore.store import jobs, notes, runs, sessions
from memstore.store import settings as kept
from memstore.store.connection import many
from memstore.store.runs import Run
from tests.files.desk import Desk
from tests.jobs.api import Scripted, scripted
from tests.jobs.noting import edit
from tests.messages_api import Answer, Asked, Blocks, Fail, Say, Use
from tests.talks import Talk

SAID = "please port the cache to h2"


class Shop(Desk):
    """A repository in which a session works whose context grows."""

    def says(self, talk: Talk, tokens: int, said: str = SAID) -> None:
        """A turn, with a context of so many tokens at its end."""
        talk.person(said)
        usage = {"input_tokens": tokens - 5, "output_tokens": 5}
        talk._add("assistant", {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "usage": usage})

    def queue(self, talk: Talk, event: str = "Stop") -> None:
        """What the hook of the turn's end writes."""
        now, place = self.world().clock(), str(self.base / self.root)
        values = (f"{event} {talk.session} {now}", talk.session, str(talk.path), place, event, now)
        with self.memories.store.change() as connection:
            sessions.write(connection, "job", values)

    def turn(self, talk: Talk, tokens: int, event: str = "Stop") -> None:
        self.says(talk, tokens)
        self.queue(talk, event)

    def set(self, key: str, value: str) -> None:
        with self.memories.store.change() as connection:
            kept.put(connection, key, value, 1)

    def worker(self) -> Worker:
        return Worker(self.memories.store, self.world(), self.memories.place.home.path)

    def jobs(self) -> list[tuple[str, str]]:
        with self.memories.store.view() as connection:
            return many(connection, "SELECT kind, state FROM job ORDER BY seq")

    def runs(self) -> list[Run]:
        """Oldest first."""
        with self.memories.store.view() as connection:
            return runs.log(connection)[::-1]

    def notes(self, session: str = "s") -> str | None:
        memory = self.memories.store.at(NOTES, path_of(session))
        return None if memory is None else memory.state.content.decode()


@pytest.fixture
def api() -> Iterator[Scripted]:
    with scripted() as server:
        server.steps = []
        yield server


@pytest.fixture
def shop(tmp_path: Path, api: Scripted) -> Iterator[Shop]:
    made = Shop(tmp_path, variables=api.environment)
    made.folder.mkdir(parents=True)
    made.sync()
    yield made
    made.close()


def by_task(api: Scripted, session: str = "s") -> None:
    """The model keeps notes where it is asked to, and finds nothing to extract."""

    def answer(asked: Asked) -> Answer:
        if [tool["name"] for tool in asked.body["tools"]] != ["Edit"]:
            return Say("Nothing is worth it.")
        if len(asked.body["messages"]) > 1:
            return Say("Noted.")
        return edit("Current", "porting", path=path_of(session))

    api.steps = [answer] * 20


def kinds(shop: Shop) -> list[tuple[str, str | None]]:
    return [(run.kind, run.outcome) for run in shop.runs()]


def test_a_turn_with_a_large_context_is_noted_before_it_is_looked_at(shop: Shop, api: Scripted):
    by_task(api)
    shop.turn(Talk("s"), 12_000)
    assert shop.worker().drain().runs == 2
    assert kinds(shop) == [("notes", "saved"), ("extract", "nothing")]
    assert "porting" in (shop.notes() or "")
    assert shop.jobs() == [("extract", "done"), ("notes", "done")]


def test_a_small_context_is_not_noted(shop: Shop, api: Scripted):
    by_task(api)
    shop.turn(Talk("s"), 9_000)
    shop.worker().drain()
    assert kinds(shop) == [("extract", "nothing")] and shop.notes() is None


@pytest.mark.parametrize("event", ["PreCompact", "SessionEnd"])
def test_what_is_about_to_be_cut_off_or_left_is_noted_too(shop: Shop, api: Scripted, event: str):
    by_task(api)
    shop.turn(Talk("s"), 12_000, event)
    shop.worker().drain()
    assert "porting" in (shop.notes() or "")


def test_the_next_update_waits_for_the_context_to_grow(shop: Shop, api: Scripted):
    by_task(api)
    talk = Talk("s")
    for tokens in (12_000, 14_000, 16_000, 18_000):
        shop.turn(talk, tokens)
        shop.worker().drain()
    assert [run.kind for run in shop.runs()] == ["notes", "extract", "extract", "extract", "notes", "extract"]


def test_the_notes_of_all_sessions_come_before_what_is_extracted(shop: Shop, api: Scripted):
    by_task(api)
    for session in ("a", "b"):
        shop.turn(Talk(session), 12_000)
    shop.worker().drain()
    assert [(run.kind, run.session) for run in shop.runs()] == [
        ("notes", "a"), ("notes", "b"), ("extract", "a"), ("extract", "b"),
    ]  # fmt: skip


def test_notes_are_in_no_folder_and_no_session_is_told_that_they_were_saved(shop: Shop, api: Scripted):
    by_task(api)
    before = shop.files()
    shop.turn(Talk("s"), 12_000)
    shop.worker().drain()
    shop.sync()
    assert shop.files() == before and shop.living() == []
    assert shop.memories.log() == [] and shop.memories.search("porting")[1] == []
    with shop.memories.store.view() as connection:
        assert runs.saved_untold(connection) == []


def test_notes_are_kept_where_the_extraction_is_switched_off(shop: Shop, api: Scripted):
    by_task(api)
    shop.set("extract.enabled", "false")
    shop.turn(Talk("s"), 12_000)
    shop.worker().drain()
    assert kinds(shop) == [("notes", "saved"), ("extract", "skipped")]


def test_switched_off_there_are_none(shop: Shop, api: Scripted):
    by_task(api)
    shop.set("notes.enabled", "false")
    shop.turn(Talk("s"), 12_000)
    shop.worker().drain()
    assert kinds(shop) == [("extract", "nothing")]


def test_without_a_model_the_notes_wait_and_what_is_switched_off_goes_on(shop: Shop, tmp_path: Path):
    talk = Talk("s")
    shop.turn(talk, 12_000)
    bare = Shop(tmp_path, opened=shop.opened)
    assert bare.worker().drain().hold is not None and bare.runs() == []
    bare.set("extract.enabled", "false")
    bare.worker().drain()
    assert kinds(bare) == [("extract", "skipped")]


def test_the_budget_of_a_day_holds_notes_and_counts_them(shop: Shop, api: Scripted):
    use = edit("Current", "porting")
    block = {"type": "tool_use", "id": "t", "name": "Edit", "input": use.input}
    api.steps = [Blocks((block,), "tool_use", {"input_tokens": 100_000}), Say("Noted.")]
    shop.set("budget.day", "0.10")
    talk = Talk("s")
    shop.turn(talk, 12_000)
    hold = shop.worker().drain().hold
    assert hold is not None and "budget.day is $0.1" in hold.reason
    assert kinds(shop) == [("notes", "saved")]
    shop.turn(talk, 20_000)
    assert shop.worker().drain().runs == 0


def test_notes_that_failed_wait_for_their_next_try_and_hold_nothing_up(shop: Shop, api: Scripted):
    api.steps = [Say(""), Say(""), Say("Nothing is worth it.")]
    talk = Talk("s")
    shop.turn(talk, 12_000)
    shop.worker().drain()
    assert kinds(shop) == [("notes", "failed"), ("extract", "nothing")]
    assert shop.jobs() == [("extract", "done"), ("notes", "waiting")]
    assert not jobs.are_due(shop.memories.store)
    by_task(api)
    shop.ahead += 61
    assert jobs.are_due(shop.memories.store)
    shop.worker().drain()
    assert kinds(shop)[2:] == [("notes", "saved")] and not jobs.are_due(shop.memories.store)


def test_a_key_that_is_refused_is_asked_with_once_and_holds_what_waits(shop: Shop, api: Scripted):
    talk = Talk("s")
    api.steps = [Fail(401, "authentication_error", "invalid x-api-key")]
    for tokens in (12_000, 20_000, 30_000):
        shop.turn(talk, tokens)
        assert shop.worker().drain().hold is not None
    assert shop.jobs() == [("extract", "waiting"), ("notes", "waiting")] and len(api.asked) == 1
    with shop.memories.store.view() as connection:
        assert jobs.parked(connection) == []


def test_a_model_that_is_unknown_parks_one_job_however_many_turns_end(shop: Shop, api: Scripted):
    talk = Talk("s")
    for tokens in (12_000, 20_000, 30_000):
        api.steps = [Fail(404, "not_found_error", "model: claude-sonnet-5-5")] * 2
        shop.turn(talk, tokens)
        shop.worker().drain()
    with shop.memories.store.view() as connection:
        assert [job.kind for job in jobs.parked(connection)].count("notes") == 1


def test_a_setting_of_the_notes_that_cannot_be_used_is_told_by_a_parked_job(shop: Shop, api: Scripted):
    by_task(api)
    shop.set("notes.every", "often")
    shop.turn(Talk("s"), 1_000)
    shop.worker().drain()
    assert kinds(shop) == [("notes", "failed"), ("extract", "nothing")]
    assert "notes.every cannot be 'often'" in shop.runs()[0].reason


def test_notes_whose_worker_was_killed_are_tried_again(shop: Shop, api: Scripted):
    store, talk = shop.memories.store, Talk("s")
    shop.turn(talk, 12_000)
    with store.change() as connection:
        job = jobs.waiting(connection)[0]
        jobs.add(connection, "notes", job, store.now())
        claimed = jobs.claim(connection, "notes", store.now())
        assert claimed is not None
        runs.begin(connection, "killed", "notes", "s", store.now(), job=claimed.seq)
    assert jobs.are_due(store)
    by_task(api)
    shop.worker().drain()
    assert kinds(shop) == [("notes", "failed"), ("extract", "nothing")]
    shop.ahead += 61
    shop.worker().drain()
    assert kinds(shop)[2:] == [("notes", "saved")]


def test_a_model_is_asked_by_the_setting_for_notes(shop: Shop, api: Scripted):
    by_task(api)
    shop.set("model.notes", "claude-haiku-4-5")
    shop.turn(Talk("s"), 12_000)
    shop.worker().drain()
    assert {run.kind: run.model for run in shop.runs()} == {"notes": "claude-haiku-4-5", "extract": "claude-sonnet-5-5"}


# What a person wants otherwise


@pytest.fixture
def theirs(home: Path) -> Path:
    """The client's place for templates and prompts of notes."""
    made = home / ".claude" / "session-memory" / "config"
    made.mkdir(parents=True)
    return made


def of(shop: Shop) -> Custom:
    return custom(shop.memories.place.home.path, shop.world().environment)


def test_without_files_all_is_ours(shop: Shop, theirs: Path):
    assert of(shop) == Custom(TEMPLATE, None)
    (theirs / "template.md").write_text(" \n")
    assert of(shop) == Custom(TEMPLATE, None)


def test_the_clients_own_template_and_prompt_are_used(shop: Shop, theirs: Path, api: Scripted):
    (theirs / "template.md").write_text("# Plan\r\n_What is planned._\r\n", newline="")
    (theirs / "prompt.md").write_text("In {{notesPath}}: {{currentNotes}}")
    assert of(shop) == Custom("# Plan\n_What is planned._\n", "In {{notesPath}}: {{currentNotes}}")
    use = Use("Edit", {"file_path": "s.md", "old_string": "planned._", "new_string": "planned._\n\n- the port"})
    api.steps = [use, Say("Noted."), Say("Nothing.")]
    shop.turn(Talk("s"), 12_000)
    shop.worker().drain()
    assert shop.notes() == "# Plan\n_What is planned._\n\n- the port\n"
    assert api.bodies[0]["messages"][0]["content"][1]["text"] == "In s.md: # Plan\n_What is planned._"


def test_a_template_in_memstores_home_comes_first(shop: Shop, theirs: Path):
    (theirs / "template.md").write_text("# Theirs\n")
    Path(shop.memories.place.home.path, "notes-template.md").write_text("# Own\n")
    assert of(shop).template == "# Own\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"no section", "no section"), (b"# A\xff", "not UTF-8"), (b"# A\0", "NUL"), (b"# A\n" + b"x" * 70_000, "larger")],
)
def test_a_template_that_cannot_be_used_is_named_and_not_passed_over(
    shop: Shop, theirs: Path, content: bytes, told: str
):
    (theirs / "template.md").write_bytes(content)
    with pytest.raises(SettingRefused, match=told) as refused:
        of(shop)
    assert str(theirs / "template.md") in str(refused.value)


def test_a_directory_in_a_templates_place_is_named(shop: Shop, theirs: Path):
    (theirs / "prompt.md").mkdir()
    with pytest.raises(SettingRefused, match=r"prompt\.md cannot be used"):
        of(shop)


# Taking back


def test_an_update_can_be_taken_back_and_the_next_one_goes_on_from_there(shop: Shop, api: Scripted):
    by_task(api)
    talk = Talk("s")
    shop.turn(talk, 12_000)
    shop.worker().drain()
    first = shop.notes()
    change = Use("Edit", {"file_path": "s.md", "old_string": "porting", "new_string": "testing"})
    api.steps = [change, Say("Noted."), Say("Nothing.")]
    shop.turn(talk, 20_000)
    shop.worker().drain()
    memory = shop.memories.store.at(NOTES, "s.md")
    assert memory is not None and "testing" in (shop.notes() or "")
    before = shop.files()
    shop.memories.undo(str(memory.seq))
    assert shop.notes() == first and shop.files() == before
    api.steps = [change, Say("Noted."), Say("Nothing.")]
    shop.turn(talk, 30_000)
    shop.worker().drain()
    assert "testing" in (shop.notes() or "")


def test_notes_that_were_taken_back_as_a_whole_begin_anew(shop: Shop, api: Scripted):
    by_task(api)
    talk = Talk("s")
    shop.turn(talk, 12_000)
    shop.worker().drain()
    memory = shop.memories.store.at(NOTES, "s.md")
    assert memory is not None
    shop.memories.undo(str(memory.seq))
    assert [one.session for one in listed(shop)] == []
    shop.turn(talk, 20_000)
    shop.worker().drain()
    assert "porting" in (shop.notes() or "") and [one.session for one in listed(shop)] == ["s"]


def listed(shop: Shop) -> list[notes.Notes]:
    with shop.memories.store.view() as connection:
        return notes.listed(connection)
