"""What the summary of a job says about issues."""

from __future__ import annotations

from issueworld import ME, START, Memory, cluster, reportable
from markdown_it import MarkdownIt

from bot.issues.doing import Done, carry_out
from bot.issues.filings import Filings
from bot.issues.planning import Plan, Rules, plan
from bot.issues.summary import SHOWN, told


def test_it_says_what_was_done_and_what_waits() -> None:
    hub, wanted = Memory(), [cluster("a"), cluster("b"), cluster("c", private=True), cluster("d", known=True)]
    made = plan(wanted, [], Filings(), Rules(daily=1, authors=frozenset({ME})), START)
    text = told(made, carry_out(hub, made, Filings(), lambda: START))
    assert "Issues: 1 filed." in text and "- #1: torch.a" in text
    assert "1 wait for a day with room:\n\n- torch.b" in text
    assert "torch.c" not in text and "1 cause may not be told here" in text


def test_a_night_without_news_is_one_line() -> None:
    assert told(Plan(), Done(Filings())) == "Issues: nothing to do.\n"


def test_much_is_cut_and_nothing_of_it_is_markup() -> None:
    hostile = "<img> @everyone\n# x | `"
    waiting = tuple(reportable(str(number), title=hostile) for number in range(SHOWN + 9))
    text = told(Plan(waiting=waiting), Done(Filings(), problems=(hostile,) * 99, left=(hostile,)))
    shown = MarkdownIt("commonmark", {"html": True}).render(text)
    assert "<img" not in shown and "<h1" not in shown and "@everyone" not in shown
    assert "- and 9 more" in text
