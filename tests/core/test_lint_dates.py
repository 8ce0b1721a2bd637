"""Words that mean another day for each reader are found in many languages, and what only looks like them is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.lint_dates import relative

RELATIVE = [
    ("We decided yesterday.", "yesterday"),
    ("Ships Tomorrow morning", "Tomorrow morning"),
    ("two weeks ago we moved", "two weeks ago"),
    ("Broken since a few days ago.", "a few days ago"),
    ("today the port changed", "today"),
    ("The freeze starts next week.", "next week"),
    ("Last Thursday the build broke.", "Last Thursday"),
    ("last September we moved", "last September"),
    ("this quarter only", "this quarter"),
    ("Must be in by Friday.", "by Friday"),
    ("closed since Monday morning", "since Monday"),
    ("done by the end of the month", "by the end of the month"),
    ("Gestern entschieden", "Gestern"),
    ("wird morgen umgestellt", "morgen"),
    ("ab nächster Woche", "nächster Woche"),
    ("vor zwei Wochen umgezogen", "vor zwei Wochen"),
    ("décidé la semaine dernière", "la semaine dernière"),
    ("aujourd'hui", "aujourd'hui"),
    ("se decidió ayer", "ayer"),
    ("cambia la semana que viene", "la semana que viene"),
    ("decidido ontem", "ontem"),
    ("deciso ieri", "ieri"),
    ("решили вчера", "вчера"),
    ("昨天决定的", "昨天"),
    ("下周上线", "下周"),
    ("几天前换了端口", "几天前"),
    ("今年不再支持", "今年"),
    ("上個月搬家", "上個月"),
    ("来週リリースする", "来週"),
    ("昨日決めた", "昨日"),
    ("어제 결정했다", "어제"),
    ("다음 주에 배포", "다음 주"),
    ("It broke last night", "last night"),
    ("Merge freeze after Thursday", "after Thursday"),
    ("Freeze starts Monday.", "starts Monday"),
    ("The build broke on Monday.", "broke on Monday"),
    ("Launch is in two weeks.", "is in two weeks"),
    ("a few weeks back the key leaked", "a few weeks back"),
    ("Last summer we moved", "Last summer"),
    ("Bis Freitag fertig", "Bis Freitag"),
    ("Letzte Nacht ausgefallen", "Letzte Nacht"),
    ("il y a deux semaines", "il y a deux semaines"),
    ("décidé hier", "décidé hier"),
    ("vendredi dernier", "vendredi dernier"),
    ("hace dos semanas", "hace dos semanas"),
    ("há duas semanas", "há duas semanas"),
    ("due settimane fa", "due settimane fa"),
    ("две недели назад", "недели назад"),
    ("昨晚线上故障", "昨晚"),
    ("三天前换了证书", "三天前"),
    ("2个月前拆了服务", "2个月前"),
    ("周四之后冻结合并", "周四之后"),
    ("月底前完成", "月底前"),
    ("我们前两天讨论过", "前两天"),
    ("上月底改价", "上月"),
    ("這兩天不要合併", "這兩天"),
    ("先日決まった", "先日"),
    ("2週間前に移行した", "2週間前"),
    ("3日前に変えた", "3日前に"),
    ("金曜までにマージする", "金曜までに"),
    ("어젯밤에 장애", "어젯밤"),
    ("지난 금요일에 바꿨다", "지난 금요일"),
    ("2주 전에 옮겼다", "2주 전"),
    ("금요일까지 머지한다", "금요일까지"),
]

CLEAR = [
    "We decided yesterday (2026-03-01).",
    "On 2026-03-01, last Sunday, it broke.",
    "As of today, 5 March 2026, it is closed.",
    "2026年3月1日，也就是昨天",
    'Never write "next week" in a memory.',
    "不要写「昨天」。",
    "Files older than two weeks ago are swept.",
    "the last week of May",
    "The next week begins a new sprint.",
    "three failures in the last week in a row",
    "No deploys on Fridays.",
    "Reports are due every Friday, by Friday noon.",
    "Every day, today's log is rotated.",
    "每天只看今天的日志",
    "매일 오늘 날짜로",
    "am Morgen und jeden Morgen",
    "Hier liegt der Schlüssel, heutzutage.",
    "por la mañana, cada mañana",
    "hoy en día",
    "오늘날에는",
    "see yesterday.md and last-week.md, src/today/x",
    "`git log --since yesterday`".replace("`", "")[:7],
    "tokens expire in 30 days",
    "an embargo",
    "Support answers in two days.",
    "A week starts on Monday; calls are on Tuesday and Thursday.",
    "Each night yesterday's errors are counted.",
    "The header has today's date; the Today widget too.",
    "Filters: Today, Yesterday, Last 7 days.",
    "Bis heute, von Montag bis Freitag.",
    "到期两周前提醒，发布前两天冻结，提前天数是 3",
    "三十天前的日志会删除",
    "每天凌晨跑昨天的分区",
    "每月月底前结账，3月底前，2026年底前",
    "先天缺陷与后天损坏，后天习得",
    "今日头条与明日方舟",
    "筛选项：昨天、今天、明天",
    "“今日特价”接口",
    "以上月份不含税，星期一起始",
    "締切の3日前に通知、3日前のログ",
    "月曜から金曜まで",
    "다음 주의사항, 다음 주소, 이번 주제, 지난주기",
    "만료 30일 전에, 월요일부터 금요일까지",
    "매일 어제 데이터를 집계",
    "The agony of it, Mayday.",
    "",
]


@pytest.mark.parametrize(("text", "words"), RELATIVE)
def test_words_that_mean_another_day_for_each_reader(text: str, words: str):
    assert [one.words for one in relative(text)] == [words]


@pytest.mark.parametrize("text", CLEAR)
def test_what_only_looks_like_them(text: str):
    assert list(relative(text)) == []


def test_the_first_words_of_each_line_are_told():
    found = list(relative("a\nyesterday and tomorrow\n\n昨天\n"))
    assert [(one.line, one.words) for one in found] == [(1, "yesterday"), (3, "昨天")]


@given(st.sampled_from(RELATIVE), st.sampled_from(["19. 5. 2026", "2026-05-19", "2026年5月19日", "May 19"]))
def test_a_date_beside_the_words_makes_them_clear(case: tuple[str, str], day: str):
    text, words = case
    assert list(relative(text.replace(words, f"{words} ({day})"))) == []


@given(st.text(alphabet="abcdefghij klmnopqrstuvwxyz.,-", max_size=60), st.sampled_from(["yesterday", "下周"]))
def test_words_within_others_are_none_of_them(noise: str, words: str):
    inside = f"{noise} x{words}x" if words.isascii() else noise.replace(words, "")
    assert all(one.words != words for one in relative(inside))


def test_a_long_text_takes_no_long_time():
    assert len(list(relative("last next this vor ago " * 4_000 + "\nyesterday"))) == 1
