"""Feedback: a report of new behaviour is taken once, kept across runs, and checked before use."""

from __future__ import annotations

import pytest

from fuzz_core.campaign.listener import CLASS_REWARD, MAX_MEMBERS, MAX_TEST, OPERATOR_REWARD, Feedback
from fuzz_core.campaign.session import Session
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.ir.wire import NoveltyReport


def case(number: int, api: str = "fakelib.add") -> TestCase:
    return TestCase(Invocation(api, (prim(number),)), number, 1, ("Boundary Integer",))


def news(shown: str, test: TestCase, *operators: str, kind: str = "ok") -> NoveltyReport:
    return NoveltyReport(shown, kind, test, operators)


@pytest.fixture
def feedback(fakelib_session: Session) -> Feedback:
    return Feedback(fakelib_session, grow=True)


def test_only_what_nobody_knew_is_rewarded(feedback: Feedback) -> None:
    assert feedback.take("fakelib.add", news("ok 1", case(1), "add f32", "mul f32"), timed=True) == (
        CLASS_REWARD + 2 * OPERATOR_REWARD
    )
    assert feedback.take("fakelib.add", news("ok 1", case(2), "add f32"), timed=True) == 0.0
    assert feedback.take("fakelib.concat", news("ok 1", case(3, "fakelib.concat")), timed=True) == CLASS_REWARD


def test_operators_are_no_reward_where_nothing_may_depend_on_the_clock(feedback: Feedback) -> None:
    assert feedback.take("fakelib.add", news("ok 1", case(1), "add f32"), timed=False) == CLASS_REWARD
    assert feedback.operators == {("add", "f32")}


def test_what_was_saved_is_known_to_the_next_run(feedback: Feedback) -> None:
    for number in range(3):
        feedback.take("fakelib.add", news(f"ok {number}", case(number), "add f32"), timed=True)
    feedback.save(at_once=True)
    again = Feedback(feedback.session, grow=True)
    assert again.news == feedback.news
    assert [member.test for member in again.known_to("fakelib.add", 3)] == [case(number) for number in range(3)]
    assert again.operators == {("add", "f32")}
    assert again.take("fakelib.add", news("ok 1", case(7), "add f32"), timed=True) == 0.0


def test_a_lease_knows_the_members_of_its_time(feedback: Feedback) -> None:
    for number in range(3):
        feedback.take("fakelib.add", news(f"ok {number}", case(number)), timed=True)
    assert [member.test for member in feedback.known_to("fakelib.add", 2)] == [case(0), case(1)]


def test_without_growth_news_is_counted_and_nothing_joins(fakelib_session: Session) -> None:
    feedback = Feedback(fakelib_session, grow=False)
    assert feedback.take("fakelib.add", news("ok 1", case(1)), timed=True) == CLASS_REWARD
    assert feedback.members.total() == 0


def test_what_was_refused_is_news_but_no_start_for_mutants(feedback: Feedback) -> None:
    refused = news("exception ValueError bad size", case(1), kind="exception")
    assert feedback.take("fakelib.add", refused, timed=True) == CLASS_REWARD
    assert feedback.members.total() == 0


def test_the_corpus_of_an_api_is_bounded_in_members_and_in_their_size(feedback: Feedback) -> None:
    large = TestCase(Invocation("fakelib.add", (prim("x" * MAX_TEST),)), 1)
    feedback.take("fakelib.add", news("ok large", large), timed=True)
    assert feedback.members.total() == 0
    for number in range(MAX_MEMBERS + 5):
        feedback.take("fakelib.add", news(f"ok {number}", case(number)), timed=True)
    assert feedback.members.total() == MAX_MEMBERS


def test_the_kind_decides_what_joins_and_goes_on_record(feedback: Feedback) -> None:
    feedback.take("fakelib.add", news("ok, it died", case(1), kind="signal"), timed=True)
    feedback.take("fakelib.add", news("signal, it is fine", case(2)), timed=True)
    feedback.save(at_once=True)
    rows = feedback.session.store.news(feedback.session.target.key)
    assert [(row.outcome_kind, row.test is not None) for row in rows] == [("signal", False), ("ok", True)]


@pytest.mark.parametrize("test", [None, case(1, "fakelib.other")])
def test_news_of_another_api_is_refused(test: TestCase | None, feedback: Feedback) -> None:
    with pytest.raises(CodecError):
        feedback.take("fakelib.add", NoveltyReport("ok", "ok", test, ()), timed=True)
    assert not feedback.classes
