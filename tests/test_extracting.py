"""The worker of the extraction: jobs are done once, wait where they must, and a killed worker loses nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memstore.errors import ModelError
from memstore.extracting import Drained, Worker, drain
from memstore.standing import standing
from memstore.store import jobs, runs, sessions
from memstore.store import settings as kept
from memstore.store.connection import many
from memstore.store.runs import Run, RunEnd
from memstore.store.store import Store
from tests.files.desk import Desk
from tests.jobs.api import Scripted, scripted
from tests.messages_api import Answer, Asked, Blocks, Fail, Say
from tests.talks import SAID, Talk, write

UNAUTHORIZED = Fail(401, "authentication_error", "invalid x-api-key")


class Shop(Desk):
    """A repository whose sessions end turns."""

    def talk(self, session: str = "s", *texts: str) -> Talk:
        """A person says something in a session, whose turn ends."""
        talk = Talk(session)
        talk.person(*(texts or (SAID,)))
        talk.agent("I see.")
        self.queue(session, talk)
        return talk

    def queue(self, session: str, talk: Talk, *, cwd: str = "") -> None:
        now = self.world().clock()
        place = cwd or str(self.base / self.root)
        with self.memories.store.change() as connection:
            sessions.write(connection, "job", (f"Stop {now}", session, str(talk.path), place, "Stop", now))

    def set(self, key: str, value: str) -> None:
        with self.memories.store.change() as connection:
            kept.put(connection, key, value, 1)

    def worker(self, **options: object) -> Worker:
        home = self.memories.place.home.path
        return Worker(self.memories.store, self.world(), home, **options)  # type: ignore[arg-type]  # a test's shorthand

    def jobs(self) -> list[tuple[str, str, str | None]]:
        """Session, state and note of each, oldest first."""
        with self.memories.store.view() as connection:
            return many(connection, "SELECT session, state, note FROM job ORDER BY seq")

    def runs(self) -> list[Run]:
        """Oldest first."""
        with self.memories.store.view() as connection:
            return runs.log(connection)[::-1]


def lines(talk: Talk) -> list[str]:
    return talk.path.read_text(encoding="utf-8").split("\n")


@pytest.fixture
def api() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def shop(tmp_path: Path, api: Scripted) -> Iterator[Shop]:
    made = Shop(tmp_path, variables=api.environment)
    made.folder.mkdir(parents=True)
    made.sync()
    yield made
    made.close()


def test_what_a_turn_taught_is_in_the_store_in_its_file_and_in_the_index(shop: Shop, api: Scripted):
    talk = shop.talk()
    api.steps = [write(), Say("Kept one.")]
    told: list[tuple[str, RunEnd]] = []
    assert shop.worker(told=lambda job, end: told.append((job.session, end))).drain() == Drained(1)
    assert "Use bun." in shop.read("feedback_bun.md")
    assert "(feedback_bun.md)" in shop.read("MEMORY.md")
    assert shop.memories.sync().quiet
    head = shop.head("feedback_bun")
    assert head is not None
    who = shop.memories.operation(str(head.seq)).provenance
    assert (who.session, who.worktree, who.branch, who.origin) == ("s", str(shop.base / "repo"), "main", "agent")
    with shop.memories.store.view() as connection:
        ((seq, session, message),) = runs.sources(connection, head.id)
        assert (seq, session) == (head.seq, "s") and SAID in next(one for one in lines(talk) if message in one)
        cursor = runs.cursor(connection, "extract", "s")
    assert cursor is not None and cursor.offset == talk.size
    ((session, end),) = told
    assert (session, end.outcome, end.reason) == ("s", "saved", "Kept one.")
    assert shop.jobs() == [("s", "done", None)]


def test_team_memory_in_the_folder_is_shown_to_the_model_and_stays_as_it_is(shop: Shop, api: Scripted):
    place = shop.folder / "team" / "release.md"
    place.parent.mkdir()
    place.write_text("---\nname: release\ndescription: when\ntype: project\n---\nOn Mondays.\n")
    shop.talk()
    api.steps = [write("team/release"), Say("The team has it.")]
    assert shop.worker().drain() == Drained(1)
    assert "[team, project] team/release.md" in api.bodies[0]["messages"][0]["content"][0]["text"]
    assert place.read_text().endswith("On Mondays.\n") and shop.memories.memories() == []


def test_a_worker_with_nothing_to_do_asks_nobody(shop: Shop, api: Scripted):
    assert shop.worker().drain() == Drained()
    assert (api.asked, shop.runs()) == ([], [])


def test_without_a_model_jobs_wait(tmp_path: Path):
    shop = Shop(tmp_path)
    shop.sync()
    shop.talk()
    done = shop.worker().drain()
    assert done.runs == 0 and done.hold is not None
    assert str(done.hold) == (
        "no model can be asked: neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN is set"
        " (set ANTHROPIC_API_KEY in the environment in which sessions start, or install the client, whose own"
        " fork thinks where extract.via is auto or client)"
    )
    assert shop.jobs() == [("s", "waiting", None)]
    shop.close()


def test_switched_off_turns_are_passed_over_for_good_also_without_a_model(tmp_path: Path):
    shop = Shop(tmp_path)
    shop.sync()
    shop.set("extract.enabled", "false")
    talk = shop.talk()
    assert shop.worker().drain() == Drained(1)
    assert shop.jobs() == [("s", "done", None)]
    (run,) = shop.runs()
    assert (run.outcome, run.gate) == ("skipped", "off")
    with shop.memories.store.view() as connection:
        cursor = runs.cursor(connection, "extract", "s")
    assert cursor is not None and cursor.offset == talk.size
    shop.close()


def test_jobs_wait_when_the_budget_of_the_day_is_used_up_and_go_on_the_next_day(shop: Shop, api: Scripted):
    shop.set("budget.day", "0.0001")
    for session in ("one", "two", "three"):
        shop.talk(session)
    api.steps = [Say("Nothing."), Say("Nothing."), Say("Nothing.")]
    done = shop.worker().drain()
    assert done.runs == 2 and done.hold is not None  # a run costs 70 millionths
    assert done.hold.reason == "the runs of today cost $0.00014, and budget.day is $0.0001"
    assert shop.jobs()[2] == ("three", "waiting", None)
    assert shop.worker().drain().runs == 0
    shop.ahead -= 86_400  # a clock that is set back: what was spent is another day's
    assert shop.worker().drain() == Drained(1)
    shop.talk("four")
    shop.ahead += 2 * 86_400
    api.steps = [Say("Nothing.")]
    assert shop.worker().drain() == Drained(1)


def test_a_cost_that_is_not_known_uses_a_budget_up(shop: Shop, api: Scripted):
    shop.talk("one")
    api.steps = [Blocks(({"type": "text", "text": "Nothing."},), model="some-model")]
    shop.worker().drain()
    shop.set("budget.day", "5")
    shop.talk("two")
    done = shop.worker().drain()
    assert done.hold is not None and "the price of a model is not known" in done.hold.reason
    assert len(api.asked) == 1


def test_a_key_that_is_refused_holds_the_queue_until_something_changes_or_a_while_has_passed(shop: Shop, api: Scripted):
    shop.talk("s")
    shop.talk("t")
    api.steps = [UNAUTHORIZED]
    done = shop.worker().drain()
    assert done.runs == 1 and done.hold is not None and "refused the API key" in done.hold.reason
    assert [(session, state) for session, state, _ in shop.jobs()] == [("s", "waiting"), ("t", "waiting")]
    assert shop.worker().drain().hold == done.hold and len(api.asked) == 1
    shop.set("model.extract", "claude-haiku-4-5")
    api.steps = [UNAUTHORIZED]
    assert shop.worker().drain().runs == 1 and len(api.asked) == 2
    shop.ahead += 301
    api.steps = [UNAUTHORIZED]
    held = shop.worker().drain()
    assert held.runs == 1 and held.hold is not None and "in 30 min" in held.hold.step
    shop.ahead -= 10_000  # a clock that was set back holds nobody for ever
    api.steps = [Say("Nothing."), Say("Nothing.")]
    assert shop.worker().drain() == Drained(2)
    assert standing(shop.memories.store, shop.memories.place.home.path, shop.world()).hold is None
    assert {state for _, state, _ in shop.jobs()} == {"done"}


@pytest.mark.parametrize("scope", ["store", "worktree", "session"])
def test_in_a_pause_what_waits_goes_on_waiting_and_is_looked_at_after_it(shop: Shop, api: Scripted, scope: str):
    talk, key = shop.talk(), {"store": "", "session": "s", "worktree": str(shop.base / "repo")}[scope]
    with shop.memories.store.change() as connection:
        sessions.write(connection, "pause", (scope, key, shop.world().clock()))
    done = shop.worker().drain()
    assert (done.runs, api.asked, [row[1] for row in shop.jobs()]) == (0, [], ["waiting"])
    found = standing(shop.memories.store, shop.memories.place.home.path, shop.world())
    assert found.resting == {"s"} and (found.hold is None) == (scope != "store")
    assert found.hold == done.hold
    with shop.memories.store.change() as connection:
        sessions.write(connection, "resume", (scope, key))
    api.steps = [write(), Say("Kept one.")]
    assert shop.worker().drain() == Drained(1)
    assert "Use bun." in shop.read("feedback_bun.md") and talk.path.exists()
    assert standing(shop.memories.store, shop.memories.place.home.path, shop.world()).resting == frozenset()


def test_the_pause_of_one_session_is_no_other_s(shop: Shop, api: Scripted):
    shop.talk("s")
    shop.talk("other", "from now on run the tests with pytest")
    with shop.memories.store.change() as connection:
        sessions.write(connection, "pause", ("session", "s", shop.world().clock()))
    api.steps = [Say("Nothing to keep.")]
    assert shop.worker().drain() == Drained(1)
    assert [(session, state) for session, state, _ in shop.jobs()] == [("s", "waiting"), ("other", "done")]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("extract.turns", "many", "extract.turns cannot be 'many'"),
        ("extract.enabled", "perhaps", "extract.enabled cannot be 'perhaps'"),
        ("extract.via", "client", "the client's program is not at "),
        ("budget.day", "much", "budget.day cannot be 'much'"),
    ],
)
def test_what_is_set_wrongly_is_no_job_s_fault(shop: Shop, api: Scripted, key: str, value: str, told: str):
    shop.talk()
    shop.set(key, value)
    done = shop.worker().drain()
    assert done.hold is not None and told in done.hold.reason and done.hold.step
    assert shop.jobs() == [("s", "waiting", None)]
    with shop.memories.store.change() as connection:
        kept.remove(connection, key)
    api.steps = [Say("Nothing.")]
    assert shop.worker().drain() == Drained(1)


def test_an_address_that_is_none_is_no_job_s_fault(shop: Shop):
    shop.talk()
    shop.variables["ANTHROPIC_BASE_URL"] = "localhost:4000"
    done = shop.worker().drain()
    assert done.hold is not None and "ANTHROPIC_BASE_URL is no address of a server" in done.hold.reason
    assert shop.jobs() == [("s", "waiting", None)]


def test_what_fails_waits_for_its_next_try_and_others_are_done_meanwhile(shop: Shop, api: Scripted):
    shop.talk("one")
    shop.talk("two")
    busy = Fail(529, "overloaded_error", "Overloaded", {"x-should-retry": "false"})
    api.steps = [busy, Say("Nothing.")]
    assert shop.worker().drain() == Drained(2)
    (one, state, note), two = shop.jobs()
    assert (one, state) == ("one", "waiting") and note and "529" in note
    assert two == ("two", "done", None)
    assert shop.worker().drain() == Drained(0)
    shop.ahead += 61
    api.steps = [Say("Nothing.")]
    assert shop.worker().drain() == Drained(1)


def during(act: Callable[[], object], answer: Answer) -> Callable[[Asked], Answer]:
    """Something that happens while the model thinks."""

    def step(_: Asked) -> Answer:
        act()
        return answer

    return step


def test_of_two_workers_one_works(shop: Shop, api: Scripted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memstore.extracting._WAIT", 0.05)
    shop.talk("one")
    shop.talk("two")
    others: list[Drained] = []

    def another() -> None:
        other = shop.open()  # of this thread, as stores are
        others.append(Worker(other.store, shop.world(), other.place.home.path).drain())
        other.close()

    api.steps = [during(another, write()), Say("Kept one."), Say("Nothing.")]
    assert shop.worker().drain() == Drained(2)
    assert others == [Drained(elsewhere=True)]
    assert [run.state for run in shop.runs()] == ["done", "done"]


def test_one_that_waited_for_the_other_s_end_takes_what_came_too_late_for_it(shop: Shop, api: Scripted):
    """The first one has looked for the last time when the job comes, and has not given its turn back yet."""
    shop.talk("one")
    api.steps = [Say("Nothing."), Say("Nothing.")]
    done: list[Drained] = []

    def second() -> None:
        other = shop.open()
        done.append(Worker(other.store, shop.world(), other.place.home.path).drain())
        other.close()

    thread = threading.Thread(target=second)

    class Late(Worker):
        def _drained(self) -> Drained:
            first = super()._drained()
            shop.talk("two")
            thread.start()
            return first

    assert Late(shop.memories.store, shop.world(), shop.memories.place.home.path).drain() == Drained(1)
    thread.join()
    assert done == [Drained(1)]
    assert {state for _, state, _ in shop.jobs()} == {"done"}


def test_a_turn_that_ends_while_its_session_is_looked_at_makes_one_more_run(shop: Shop, api: Scripted):
    talk = shop.talk()

    def more() -> None:
        talk.person("and the tests run with bun test, mind that")
        for _ in range(3):
            other = shop.open()
            now = shop.world().clock()
            with other.store.change() as connection:
                place = str(shop.base / shop.root)
                sessions.write(connection, "job", (f"Stop {now}", "s", str(talk.path), place, "Stop", now))
            other.close()

    later = write("feedback_tests", "bun test.\n", "the tests run with bun test")
    api.steps = [during(more, write()), Say("Kept one."), later, Say("Kept another.")]
    assert shop.worker().drain() == Drained(2)
    assert shop.living() == ["feedback_bun.md", "feedback_tests.md"]
    assert "and the tests run" not in str(api.bodies[0]) and "never npm" not in str(api.bodies[2]["messages"][0])


def test_a_worktree_that_is_gone_is_still_named(shop: Shop, api: Scripted):
    gone = str(shop.base / "shop-pay")
    with shop.memories.store.change() as connection:
        sessions.write(connection, "ended", ("s", gone, "pay", 1))
    talk = shop.talk()
    shop.queue("s", talk, cwd=f"{gone}/src")
    shop.set("extract.bash", "read")
    api.steps = [write(), Say("Kept one.")]
    assert shop.worker().drain() == Drained(1)
    head = shop.head("feedback_bun")
    assert head is not None
    who = shop.memories.operation(str(head.seq)).provenance
    assert (who.session, who.worktree, who.branch, who.commit) == ("s", gone, "pay", None)
    assert "Bash" not in [tool["name"] for tool in api.bodies[0]["tools"]]


def test_a_memory_carries_the_branch_on_which_its_words_were_said(shop: Shop, api: Scripted):
    talk = Talk("s")
    talk.person(SAID, branch="topic/bun")
    shop.queue("s", talk)
    api.steps = [write(), Say("Kept one.")]
    shop.worker().drain()
    head = shop.head("feedback_bun")
    assert head is not None
    who = shop.memories.operation(str(head.seq)).provenance
    assert (who.worktree, who.branch, who.commit) == (str(shop.base / "repo"), "topic/bun", None)


def test_programs_are_started_only_where_a_setting_says_so_and_no_variable(shop: Shop, api: Scripted):
    def tools() -> list[str]:
        return [tool["name"] for tool in api.bodies[-1]["tools"]]

    shop.variables["MEMSTORE_EXTRACT_BASH"] = "read"
    shop.talk("one")
    api.steps = [Say("Nothing."), Say("Nothing.")]
    shop.worker().drain()
    assert "Bash" not in tools()
    shop.set("extract.bash", "read")
    shop.talk("two")
    shop.worker().drain()
    assert "Bash" in tools()


def test_a_worker_that_is_called_off_keeps_what_was_written_and_leaves_the_rest(shop: Shop, api: Scripted):
    shop.talk("one")
    shop.talk("two")
    off = threading.Event()
    api.steps = [during(off.set, write())]
    assert shop.worker(cancelled=off.is_set).drain() == Drained(1, called_off=True)
    assert shop.living() == ["feedback_bun.md"] and "Use bun." in shop.read("feedback_bun.md")
    assert [(session, state) for session, state, _ in shop.jobs()] == [
        ("one", "done"), ("two", "waiting"), ("one", "waiting"),
    ]  # fmt: skip
    api.steps = [Say("Nothing."), Say("That is kept already.")]
    assert shop.worker().drain() == Drained(2)
    assert "feedback_bun.md" in str(api.bodies[-1]["messages"])


def test_a_preview_shows_what_would_be_saved_and_leaves_all_as_it_was(shop: Shop, api: Scripted):
    shop.talk()
    before, files = shop.jobs(), shop.files()
    with shop.memories.store.view() as connection:
        (job,) = jobs.waiting(connection)
    api.steps = [write(), Say("Kept one.")]
    end, steps = shop.worker().preview(job)
    assert (end.outcome, end.reason) == ("saved", "Kept one.")
    assert [(step.path, step.content is not None) for step in steps] == [("feedback_bun.md", True)]
    assert (shop.living(), shop.jobs(), shop.files()) == ([], before, files)
    with shop.memories.store.view() as connection:
        assert runs.cursor(connection, "extract", "s") is None
        assert runs.cost_since(connection, 0) == (140, 0)
        assert runs.saved_untold(connection) == []
    api.steps = [write(), Say("Kept one.")]
    assert shop.worker().drain() == Drained(1)
    assert shop.living() == ["feedback_bun.md"]


def test_a_preview_without_a_model_says_what_to_do(tmp_path: Path):
    shop = Shop(tmp_path)
    shop.sync()
    shop.talk()
    with shop.memories.store.view() as connection:
        (job,) = jobs.waiting(connection)
    with pytest.raises(ModelError) as told:
        shop.worker().preview(job)
    assert "ANTHROPIC_API_KEY" in told.value.hint
    shop.close()


def test_the_worker_that_a_hook_starts_does_the_jobs(shop: Shop, api: Scripted):
    shop.talk()
    api.steps = [write(), Say("Kept one.")]
    drain(shop.memories.place.home.path, shop.memories.store.id, shop.world())
    assert shop.living() == ["feedback_bun.md"]
    directory, identity = shop.memories.store.directory, shop.memories.store.id
    with closing(Store.open(directory, identity, shop.world().clock)) as store:
        assert not jobs.are_due(store)


def test_a_job_whose_worker_is_gone_is_something_to_do(shop: Shop, api: Scripted):
    shop.talk()
    store = shop.memories.store
    with store.change() as connection:
        assert jobs.claim(connection, "extract", store.now()) is not None
    assert jobs.are_due(store)
    assert shop.worker().drain() == Drained()
    assert shop.jobs() == [("s", "waiting", "its worker ended in the middle of it")]
    assert not jobs.are_due(store)
    shop.ahead += 61
    assert jobs.are_due(store)
    api.steps = [write(), Say("Kept one.")]
    assert shop.worker().drain() == Drained(1)
    assert shop.living() == ["feedback_bun.md"]
