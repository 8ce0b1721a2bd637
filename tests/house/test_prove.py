"""`scripts/prove`: it finds the proofs, counts what they tried, and fails where one failed or tried too little."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.proofs import hammer, histories, index_histories, kills, merge_laws, simulator
from scripts.proofs.__main__ import main, proofs
from scripts.proofs.outcome import Outcome, Size
from scripts.proofs.search import search
from scripts.proofs.simulator_disk import Disk
from scripts.proofs.simulator_process import FOLDER, Died
from scripts.proofs.simulator_world import Fault, Simulation


class Example:
    """A proof that comes to what it is told."""

    NAME = "example"
    FLOOR: Mapping[str, int] = {"tries": 3}
    FULL: Mapping[str, int] = {"tries": 30}

    def __init__(self, *failures: str) -> None:
        self.failures = list(failures)

    def run(self, size: Size, seed: int) -> Outcome:
        return Outcome({"tries": 3, "seed seen": seed}, self.failures, ["a note"])


def test_what_is_printed_is_counts_seed_seconds_and_ok(capsys: pytest.CaptureFixture[str]):
    assert main(["example", "--seed", "7"], {"example": Example()}) == 0
    head, seconds, *lines = capsys.readouterr().out.split("\n")
    assert head == "example: floor, seed 7" and seconds.endswith(" s")
    assert [line.strip() for line in lines] == ["3 tries", "7 seed seen", "a note", "ok", ""]


def test_a_proof_is_named_when_it_begins(capsys: pytest.CaptureFixture[str]):
    class Asking(Example):
        def run(self, size: Size, seed: int) -> Outcome:
            self.told = capsys.readouterr().out
            return super().run(size, seed)

    proof = Asking()
    main(["example"], {"example": proof})
    assert proof.told == "example: floor, seed 1\n"


def test_a_failure_makes_the_exit_code_one_and_is_told(capsys: pytest.CaptureFixture[str]):
    assert main([], {"example": Example("a line was lost")}) == 1
    assert "FAILED a line was lost" in capsys.readouterr().out


def test_a_count_below_its_least_is_a_failure(capsys: pytest.CaptureFixture[str]):
    assert main(["--full"], {"example": Example()}) == 1
    assert "FAILED 3 tries, and it has to be 30 at least" in capsys.readouterr().out


def test_an_unknown_name_is_refused_with_the_names_there_are(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["other"], {"example": Example()})
    assert "there is no proof other; there are example" in capsys.readouterr().err


def test_each_proof_has_counts_that_it_must_reach():
    for name, proof in proofs().items():
        assert proof.FLOOR and proof.FLOOR.keys() == proof.FULL.keys(), name
        assert all(count <= proof.FULL[key] for key, count in proof.FLOOR.items()), name


def test_a_search_meets_each_state_once_and_counts_the_ways_to_every_end():
    def moves(at: tuple[int, int]):
        return [(label, to) for label, to in (("x", (at[0] + 1, at[1])), ("y", (at[0], at[1] + 1))) if max(to) < 3]

    found = search((0, 0), moves)
    assert (len(found.states), [found.states[at] for at in found.ends], found.histories) == (9, [(2, 2)], 6)
    assert sorted(found.way_to(found.ends[0])) == ["x", "x", "y", "y"]


@pytest.mark.parametrize("fault", histories.FAULTS)
def test_a_planted_fault_loses_a_line_of_a_memory_and_the_rules_do_not(fault: str):
    assert not histories.explore(histories.FAULTS[fault]).losses
    assert histories.explore(histories.FAULTS[fault], fault).losses


@pytest.mark.parametrize("fault", index_histories.FAULTS)
def test_a_planted_fault_loses_a_line_of_the_index_and_the_rules_do_not(fault: str):
    assert not index_histories.explore(index_histories.FAULTS[fault]).losses
    assert index_histories.explore(index_histories.FAULTS[fault], fault).losses


def test_a_save_inside_the_window_of_a_client_is_counted_and_no_failure():
    found = histories.explore("EP")
    assert not found.losses and found.counted[histories.LIMITS["client"]] == 1


@pytest.mark.parametrize(
    ("field", "fault"), [(name, fault) for name in merge_laws.FIELDS for fault in merge_laws.FIELDS[name].faults]
)
def test_a_wrong_merge_breaks_a_law_and_the_real_one_does_not(field: str, fault: str):
    found = merge_laws.examine(merge_laws.FIELDS[field], 1, 100)
    assert (found.broken, found.examples) == ("", 100)
    assert merge_laws.examine(merge_laws.FIELDS[field], 1, 2_000, fault).broken


def test_a_short_race_of_editors_tools_and_projectors_loses_nothing():
    end, _ = hammer.race(1, 60)
    assert end.lost == [] and end.counts[hammer.SAVES] > 40


@pytest.mark.parametrize("trace", [True, False])
def test_a_sync_that_is_killed_at_a_call_or_at_a_named_step_comes_to_the_same_end_afterwards(trace: bool):
    found = kills.kill_all("everyday", part=3, parts=20, trace=trace)
    assert found.failures == [] and found.kills > 1


def test_a_half_written_file_is_noticed_without_tracing_as_well():
    assert any(
        "half a file" in failure for failure in kills.kill_all("everyday", "written in place", trace=False).failures
    )


def test_a_seed_of_the_simulator_gives_the_same_run(tmp_path: Path):
    first, again = (simulator.simulate(seed, str(tmp_path))[0] for seed in (7, 7))
    other, _ = simulator.simulate(8, str(tmp_path))
    assert (first.trace, first.steps, first.now) == (again.trace, again.steps, again.now)
    assert first.steps > 50 and first.trace != other.trace
    assert list(tmp_path.iterdir()) == []


SOON = (
    "rename instead of exchange", "index before topics", "temporary files unswept", "half-written files believed",
    "sessions unheard",
)  # fmt: skip


@pytest.mark.parametrize("fault", SOON)
def test_the_simulator_notices_a_planted_fault_within_a_few_seeds(fault: str):
    assert simulator.catch(fault, 1, tries=200)


def test_a_process_of_the_simulator_that_died_changes_nothing_any_more(tmp_path: Path):
    sim = Simulation(1, str(tmp_path), Fault())
    try:
        process, folder = sim.processes[0], sim.folder()
        assert folder is not None
        process.bury()
        before = dict(folder.entries)
        with pytest.raises(Died):
            process.calls.os_module().unlink(f"{FOLDER}/MEMORY.md")
        assert folder.entries == before
    finally:
        sim.close()


def test_whoever_has_a_file_of_the_simulator_open_writes_into_it_under_its_new_name():
    disk = Disk(lambda: 1_000, 1)
    folder = disk.make_directories(FOLDER)
    for name, text in (("a.md", b"old"), ("b.md", b"new")):
        disk.make_file(folder, name).data = text
    opening = disk.open(folder.entries["a.md"], writes=True)
    disk.exchange(folder, "b.md", folder, "a.md")
    disk.write(opening, b"mine")
    assert (folder.entries["a.md"].data, folder.entries["b.md"].data) == (b"new", b"mine")
