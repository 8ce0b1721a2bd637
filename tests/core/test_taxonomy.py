from __future__ import annotations

from memstore.core.frontmatter import compose, read
from memstore.core.taxonomy import DEFAULT_TYPE, TYPES


def test_each_type_is_read_as_it_is_written_and_a_new_memory_gets_one_of_them() -> None:
    assert [read(compose("a", "b", kind, "text")).type for kind in TYPES] == list(TYPES)
    assert DEFAULT_TYPE in TYPES


def test_an_unknown_type_is_kept_as_it_is() -> None:
    assert read(compose("a", "b", "recipe", "text")).type == "recipe"
