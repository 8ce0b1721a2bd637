"""Words that stand for one another."""

from __future__ import annotations

from memstore.core.kindred import forms, kindred


def test_irregular_forms_find_one_another():
    assert "go" in forms("went")
    assert "child" in forms("children")
    assert "wrote" in forms("writing")


def test_a_regular_form_is_looked_up_as_its_base():
    assert set(kindred("siblings")) == {"brother", "sister"}
    assert "postgres" in kindred("databases")
    assert kindred("fixed") == kindred("fix")


def test_a_word_is_no_kin_of_itself_and_an_unknown_one_has_none():
    assert "repository" not in kindred("repository")
    assert kindred("zyzzyva") == forms("zyzzyva") == ()
    assert kindred("锁") == forms("") == ()
