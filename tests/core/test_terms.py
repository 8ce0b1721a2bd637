"""What a text can be found by, what a query is, and what an excerpt shows."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.excerpt import excerpt
from memstore.core.terms import MOST_WORDS, count_words, document_terms, index_document, parse_query

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=200)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("load_cfg", "load_cfg load cfg"),
        ("pkg.mod.load_cfg", "pkg.mod.load_cfg load_cfg pkg mod load cfg"),
        ("src/lib/i18n.ts,", "src/lib/i18n.ts i18n.ts src lib i18n ts"),
        ("DEC-0054.", "dec-0054 dec 0054"),
        ("v2.10.3", "v2.10.3 2.10.3 v2 10 3"),
        ("C++", "c++"),
        ("C++20", "c++20 c++ 20"),
        ("C#", "c#"),
        ("@scope/pkg", "@scope/pkg scope/pkg scope pkg"),
        ("std::vector<int>", "std::vector std vector int"),
        ("HTTPServer", "httpserver http server"),
        ("parseJSON", "parsejson parse json"),
        ("--no-verify", "--no-verify no-verify no verify"),
        ("10.9.8.7", "10.9.8.7 10 9 8 7"),
        ("__init__", "__init__ init"),
        ("50%", "50% 50"),
        ("don’t", "don't don t"),
        ("the server's", "the server"),
        ("`code`, (beta) **bold**", "code beta bold"),
        ("資料庫", "資料 料庫 庫"),
        ("雨", "雨"),
        ("後gen-itgc後檢", "後 gen-itgc gen itgc 後檢 檢"),
        ("ﾊﾞｯｸ", "バッ ック ク"),
        ("백업", "백업 업"),
        ("ไทย", "ไท ทย ย"),
        ("release 🚀!", "release 🚀"),
        ("👍🏽 ❤️ 🇩🇪", "👍 ❤ 🇩🇪"),
        ("café cafe\u0301 ÉCOLE", "cafe cafe ecole"),
        ("Straße ŁÓDŹ İstanbul", "strasse lodz istanbul"),
        ("Йод ёлка", "йод елка"),
        ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
        ("कॉपी", "कॉपी"),
        ("ＬＯＡＤ＿ＣＦＧ ﬁne", "load_cfg load cfg fine"),
        ("in\u200bvisible\u00ad", "invisible"),
        ("% _ * -- ── ###", ""),
        ("a\x00b \ud800", "a b"),
        ("", ""),
    ],
)
def test_a_text_becomes_terms(text: str, terms: str) -> None:
    assert document_terms(text) == terms


def test_the_arabic_article_does_not_hide_a_word() -> None:
    assert document_terms("الكِتاب").split() == ["الكتاب", "كتاب"]


@given(ANY_TEXT)
def test_terms_are_valid_text_parted_by_single_spaces(text: str) -> None:
    terms = document_terms(text)
    terms.encode()
    assert "" not in terms.split(" ") or terms == ""
    assert "\x00" not in terms
    assert terms == " ".join(terms.split())


@given(ANY_TEXT)
def test_every_word_of_a_text_is_a_query_that_its_terms_answer(text: str) -> None:
    document = f" {document_terms(text)} "
    for word in parse_query(text).words:
        found = any(f" {terms} " in document for terms in word.exact)
        assert found or (word.prefix and f" {word.exact[0]}" in document)


@given(ANY_TEXT)
def test_queries_hold_no_syntax_and_no_word_twice(text: str) -> None:
    query = parse_query(text)
    spelled = [word.text for word in query.words]
    assert len(spelled) == len(set(spelled))
    assert not any('"' in terms or "\x00" in terms for word in query.words for terms in (*word.exact, *word.parts))
    assert set(query.content) <= set(query.words)


def test_a_long_paste_is_bounded() -> None:
    query = parse_query(" ".join(f"w{number}" for number in range(5000)))
    assert len(query.content) == MOST_WORDS
    assert len(parse_query("備份" * 50_000).words[0].parts) <= MOST_WORDS
    assert [len(word.text) for word in parse_query("a" * 10_000).words] == [64]


def test_stop_words_count_only_when_there_is_nothing_else() -> None:
    assert [word.text for word in parse_query("how do I deploy the server").content] == ["deploy", "server"]
    assert [word.text for word in parse_query("NOT this").content] == ["not", "this"]


def test_a_run_of_han_is_a_phrase_and_its_pairs() -> None:
    (word,) = parse_query("備份測試").words
    assert word.exact == ("備份 份測 測試",)
    assert word.parts == ("備份", "份測", "測試")
    (single,) = parse_query("雨").words
    assert single.prefix


def test_a_long_text_is_worked_in_bounded_time_and_memory() -> None:
    text = "The deploy script reads load_cfg, 部署前先備份資料庫，然後重跑 HTTPServer. " * 15_000
    started = time.process_time()
    terms = document_terms(text)
    assert time.process_time() - started < 10
    tracemalloc.start()
    document_terms(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * len(terms)


@pytest.mark.parametrize("text", ["a" * 1_000_000, "aB+/" * 200_000, "a_" * 300_000, "." * 1_000_000, "é'" * 200_000])
def test_text_without_spaces_takes_linear_time(text: str) -> None:
    started = time.process_time()
    document_terms(text)
    parse_query(text)
    assert time.process_time() - started < 10


def test_a_document_has_three_columns() -> None:
    assert index_document("A b", "c_d", "é") == ("a b", "c_d c d", "e")


def marked(text: str, typed: str, width: int = 160) -> str:
    piece, spans = excerpt(text, parse_query(typed), width)
    for start, end in reversed(spans):
        piece = f"{piece[:start]}[{piece[start:end]}]{piece[end:]}"
    return piece


@pytest.mark.parametrize(
    ("text", "typed", "shown"),
    [
        ("部署前先備份資料庫", "備份", "部署前先[備份]資料庫"),
        ("重跑gen-itgc後檢查", "itgc", "重跑gen-[itgc]後檢查"),
        ("雨の日は室内テスト", "雨", "[雨]の日は室内テスト"),
        ("데이터베이스를 백업한다", "데이터", "[데이터]베이스를 백업한다"),
        ("Un cafe\u0301 à la Straße", "cafe strasse", "Un [cafe\u0301] à la [Straße]"),
        ("first\n\nHe deployed at stations", "deploying stated", "He [deployed] at stations"),
        ("C++20 and C# 50% off", "c++ c# 50%", "[C++]20 and [C#] [50%] off"),
        ("agents generate; gen runs", "gen", "agents generate; [gen] runs"),
        ("see pkg.mod.load_cfg", "load_cfg", "see pkg.mod.[load_cfg]"),
        ("\n  \n a\x00b\u202ec \n", "zzz", "a b c"),
        ("", "x", ""),
        ("only this", "%", "only this"),
    ],
)
def test_an_excerpt_shows_and_marks_the_hit(text: str, typed: str, shown: str) -> None:
    assert marked(text, typed) == shown


def test_an_excerpt_of_a_long_line_is_cut_around_the_hit() -> None:
    shown = marked("word " * 300 + "the needle here " + "word " * 300, "needle", 60)
    assert "[needle]" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 62


def test_an_excerpt_prefers_the_line_with_most_words() -> None:
    assert marked("alpha\nbeta alpha\nbeta", "alpha beta") == "[beta] [alpha]"


@given(ANY_TEXT, st.text(max_size=20), st.integers(0, 60))
def test_an_excerpt_is_one_short_line_with_ordered_spans(text: str, typed: str, width: int) -> None:
    for query in (parse_query(typed), parse_query(text[:40])):
        piece, spans = excerpt(text, query, width)
        assert len(piece) <= max(width, 8)
        assert "\n" not in piece
        piece.encode()
        edges = [edge for span in spans for edge in span]
        assert edges == sorted(set(edges))
        assert not edges or edges[-1] <= len(piece)


def test_an_excerpt_of_a_large_text_is_quick() -> None:
    started = time.process_time()
    excerpt("lorem ipsum 部署前 dolor sit\n" * 50_000, parse_query("nothing like it"))
    excerpt("w5 " * 50_000, parse_query(" ".join(f"w{number}" for number in range(100))))
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0), ("ok", 1), ("use bun please", 3), ("以后用bun", 3), ("好的", 1), ("好", 1), ("以后用", 2),
        ("src/auth/session.py", 1), ("👍 🎉", 0), ("one\ntwo\n\nthree", 3), ("네 그렇게 해", 4),
    ],
)  # fmt: skip
def test_words_are_counted_as_people_part_them_and_pairs_where_nobody_does(text: str, words: int):
    assert count_words(text, 100) == words


def test_counting_words_ends_when_there_are_enough():
    assert 3 <= count_words("word " * 100_000, 3) < 10
