"""The report for a library's own tracker, and its preview for a person."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from issueworld import cluster, reportable
from markdown_it import MarkdownIt

from fuzz_core.adapters.disclosure import disclosure_of
from fuzz_core.adapters.library import Disclosure
from fuzz_core.ir.errors import UserError
from nightfuzz.bot.issues.labels import APPROVE
from nightfuzz.bot.upstream.advisory import content, instructions
from nightfuzz.bot.upstream.draft import LONGEST, ReportText, TrackerSearch, draft, refuse, rules_of, shown, text_of
from nightfuzz.bot.upstream.duplicates import Duplicate
from nightfuzz.reports.case import UNSEARCHED

POLICY = Disclosure("o/fakelib", True, "ask first", {}, refused_apis=("fakelib.raw.*",))


def reason(policy: Disclosure = POLICY, **more: object) -> str:
    wanted = reportable("a", **more)
    try:
        refuse(wanted, policy, text_of(wanted))
    except UserError as error:
        return error.problem
    return ""


def test_a_whole_report_of_a_public_bug_is_fine() -> None:
    assert reason() == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"private": True}, "not reported in public"),
        ({"known": True}, "known already"),
        ({"status": "fixed"}, "fixed"),
        ({"validity": "invalid"}, "input"),
        ({"batched": True}, "input"),
        ({"api": "fakelib.raw.a", "apis": ("fakelib.raw.b",)}, "only fakelib.raw.* shows: "),
        ({"body": "see title"}, "lacks a standalone script"),
        (
            {"title": "fakelib.a(1): result 1 with non-contiguous tensors, 2 with contiguous tensors"},
            "by which rules results were compared",
        ),
    ],
)
def test_what_is_refused(more: dict[str, object], said: str) -> None:
    assert said in reason(**more)


def test_raw_apis_are_fine_where_another_shows_it_too() -> None:
    assert reason(api="fakelib.raw.a", apis=("fakelib.b",)) == ""


def test_a_tracker_that_says_no_is_left_alone() -> None:
    assert "does not take reports of bugs that a fuzzer found: ask first" in reason(POLICY._replace(accepts=False))


def test_what_a_draft_cannot_show_whole_is_refused() -> None:
    assert "longer than" in reason(body=reportable("a").body + "x" * LONGEST)


def test_our_issue_is_named_where_others_may_see_it() -> None:
    assert text_of(reportable("a"), "https://x.test/1").body.endswith("Tracked where it was found: https://x.test/1")
    assert "https" not in text_of(reportable("a")).body


lines = st.lists(st.text() | st.sampled_from(["```", "````text", "~~~", "### Title", "@everyone", "<!--"])).map(
    "\n".join
)


@given(st.text(), lines)
def test_a_draft_shows_each_sign_or_is_refused(title: str, body: str) -> None:
    text = text_of(cluster("a", title=title, body=body))
    page = draft(text, POLICY, 7)
    try:
        refuse(reportable("a", title=title, body=body), POLICY, text)
    except UserError:
        return
    assert shown(page) == text


@given(lines)
def test_nothing_in_a_draft_calls_anybody(body: str) -> None:
    page = draft(text_of(cluster("a", body=f"{body}\n@everyone o/r#1 <img>")), POLICY, 7)
    tokens = MarkdownIt("commonmark", {"html": True}).parse(page)
    outside = [token.content for token in tokens if token.type in ("inline", "html_block")]
    assert not any("@everyone" in each or "o/r#1" in each or "<img>" in each for each in outside)
    assert any(APPROVE in each for each in outside)


def test_an_edited_draft_shows_another_text() -> None:
    text = ReportText("t", "line\nline")
    page = draft(text, POLICY, 7)
    assert shown(page.replace("\n", "\r\n")) == text
    changed = shown(page.replace("line\nline", "other"))
    assert changed is not None and changed.digest != text.digest
    assert shown("nothing") is None


def test_a_library_without_rules_is_refused() -> None:
    assert rules_of(reportable("a", api="torch.add")).repository == "pytorch/pytorch"
    with pytest.raises(UserError, match="has no rules for the tracker"):
        rules_of(reportable("a", api="mxnet.add"))


def test_a_draft_lists_similar_issues_in_code_and_what_only_a_person_can_do() -> None:
    rules = POLICY._replace(human_part="why it matters", umbrella=7, confirmations=("I have searched",))
    found = TrackerSearch([Duplicate(3, "a @person crashes", "its title")])
    page = draft(text_of(reportable("a")), rules, 1, found, "the rules were read in 2020")
    for words in (
        "`o/fakelib#3` (its title): `a @person crashes`",
        "`o/fakelib#7`",
        "why it matters",
        "I have searched",
    ):
        assert words in page
    assert "Warning: the rules were read in 2020" in page
    assert "has not been searched" in draft(text_of(reportable("a")), POLICY, 1)
    assert "No issue in `o/fakelib` looks the same" in draft(text_of(reportable("a")), POLICY, 1, TrackerSearch())


def test_the_text_says_what_was_searched_and_no_more_that_nothing_was() -> None:
    body = f"Not checked:\n\n- {UNSEARCHED}\n- other hardware"
    day = datetime(2026, 11, 25, tzinfo=UTC)
    text = text_of(reportable("a", body=body), searched=TrackerSearch().sentence("o/fakelib", day)).body
    assert "Searched o/fakelib on 2026-11-25" in text and "no issue looks the same" in text
    assert UNSEARCHED not in text and "- other hardware" in text
    assert (
        UNSEARCHED
        in text_of(reportable("a", body=body), searched=TrackerSearch(done=False).sentence("o/fakelib", day)).body
    )


def test_written_instructions_say_where_and_that_it_is_private() -> None:
    text = instructions("title\x1b", "body", disclosure_of("tf.add"), "tensorflow")
    assert "g.co/vulnz" in text and "Private" in text and "\x1b" not in text
    assert "SECURITY.md" in instructions("title", "body", None, "mxnet")


def test_a_private_report_keeps_to_the_limits() -> None:
    summary, description = content("t" * 5_000, "b" * 200_000)
    assert len(summary) <= 1024 and len(description) <= 65_535
