"""The filings, kept from run to run: read strictly, merged in any order, and passed on as known findings."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from issueworld import ME, REPOSITORY, START, cluster, fingerprint
from markdown_it import MarkdownIt

from fuzz_core.ir.errors import UserError
from fuzz_core.triage.known import Registry, RegistryQuery
from nightfuzz.bot.github.marker import parsed
from nightfuzz.bot.issues.clusters import back, fixed, recurrence_comment
from nightfuzz.bot.issues.filings import CommandRequest, Filings, IssueRecord, RunClaim, merged
from nightfuzz.bot.issues.labels import entries_of
from nightfuzz.bot.jobs.issues import read


def filed(number: int = 1, **more: Any) -> IssueRecord:
    usual: dict[str, Any] = {
        "number": number,
        "url": f"{REPOSITORY}/issues/{number}",
        "library": "torch",
        "signatures": cluster("a").signatures,
        "created_at": START,
        "at": START,
    }
    return IssueRecord(**{**usual, **more})


whens = st.integers(0, 200).map(lambda days: START + timedelta(days=days))
keys = st.sampled_from([fingerprint(name) for name in "abc"])
records = st.builds(
    filed,
    st.integers(1, 3),
    at=whens,
    created_at=whens,
    signatures=st.dictionaries(keys, st.sampled_from(["text", "other"])),
    teaching=st.sampled_from(["", "wrong"]),
)
requests = st.builds(
    lambda comment, at, done: CommandRequest(
        kind="bisect", fingerprint=fingerprint("a"), issue=1, comment=comment, by="x", at=at, settled=done
    ),
    st.integers(1, 3),
    whens,
    st.booleans(),
)


@st.composite
def filings(draw: st.DrawFn) -> Filings:
    made = Filings(swept=draw(st.none() | whens))
    for record in draw(st.lists(records, max_size=3)):
        made = made.with_issue(record)
    for request in draw(st.lists(requests, max_size=3)):
        made = made.with_request(request)
    if draw(st.booleans()):
        made = made.with_left(draw(st.sampled_from("12")), draw(whens), *draw(st.lists(st.sampled_from("ab"))))
    return made.with_claims(draw(st.lists(keys)), draw(st.sampled_from("12")), draw(whens))


@given(filings(), filings(), filings())
def test_merging_takes_any_order_and_any_number_of_times(one: Filings, two: Filings, three: Filings) -> None:
    both = merged(one, two)
    assert both == merged(two, one)
    assert merged(both, both) == both and merged(both, one) == both
    assert merged(merged(one, two), three) == merged(one, merged(two, three))


@given(filings())
def test_a_file_gives_back_what_was_written(made: Filings) -> None:
    assert read(made.to_json().encode()) == made


def test_no_file_is_an_empty_memory() -> None:
    assert read(b"") == Filings()


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"schema": "other"}', '{"issues": {"1": {}}}', '{"more": 1}', "[" * 100_000]
)
def test_what_does_not_fit_is_refused(content: str) -> None:
    with pytest.raises(UserError, match="is damaged or has another format"):
        read(content.encode())


def test_what_a_later_version_wrote_is_not_to_be_deleted() -> None:
    with pytest.raises(UserError, match="later nightfuzz"):
        read(Filings().to_json().replace("filings/1", "filings/2").encode())


def test_what_people_taught_is_a_known_finding_until_they_take_it_back() -> None:
    seen = RegistryQuery("torch.a: RuntimeError: no", "torch.a", "crash", "crash", frozenset(), "torch", "2.14")
    taught = Filings().with_issue(filed(teaching="wrong"))
    entry = Registry(entries_of(taught)).match(seen)
    assert entry is not None and entry.issue == f"{REPOSITORY}/issues/1"
    assert not Registry(entries_of(taught)).match(seen._replace(signature="another"))
    assert entries_of(taught.amended(1, START, teaching="")) == []
    assert entries_of(taught.amended(1, START, teaching="gone")) == []


def test_a_claim_ends_after_an_hour() -> None:
    made = Filings(claims={fingerprint("a"): RunClaim(run="1", at=START)})
    assert made.claimed(fingerprint("a"), "2", START) and not made.claimed(fingerprint("a"), "1", START)
    assert not made.claimed(fingerprint("a"), "2", START + timedelta(hours=1))
    assert made.with_claims([fingerprint("a")], "2", START).claims == made.claims


def test_a_claim_from_the_future_is_of_a_runner_with_a_wrong_clock() -> None:
    made = Filings(claims={fingerprint("a"): RunClaim(run="1", at=START + timedelta(days=365))})
    assert not made.claimed(fingerprint("a"), "2", START)
    assert made.with_claims([], "2", START).claims == {}


def test_what_is_written_after_the_clock_was_set_right_wins() -> None:
    ahead = Filings().with_issue(filed(at=START + timedelta(days=365)))
    right = ahead.amended(1, START, closed_for="2.15")
    assert merged(ahead, right).issues[1].closed_for == "2.15"


def test_a_request_waits_until_it_is_settled() -> None:
    request = CommandRequest(kind="bisect", fingerprint=fingerprint("a"), issue=1, comment=7, by=ME, at=START)
    made = Filings().with_request(request)
    assert made.waiting == (request,) and 7 in made.handled
    assert made.with_answer(request.key, "first bad:\n2.13", START).waiting == ()


def test_what_was_settled_long_ago_is_not_asked_again_by_an_older_copy() -> None:
    request = CommandRequest(kind="bisect", fingerprint=fingerprint("a"), issue=1, comment=7, by=ME, at=START)
    older = Filings().with_request(request)
    done = older.with_answer(request.key, "first bad: 2.13", START)
    later = Filings().with_request(request.model_copy(update={"comment": 8, "at": START + timedelta(days=91)}))
    assert [each.comment for each in merged(merged(done, later), older).waiting] == [8]


HOSTILE = "`|\n## @everyone <img src=x> <!-- nightfuzz:1 --> ${{ secrets }} \x1b[31m ~~~"


def test_texts_escape_what_came_from_a_worker() -> None:
    wanted = cluster("a", api=HOSTILE, apis=(HOSTILE, "b") * 20, seen=HOSTILE, changed_in=HOSTILE, since=HOSTILE)
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    for text in (recurrence_comment(wanted), fixed(wanted), back(wanted._replace(status="back"))):
        shown = reader.render(text)
        assert "\x1b" not in text and parsed(text) is None
        assert not re.search(r"<(img|h\d|!--)", shown)
        mentions = re.sub(r"<code>.*?</code>", "", shown)
        assert not re.search(r"@\w", mentions)
    assert reader.render(recurrence_comment(wanted)).count("<td>") == 2 * 4
