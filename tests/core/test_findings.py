"""What an examination found."""

from __future__ import annotations

from memstore.core.findings import Finding, Severity, worst


def found(severity: Severity) -> Finding:
    return Finding("any", severity, "what", "why", "mend")


def test_the_worst_of_nothing_is_nothing():
    assert worst([]) is None


def test_an_error_is_worse_than_a_warning_and_that_than_a_note():
    assert worst([found("note")]) == "note"
    assert worst([found("warning"), found("note")]) == "warning"
    assert worst([found("note"), found("error"), found("warning")]) == "error"
