"""Which paths lie in the memory directory."""

from __future__ import annotations

import pytest

from memstore.jobs.forms import inside

FOLDER = "/srv/memory"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a.md", "a.md"),
        ("./a.md", "a.md"),
        ("sub/a.md", "sub/a.md"),
        (f"{FOLDER}/sub/a.md", "sub/a.md"),
        (f"{FOLDER}//a.md", "a.md"),
        (FOLDER, ""),
        ("a..b.md", "a..b.md"),
    ],
)
def test_a_path_in_the_memory_directory_is_told_from_there(given: str, found: str):
    assert inside(FOLDER, given) == found


@pytest.mark.parametrize(
    "given",
    ["/etc/passwd", "/srv/memory2/a.md", "/srv", f"{FOLDER}/../a.md", "../a.md", "a/../../b.md", "~/a.md", "..\\a.md"],
)
def test_every_other_path_leads_elsewhere_also_where_no_directory_is_known(given: str):
    assert inside(FOLDER, given) is None
    assert inside("", given) is None
