"""`sync`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run

TOPIC = "---\nname: found\ndescription: by hand\ntype: user\n---\n\ntext\n"


@pytest.fixture
def given(folder: Path) -> Path:
    """A memory folder that was there before memstore."""
    folder.mkdir(parents=True)
    (folder / "found.md").write_text(TOPIC)
    (folder / "MEMORY.md").write_text("# Mine\n\n- [Found](found.md) — by hand\n")
    return folder


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.md")}


def test_the_first_sync_takes_a_folder_over_and_changes_no_byte(run: Run, given: Path):
    before = _bytes(given)
    done = run("sync")
    assert done.code == 0
    assert "found.md" in done.out
    assert "met for the first time" in done.out
    assert _bytes(given) == before
    assert run("show", "found", "--json").json["content"] == TOPIC
    assert run("sync", "--json").json["files"]["absorbed"] == []


def test_a_dry_run_says_what_would_happen_and_does_nothing(run: Run, given: Path):
    run("sync")
    (given / "new.md").write_text(TOPIC.replace("found", "new"))
    would = run("sync", "--dry-run", "--json").json
    assert would["dry_run"] is True
    assert [noted["path"] for noted in would["files"]["absorbed"]] == ["new.md"]
    assert "1 file would be taken in" in run("sync", "--dry-run").out
    assert len(run("sync", "--dry-run", "--json").json["files"]["absorbed"]) == 1


def test_a_folder_of_another_store_is_refused_with_code_5_and_both_named(run: Run, given: Path, tmp_path: Path):
    run("sync")
    twin = tmp_path / "twin"
    (twin / ".git").mkdir(parents=True)
    (given / ".memstore").write_text(
        (given / ".memstore").read_text().replace(run("where", "--json").json["store"], "another")
    )
    refused = run("sync")
    assert refused.code == 5
    assert str(given) in refused.err
    assert run("write", "note", "text").code == 0


def test_many_files_gone_stop_it_until_a_person_decides(run: Run, folder: Path):
    for number in range(12):
        run("write", f"note-{number}", "text")
    for path in folder.glob("note-*.md"):
        path.unlink()
    for verdict in ("--accept", "--restore"):
        assert f"`memstore sync {verdict}`" in run("sync", "--dry-run").err
        assert f"`memstore sync {verdict}`" in run("sync", "--dry-run", "--json").json["files"]["notices"][0]
    stopped = run("sync")
    assert stopped.code == 5
    assert "--restore" in stopped.err or "restore" in stopped.err
    assert run("sync", "--restore").code == 0
    assert len(list(folder.glob("note-*.md"))) == 12


def test_what_is_put_back_is_not_counted_as_taken_in(run: Run, folder: Path):
    for number in range(12):
        run("write", f"note-{number}", "text")
    (folder / "MEMORY.md").unlink()
    assert "0 files would be taken in, 1 would be put back, 0 would be brought up" in run("sync", "--dry-run").out
    assert "\n0 files taken in, 1 put back, 0 brought up to date in " in run("sync").out
    for path in folder.glob("note-*.md"):
        path.unlink()
    restored = run("sync", "--restore").out
    assert "put back  " in restored and "\n0 files taken in, 12 put back, 0 brought up to date in " in restored
    (folder / "MEMORY.md").unlink()
    (folder / "note-1.md").write_text("other words\n")
    assert "\n1 file taken in, 1 put back, 0 brought up to date in " in run("sync").out
    (folder / "MEMORY.md").unlink()
    assert "put back:   MEMORY.md\n" in run("status").out


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("link", "it is a link that leaves the folder; replace the link by a plain file or move it away, then"),
        ("directory", "it is a directory; move it away, then run `memstore sync`"),
        ("FIFO", "it is a FIFO; move it away, then run `memstore sync`"),
        ("hard link", "it is a hard link: the same file has another name; replace it by a copy of its own, then"),
        ("latin-1", "line 1 is not UTF-8, so the file is left as it is; save it as UTF-8, then run `memstore sync`"),
    ],
)
def test_what_cannot_be_written_over_is_told_with_the_step_that_mends_it(
    run: Run, folder: Path, tmp_path: Path, kind: str, told: str
):
    run("write", "note", "text")
    index = folder / "MEMORY.md"
    content = index.read_bytes()
    index.unlink()
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_bytes(content)
    if kind == "link":
        index.symlink_to(elsewhere)
    elif kind == "directory":
        index.mkdir()
    elif kind == "FIFO":
        os.mkfifo(index)
    elif kind == "hard link":
        os.link(elsewhere, index)
    else:
        index.write_bytes("- [note](note.md) - caf\u00e9\n".encode("latin-1"))
    done = run("write", "more", "text")
    assert done.code == 0 and f"not projected: MEMORY.md: {told}" in done.err
    assert "tries again" not in done.err
    pending = run("sync", "--json").json["files"]["pending"]
    assert [(one["path"], told.startswith(f"{one['reason']}; ")) for one in pending] == [("MEMORY.md", True)]
    assert pending[0]["step"].endswith(", then run `memstore sync`")
    # The step does mend it.
    if kind == "directory":
        index.rmdir()
    elif kind == "latin-1":
        index.write_text(index.read_bytes().decode("latin-1"))
    else:
        index.unlink()
        index.write_bytes(content)
    mended = run("sync")
    assert (mended.code, mended.err) == (0, "")
    assert "more.md" in index.read_text()


def test_a_dry_run_takes_no_verdict(run: Run):
    assert run("sync", "--dry-run", "--accept").code == 2


def test_sync_names_what_waits_for_trust(run: Run, repo: Path):
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_text('{"autoMemoryDirectory": "/tmp/elsewhere"}')
    refused = run("sync")
    assert refused.code == 5
    assert "memstore trust" in refused.err
    assert run("sync", "--json").json["files"]["folder"] is None
