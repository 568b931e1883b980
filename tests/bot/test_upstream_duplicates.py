"""Search terms for duplicates in another tracker."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from issueworld import START, cluster, reportable

from nightfuzz.bot.github.views import IssueView
from nightfuzz.bot.upstream.duplicates import duplicates, queries


def view(number: int, title: str, body: str = "") -> IssueView:
    url = f"https://github.test/u/l/issues/{number}"
    return IssueView(number, title, body, "open", None, (), "x", START, START, None, url, False)


def test_title_words_of_the_failure_api_and_kind_are_searched_for() -> None:
    assert queries(reportable("fold")) == [
        'in:title "fakelib.fold 0 RuntimeError no such thing as x in the table"',
        '"no such thing as"',
        'in:title "fakelib.fold"',
        '"fakelib.fold" INTERNAL ASSERT FAILED',
        'in:title "fold" INTERNAL ASSERT FAILED',
    ]


@given(st.text(), st.text(), st.text())
def test_nothing_from_a_worker_is_syntax(title: str, api: str, message: str) -> None:
    wanted = cluster("a", title=title, api=api, signatures={"0" * 32: f"{api}: RuntimeError: {message}"})
    for query in queries(wanted):
        assert len(query) <= 256
        assert re.fullmatch(r'(in:title )?"[\w. ]+"( crash)?', query)


def test_each_issue_is_named_once_the_oldest_first() -> None:
    wanted = reportable("fold")
    found = [view(7, wanted.title), view(3, "crash", "fakelib.fold: no such thing as that"), view(5, "other")]
    assert [(each.number, each.why) for each in duplicates(wanted, lambda query: found)] == [
        (3, "the api and the error message"),
        (7, "its title"),
    ]


def test_another_overload_of_a_word_is_no_match() -> None:
    wanted = reportable("add", kind="crash")
    assert duplicates(wanted, lambda query: [view(1, "Please add a crash handler")]) == []
    assert len(duplicates(wanted, lambda query: [view(1, "Segfault in x.add with empty input")])) == 1
