"""What is found, in which order, on a real database."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstore.core.terms import index_document, parse_query
from memstore.errors import InputRefused
from memstore.store import ddl
from memstore.store import search as search_module
from memstore.store.search import Filters, Hit, check_index, clamp_limit, rebuild_index, search

FIELDS = ("name", "description", "body")


class Shelf:
    """A migrated store with just the rows that search reads."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        for _, script in ddl.migrations():
            self.connection.execute(script)
        self.connection.execute(
            "INSERT INTO operation (seq, id, kind, digest, at, origin, author, reason)"
            " VALUES (1, 'op', 'test', x'00', 0, 'person', '', '')"
        )
        self.connection.execute("INSERT INTO text VALUES (1, x'00', x'00', '')")

    def put(
        self,
        id: str,
        name: str = "",
        description: str = "",
        body: str = "",
        *,
        type: str = "project",
        scope: str = "private",
        layer: str = "shared",
        state: str = "live",
        at: int = 0,
    ) -> None:
        self.connection.execute(
            "INSERT INTO memory (id, scope, layer, path, path_key, version, token, state, pinned, name,"
            " description, type, text, origin, listing, operation, created_at, changed_at) VALUES"
            " (?1, ?2, ?3, ?1 || '.md', ?1 || '.md', 1, 'token', ?4, 0, ?5, ?6, ?7, 1, 'person', 'listed', 1,"
            " ?8, ?8)",
            (id, scope, layer, state, name, description, type, at),
        )
        self.connection.execute(
            "INSERT INTO search_document VALUES ((SELECT pk FROM memory WHERE id = ?), ?, ?, ?)",
            (id, *index_document(name, description, body)),
        )

    def put_in(self, field: str, id: str, text: str) -> None:
        self.put(id, **{field: text})  # type: ignore[arg-type]  # the field names the text's place

    def supersede(self, old: str, by: str) -> None:
        self.connection.execute(
            "UPDATE memory SET superseded_by = (SELECT pk FROM memory WHERE id = ?) WHERE id = ?", (by, old)
        )

    def hits(self, typed: str, filters: Filters | None = None, limit: int = 20, offset: int = 0) -> list[Hit]:
        return search(self.connection, parse_query(typed), filters or Filters(), limit, offset)

    def find(self, typed: str, filters: Filters | None = None, limit: int = 20, offset: int = 0) -> list[str]:
        return [hit.id for hit in self.hits(typed, filters, limit, offset)]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    opened = Shelf(tmp_path / "store.db")
    yield opened
    opened.connection.close()


H24_BODY = (
    "Use C++20 and the multi-agent runner, don't skip node:fs; 50% off (beta), mail user@host, foo AND bar,"
    ' say "hi", a NEAR miss'
)
H24_QUERIES = [
    "C++", "multi-agent", "src/lib/i18n.ts",
    '"hi', "50%", "(beta", "user@host", "node:fs", "AND", "foo AND",
    "OR", "NOT", "NEAR(", "*", "^", "-x", "don't", "", "   ",
    "col:val", "{a}", "a + b", "\x00x", '"', 'a"b',
    "'; DROP TABLE x;--",
    "%", "_", "\\", "[x", "~", "<b>", "a" * 10000, " ".join(f"w{i}" for i in range(5000)),
    "name:foo", "foo*", "\ud800", "NEAR(foo bar, 2)", "(" * 300, "foo OR " * 5000,
    "{name}: foo", "-foo", "foo NOT bar",
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_h24_words_that_look_like_a_query_are_words(shelf: Shelf, field: str) -> None:
    shelf.put_in(field, "x", H24_BODY)
    shelf.put("other", "unrelated", "nothing of it", "quite another text")
    for typed in H24_QUERIES:
        started = time.process_time()
        shelf.find(typed)
        assert time.process_time() - started < 1
    for typed in (
        "multi-agent",
        "don't",
        "node:fs",
        "user@host",
        "50%",
        "(beta",
        "foo AND",
        '"hi',
        "C++",
        "NEAR(",
    ):
        assert shelf.find(typed) == ["x"], typed
    for typed in ("%", "_", "*", "", "   ", '"', "^", "\\", "~"):
        assert shelf.find(typed) == []


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
def test_h24_any_text_can_be_searched_for_and_finds_itself(shelf: Shelf, text: str) -> None:
    shelf.connection.execute("SAVEPOINT example")
    shelf.put("x", body=text)
    assert shelf.find(text) == (["x"] if parse_query(text).words else [])
    shelf.connection.execute("ROLLBACK TO example")
    shelf.connection.execute("RELEASE example")


def test_h24_limits_are_clamped_and_typed(shelf: Shelf) -> None:
    assert [clamp_limit(value) for value in (-1, 0, 10**9, "5", None, 7.0, 10**400)] == [
        1,
        1,
        1000,
        5,
        20,
        7,
        1000,
    ]
    for value in ("many", True, float("nan"), float("inf"), [5], b"5", "9" * 5000):
        with pytest.raises(InputRefused):
            clamp_limit(value)
    for number in range(5):
        shelf.put(f"m{number}", body="word")
    assert len(shelf.find("word", limit=-1)) == 1
    assert len(shelf.find("word", limit=10**9)) == 5
    assert len(shelf.find("word", offset=-3)) == 5


H25 = {
    "zh": "部署前先備份資料庫，然後重跑gen-itgc後檢查",
    "ja": "デプロイ前にバックアップを取る。雨の日は室内テスト",
    "ko": "배포 전에 데이터베이스를 백업한다",
    "em": "release 🚀 checklist",
    "en": "the agent generates regression data",
}
H25_EXPECTED = {
    "備份": "zh", "資料": "zh", "部署": "zh", "itgc": "zh", "バックアップ": "ja", "雨": "ja", "日": "ja",
    "백업": "ko",
    "배포": "ko", "데이터": "ko", "🚀": "em", "gen-itgc": "zh", "gen": "zh", "庫": "zh", "ﾊﾞｯｸｱｯﾌﾟ": "ja",
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_h25_short_words_in_scripts_without_spaces_are_found(shelf: Shelf, field: str) -> None:
    for id, text in H25.items():
        shelf.put_in(field, id, text)
    for typed, expected in H25_EXPECTED.items():
        assert shelf.find(typed)[:1] == [expected], typed
    assert "zh" in shelf.find("端到端備份測試")
    assert shelf.find("猫") == []


H26_BODY = (
    "load_cfg lives in pkg.mod.load_cfg, see src/lib/i18n.ts, DEC-0054, v2.10.3, C++20, C#, @scope/pkg,"
    " std::vector, HTTPServer, --no-verify, 10.9.8.7, __init__"
)
H26_QUERIES = [
    "load_cfg", "pkg.mod.load_cfg", "src/lib/i18n.ts", "i18n.ts", "DEC-0054", '"DEC-0054"', "v2.10.3", "C++",
    "C#",
    "@scope/pkg", "std::vector", "HTTPServer", "httpserver", "--no-verify", "10.9.8.7", "__init__",
    "load_cfg migration plan", "lib/i18n.ts", "mod.load_cfg", "2.10.3", "no-verify", "scope/pkg", "loadCfg",
    "http server",
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_h26_identifiers_are_found_whole_and_in_parts(shelf: Shelf, field: str) -> None:
    shelf.put_in(field, "c-only", "C is a letter; decimal 0054; verify later; load the cfg")
    shelf.put_in(field, "ids", H26_BODY)
    for typed in H26_QUERIES:
        assert shelf.find(typed)[:1] == ["ids"], typed


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Un café à Orléans", "cafe"),
        ("Un cafe\u0301", "CAFÉ"),
        ("die Straße", "strasse"),
        ("die STRASSE", "straße"),
        ("Ёлка и сервер", "елка"),
        ("перезапуск сервера", "сервер"),
        ("قاعدة البيانات", "بيانات"),
        ("كِتَاب", "كتاب"),
        ("การสำรองข้อมูล", "สำรอง"),
        ("การสำรองข้อมูล", "ข้อมูล"),
        ("东京都港区", "京都"),
        ("メモリー管理", "メモリ"),
        ("저장소는 비어 있다", "저장소"),
        ("हिन्दी में खोज", "हिन्दी"),
        ("Ελληνικά ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("用Python写的load_cfg函数", "python"),
        ("用Python写的load_cfg函数", "函数"),
        ("用Python写的load_cfg函数", "Python写"),
        ("ＡＰＩ ｋｅｙ", "api key"),
        ("he deploys slowly", "deploying"),
        ("naïve Bayes", "naive"),
        ("the \U0001fae8 face", "\U0001fae8"),
        ("\u2067hidden\u2069 mark", "hidden"),
    ],
)
def test_every_script_is_found(shelf: Shelf, text: str, typed: str) -> None:
    shelf.put("decoy", "alpha", "beta", "gamma delta")
    shelf.put("x", body=text)
    assert shelf.find(typed) == ["x"]


def test_cyrillic_short_i_is_its_own_letter(shelf: Shelf) -> None:
    shelf.put("x", body="май")
    assert shelf.find("маи") == []


def test_the_name_counts_more_than_the_description_and_that_more_than_the_body(shelf: Shelf) -> None:
    filler = "some other words that fill the text " * 5
    shelf.put("body", "alpha", "beta", f"release notes release {filler}")
    shelf.put("description", "alpha", "about the release", filler)
    shelf.put("name", "release", "beta", filler)
    for number in range(20):
        shelf.put(f"other{number}", "alpha", "beta", filler)
    assert shelf.find("release") == ["name", "description", "body"]


def test_a_whole_identifier_comes_before_its_parts(shelf: Shelf) -> None:
    shelf.put("parts", body="load cfg, load the cfg, cfg load")
    shelf.put("whole", body="the function load_cfg does it, among many other words in a rather longer text")
    assert shelf.find("load_cfg") == ["whole", "parts"]


def test_a_han_word_comes_before_a_chance_pair(shelf: Shelf) -> None:
    shelf.put("chance", body="借此机会议论一下")
    shelf.put("word", body="明天上午开会议。")
    assert shelf.find("会议") == ["word", "chance"]


def test_memories_with_all_words_come_first_then_those_with_any(shelf: Shelf) -> None:
    shelf.put("one", "migration migration", "migration", "migration")
    shelf.put("both", body="a plan for the schema, and much later in this text a migration")
    hits = shelf.hits("the migration plan")
    assert [(hit.id, hit.matched) for hit in hits] == [("both", "all"), ("one", "any")]
    assert all(hit.score > 0 for hit in hits)


def test_stop_words_find_nothing_by_themselves_in_a_sentence(shelf: Shelf) -> None:
    shelf.put("noise", body="how do I the and of to in")
    shelf.put("x", body="deploy")
    assert shelf.find("how do I deploy the thing") == ["x"]


def test_a_corrected_memory_comes_directly_after_its_correction(shelf: Shelf) -> None:
    shelf.put("old", "port", "port", "the port is 80 port port")
    shelf.put("other", "port", "", "a port of call")
    shelf.put("new", body="among many other words of a longer text, the port now")
    shelf.supersede("old", by="new")
    hits = shelf.hits("port")
    ids = [hit.id for hit in hits]
    assert ids.index("old") == ids.index("new") + 1
    assert sorted(ids) == ["new", "old", "other"]
    assert {hit.id: hit.superseded_by for hit in hits} == {"old": "new", "new": None, "other": None}


def test_a_correction_that_was_not_found_is_taken_in(shelf: Shelf) -> None:
    shelf.put("first", body="the harbour opens at nine")
    shelf.put("second", body="it opens at ten")
    shelf.put("third", body="closed for good")
    shelf.supersede("first", by="second")
    shelf.supersede("second", by="third")
    assert shelf.find("harbour") == ["third", "second", "first"]
    shelf.connection.execute("UPDATE memory SET state = 'retired' WHERE id = 'third'")
    assert shelf.find("harbour") == ["second", "first"]


def test_memories_that_correct_each_other_are_each_found_once(shelf: Shelf) -> None:
    for id in ("a", "b", "c"):
        shelf.put(id, body="harbour")
    shelf.supersede("a", by="b")
    shelf.supersede("b", by="a")
    shelf.supersede("c", by="a")
    assert sorted(shelf.find("harbour")) == ["a", "b", "c"]


def test_filters_leave_only_what_they_name(shelf: Shelf) -> None:
    shelf.put("a", body="word", type="user", at=10)
    shelf.put("b", body="word", type="feedback", scope="team", at=20)
    shelf.put("c", body="word", layer="tree", at=30)
    shelf.put("d", body="word", state="retired", at=40)
    assert sorted(shelf.find("word")) == ["a", "b", "c"]
    assert shelf.find("word", Filters(types=("user",))) == ["a"]
    assert sorted(shelf.find("word", Filters(types=("user", "feedback")))) == ["a", "b"]
    assert shelf.find("word", Filters(scopes=("team",))) == ["b"]
    assert shelf.find("word", Filters(layers=("tree",))) == ["c"]
    assert sorted(shelf.find("word", Filters(since=20))) == ["b", "c"]
    assert shelf.find("word", Filters(since=31, include_retired=True)) == ["d"]
    assert shelf.find("word", Filters(types=("'); DROP TABLE memory;--",))) == []


def test_pages_follow_one_another_without_gap_or_repeat(shelf: Shelf) -> None:
    for number in range(60):
        shelf.put(f"m{number}", body="word " * (number % 7 + 1) + ("plan" if number % 3 else ""))
    pages = [id for offset in range(0, 60, 10) for id in shelf.find("word plan", limit=10, offset=offset)]
    assert sorted(pages) == sorted(f"m{number}" for number in range(60))
    assert shelf.find("word", limit=10, offset=60) == []


def test_frequent_words_are_ranked_within_bounds(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "ROWS", 30)
    monkeypatch.setattr(search_module, "_SAMPLE", 20)
    with shelf.connection:
        for number in range(300):
            shelf.put(f"m{number}", body="common ordinary " + ("rare" if number == 7 else ""))
        shelf.put("named", "common", "", "ordinary")
    assert shelf.find("common", limit=3)[0] == "named"
    assert len(shelf.find("common", limit=25)) == 25
    assert shelf.find("ordinary common rare missing")[0] == "m7"
    assert shelf.find("ordinary missing")


def test_the_index_follows_every_change_of_a_document(shelf: Shelf) -> None:
    shelf.put("x", body="before")
    terms = index_document("n", "d", "after")
    shelf.connection.execute("UPDATE search_document SET name = ?, description = ?, body = ?", terms)
    assert shelf.find("before") == []
    assert shelf.find("after") == ["x"]
    assert check_index(shelf.connection)
    shelf.connection.execute("DELETE FROM search_document")
    assert shelf.find("after") == []
    assert check_index(shelf.connection)


def test_an_index_that_drifted_is_noticed_and_rebuilt(shelf: Shelf) -> None:
    shelf.put("x", body="word")
    shelf.connection.execute("INSERT INTO search_index (rowid, name, description, body) VALUES (99, '', '', 'ghost')")
    assert not check_index(shelf.connection)
    rebuild_index(shelf.connection)
    assert check_index(shelf.connection)
    assert shelf.find("word") == ["x"]
    assert shelf.find("ghost") == []


def test_plain_sqlite_can_search_and_write_the_index(shelf: Shelf, tmp_path: Path) -> None:
    shelf.put("x", body="部署 load_cfg 🚀 café")
    shelf.connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    copy = sqlite3.connect(tmp_path / "copy.db")
    for term in ('"部署"', '"load_cfg"', '"🚀"', '"cafe"', '"署"*'):
        assert copy.execute("SELECT rowid FROM search_index WHERE search_index MATCH ?", (term,)).fetchall() == [(1,)]
    copy.execute("UPDATE search_document SET body = 'c++ @scope/pkg \U0001fae8'")
    for term in ('"c++"', '"@scope/pkg"', '"\U0001fae8"'):
        found = copy.execute("SELECT count(*) FROM search_index WHERE search_index MATCH ?", (term,)).fetchone()
        assert cast("tuple[int]", found) == (1,)
    copy.close()
