"""A report for another tracker: the tracker's fields, the report's text, and the draft that shows this text.

`/nightfuzz upstream` asks for a draft in our own repository. A draft mentions no person, and is filed to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from fuzz_core.adapters.disclosure import disclosure_of, outdated
from fuzz_core.adapters.library import Disclosure
from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import digest, marked, marker_of
from nightfuzz.bot.issues.clusters import ClusterReport, Umbrella
from nightfuzz.bot.issues.filings import DraftRecord, Filings, IssueRecord
from nightfuzz.bot.issues.labels import APPROVE, DRAFT, LABELS
from nightfuzz.bot.upstream.duplicates import Duplicate, duplicates
from nightfuzz.reports.case import UNSEARCHED
from nightfuzz.reports.issues import missing_parts
from nightfuzz.reports.markdown import counted, escaped, fenced
from nightfuzz.reports.text import TITLE, bounded, clean, span

# Characters of a report's text in a draft, which leave room for the words that the draft adds.
LONGEST = 60_000
SHOWN_DUPLICATES = 10
_BLOCK = re.compile(r"^(?P<fence>`{3,})(?:text|markdown)\n(?P<text>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL)
Mode = Literal["off", "draft", "approved"]
RulesOf = Callable[[str], Disclosure | None]


def rules_of(report: ClusterReport | Umbrella, known: RulesOf = disclosure_of) -> Disclosure:
    """Return the rules of the tracker that takes a report.

    Raises:
        UserError: the tracker of the api is not known.
    """
    rules = known(report.api)
    if rules is None:
        remedy = "add a `Disclosure` to the library's profile.py (docs/how-to/upstream.md)"
        raise UserError(f"nightfuzz has no rules for the tracker of {report.library}", remedy)
    return rules


class ReportText(NamedTuple):
    """A report as it is filed, without the hidden line that identifies it."""

    title: str
    body: str

    @property
    def digest(self) -> str:
        """Digest of the text that a label approves."""
        return digest("upstream", self.title, self.body)


def text_of(report: ClusterReport, tracked: str = "", searched: str = "") -> ReportText:
    """Return the report of a bug for its library's tracker.

    Args:
        report: the bug's cluster.
        tracked: the address of our own issue, if that issue is public.
        searched: the search terms and the issues found; replaces the sentence that no tracker was searched.
    """
    body = clean(report.body).replace("\r\n", "\n").strip()
    if searched:
        # The body was written before anybody searched.
        body = body.replace(f"- {escaped(UNSEARCHED)}\n", "")
        body = body.replace("Not checked:\n", f"{searched}\n\nNot checked:\n", 1)
    more = f"\n\nTracked where it was found: {tracked}" if tracked else ""
    return ReportText(bounded(report.title, TITLE), body + more)


def list_of(batch: Umbrella) -> ReportText:
    """Return the bugs of a library that have no issue of their own, as a comment for its tracker's umbrella issue."""
    return ReportText(bounded(batch.title, TITLE), clean(batch.comment).replace("\r\n", "\n").strip())


def refuse_list(batch: Umbrella, rules: Disclosure, text: ReportText) -> None:
    """Raise UserError if a list of bugs is not to be reported there, and say why."""
    _raise_first(
        {
            f"{rules.repository} does not take reports of bugs that a fuzzer found: {rules.why}": not rules.accepts,
            f"no issue of {rules.repository} collects bugs of {batch.library} that are not reported alone": (
                rules.umbrella == 0
            ),
            **_unshowable(text, rules),
        }
    )


def refuse(report: ClusterReport, rules: Disclosure, text: ReportText) -> None:
    """Raise UserError if the bug is not to be reported there, and say why."""
    apis = (report.api, *report.apis)
    lacking = missing_parts(f"{text.title}\n\n{text.body}", report.library)
    reasons = {
        # A private bug is refused first, in words that reveal no detail.
        "this bug is not reported in public": report.private,
        f"{rules.repository} does not take reports of bugs that a fuzzer found: {rules.why}": not rules.accepts,
        "this bug is known already": report.known,
        "this bug is fixed": report.status == "fixed",
        "the library does not allow the input of this bug": report.validity == "invalid" or report.batched,
        f"{rules.repository} takes no bug that only {', '.join(rules.refused_apis)} shows: {rules.why}": not any(
            map(rules.takes, apis)
        ),
        f"the report lacks {', '.join(lacking)}": bool(lacking),
        **_unshowable(text, rules),
    }
    _raise_first(reasons)


def _unshowable(text: ReportText, rules: Disclosure) -> dict[str, bool]:
    return {
        f"the text of the report is longer than {LONGEST} characters, so a draft cannot show all of it": len(text.body)
        > LONGEST,
        "the text of the report cannot be shown unchanged in a draft": shown(draft(text, rules, 1)) != text,
    }


def _raise_first(reasons: Mapping[str, bool]) -> None:
    for reason, holds in reasons.items():
        if holds:
            raise UserError(reason, "read in docs/explanation/issues.md which bugs are reported upstream")


class TrackerSearch(NamedTuple):
    """The result of a search in a tracker.

    Attributes:
        found: issues that may report the bug.
        done: whether it answered.
    """

    found: Sequence[Duplicate] = ()
    done: bool = True

    def sentence(self, repository: str, now: datetime) -> str:
        """Return the sentence about the search for the report; empty if the tracker did not answer."""
        if not self.done:
            return ""
        result = f"a person compared {counted(self.found, 'issue')}" if self.found else "no issue looks the same"
        words = "title, error message, frames and api"
        return f"Searched {escaped(repository)} on {now:%Y-%m-%d} for the same {words}: {result}."


NOT_YET = TrackerSearch(done=False)


def search(hub: Hub, report: ClusterReport, repository: str) -> TrackerSearch:
    """Search a public tracker for reports of a bug."""
    try:
        found = duplicates(report, lambda query: hub.search_issues(f"repo:{repository} is:issue {query}", 20))
    except RefusedError:
        return TrackerSearch(done=False)
    return TrackerSearch(found)


def candidates(found: Sequence[Duplicate], repository: str) -> str:
    """Return the issues as a list, in code so that GitHub notifies no person there."""
    listed = [f"- {span(f'{repository}#{each.number}')} ({each.why}): {span(each.title)}" for each in found]
    more = [f"- and {len(found) - SHOWN_DUPLICATES} more"] if len(found) > SHOWN_DUPLICATES else []
    return "\n".join([*listed[:SHOWN_DUPLICATES], *more])


def draft(
    text: ReportText,
    rules: Disclosure,
    source: int,
    looked: TrackerSearch = NOT_YET,
    warning: str = "",
    under: int = 0,
) -> str:
    """Return the body of a draft.

    The draft shows each character of the text that would be filed.

    Args:
        under: the number of the issue there that gets the text as a comment, without its title.
    """
    what = f"the comment that nightfuzz would write under {span(f'{rules.repository}#{under}')}"
    what = what if under else f"the report that nightfuzz would file in {span(rules.repository)}"
    page = rules.sources["why"].page if "why" in rules.sources else ""
    rule = f" ({page})" if page else ""
    return "\n\n".join(
        [
            f"This is {what} about #{source}. nightfuzz files the text only after a person with write access has read "
            f"the text and given this issue the label `{APPROVE}`. Before filing, nightfuzz checks that the newest "
            "build shows the bug, and searches the tracker for reports of the bug.",
            f"Rules of {span(rules.repository)}: {escaped(rules.why)}{rule}.",
            *_reader_notes(rules, looked, warning),
            f"nightfuzz does not file an edited text. To get a new text, comment `/nightfuzz upstream` in #{source}. "
            "To file no report, close this issue.",
            "### Title",
            fenced(text.title, "text"),
            "### Text",
            fenced(text.body, "markdown"),
        ]
    )


def _reader_notes(rules: Disclosure, looked: TrackerSearch, warning: str) -> list[str]:
    """Return notes for the person who approves; they are no part of the text."""
    human = f"Add below the report, in your own words, {rules.human_part}." if rules.human_part else ""
    place = span(f"{rules.repository}#{rules.umbrella}")
    umbrella = f"Crashes on bad input are collected in {place}." if rules.umbrella else ""
    similar = f"Compare these issues first:\n\n{candidates(looked.found, rules.repository)}" if looked.found else ""
    nothing = f"No issue in {span(rules.repository)} looks the same." if looked.done and not looked.found else ""
    unread = "" if looked.done else f"{span(rules.repository)} has not been searched yet."
    boxes = "The form asks you to confirm: " + "; ".join(map(span, rules.confirmations)) if rules.confirmations else ""
    newest = f"{span(rules.repository)} refuses reports about older versions." if rules.newest_only else ""
    old = f"Warning: {escaped(warning)}." if warning else ""
    return [line for line in (similar, nothing, unread, newest, umbrella, human, boxes, old) if line]


def shown(body: str) -> ReportText | None:
    """Return the text that a draft shows now; None for an issue that is no draft any more."""
    blocks = [found["text"] for found in _BLOCK.finditer(body.replace("\r\n", "\n"))]
    return ReportText(blocks[0], blocks[1]) if len(blocks) >= 2 else None


def write_draft(
    hub: Hub,
    mode: Mode,
    known: RulesOf,
    reports: Mapping[str, ClusterReport],
    batches: Sequence[Umbrella],
    now: datetime,
    record: IssueRecord,
    filings: Filings,
) -> tuple[Filings, str]:
    """Write or rewrite the draft of an issue's bug.

    Args:
        hub: our own repository.
        mode: the upstream mode of the inputs.
        known: the rules of the tracker for an api.
        reports: clusters by the fingerprint of any member.
        batches: for an umbrella issue, whose list becomes a comment.
        now: the time.
        record: the issue's record.
        filings: the memory before.

    Returns:
        The new memory, and the answer for people.

    Raises:
        UserError: the bug must not be reported.
    """
    if mode == "off":
        raise UserError("reports to other repositories are switched off", "set the input upstream to draft or approved")
    if record.kind == "umbrella":
        return _write_list(hub, known, batches, now, record, filings)
    report = next((reports[key] for key in record.signatures if key in reports), None)
    if report is None:
        raise UserError(
            "this bug is no longer in the state", "write the command again after a run has found the bug again"
        )
    before = filings.drafts.get(record.fingerprint)
    if before is not None and before.url:
        return filings, f"the report is already filed: {before.url}"
    rules = rules_of(report, known)
    looked = search(hub, report, rules.repository)
    text = text_of(report, "" if hub.is_private() else record.url, looked.sentence(rules.repository, now))
    refuse(report, rules, text)
    return _put(hub, rules, text, looked, 0, now, record, record.fingerprint, filings)


def _write_list(
    hub: Hub, known: RulesOf, batches: Sequence[Umbrella], now: datetime, record: IssueRecord, filings: Filings
) -> tuple[Filings, str]:
    """Make the draft of a comment with an umbrella issue's bugs.

    Another list takes the place of one that is filed.
    """
    # An item can have a report of its own one day.
    key = digest("umbrella", record.fingerprint)
    batch = next((each for each in batches if each.library == record.library), None)
    if batch is None:
        raise UserError(
            "the state no longer has any bug of this list",
            "write the command again after a run has found one of these bugs again",
        )
    rules = rules_of(batch, known)
    text, before = list_of(batch), filings.drafts.get(key)
    if before is not None and before.url and before.text == text.digest:
        return filings, f"the report is already filed: {before.url}"
    refuse_list(batch, rules, text)
    return _put(hub, rules, text, NOT_YET, rules.umbrella, now, record, key, filings)


def _put(
    hub: Hub,
    rules: Disclosure,
    text: ReportText,
    looked: TrackerSearch,
    under: int,
    now: datetime,
    record: IssueRecord,
    key: str,
    filings: Filings,
) -> tuple[Filings, str]:
    """File or rewrite the draft of a text.

    An approval of an earlier text no longer counts.
    """
    marker = marker_of("draft", key, also=(text.digest,))
    title, warning = bounded(f"Draft: {text.title}", 200), outdated(rules, now.date())
    body = draft(text, rules, record.number, looked, warning, under)
    hub.ensure_labels(LABELS)
    view = hub.create_issue(marker, title, body, (DRAFT,))
    if view.body.replace("\r\n", "\n") != marked(body, marker) or view.state != "open":
        hub.remove_label(view.number, APPROVE)
        hub.edit_issue(view.number, title=title, body=marked(body, marker), state="open")
    made = DraftRecord(
        number=view.number, source=record.number, upstream=rules.repository, under=under, text=text.digest, at=now
    )
    return filings.with_draft(key, made), f"drafted in #{view.number}"
