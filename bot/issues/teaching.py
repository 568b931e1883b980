"""What people have said of an issue by a label or by how they closed it, and the known findings that follow from it."""

from __future__ import annotations

from fuzz_core.triage.known import Known
from nightfuzz.bot.github.views import IssueView
from nightfuzz.bot.issues.filings import Filed, Filings, Taught
from nightfuzz.bot.issues.labels import TEACHING

_CLOSED: dict[str | None, Taught] = {"not_planned": "declined", "duplicate": "duplicate"}
_REASONS = {
    "ignore": "people asked not to hear of it",
    "wrong": "people say that it is no bug",
    "known": "people say that it is reported already",
    "declined": "closed as not planned",
    "duplicate": "closed as a duplicate",
}


def said_of(issue: IssueView) -> Taught:
    """What people have said of an issue; empty where nothing."""
    for label, taught in TEACHING.items():
        if label in issue.labels:
            return taught
    return _CLOSED.get(issue.state_reason, "") if issue.state == "closed" else ""


def entries_of(filings: Filings) -> list[Known]:
    """The known findings that people have taught, for the registry that every run asks.

    Each ends with what taught it: the label is taken away, or the issue opened again. A deleted issue teaches none: an
    entry needs a place where it is talked about. A duplicate teaches what no other issue of ours is about.
    """
    elsewhere = {key for filed in filings.issues.values() if not filed.teaching for key in filed.signatures}
    return [
        _entry(filed, fingerprint, signature)
        for filed in filings.issues.values()
        if filed.teaching in _REASONS and filed.url
        for fingerprint, signature in sorted(filed.signatures.items())
        if signature and not (filed.teaching == "duplicate" and fingerprint in elsewhere)
    ]


def _entry(filed: Filed, fingerprint: str, signature: str) -> Known:
    reason = _REASONS[filed.teaching]
    name = f"issue-{filed.number}-{fingerprint[:12]}"
    return Known(name=name, signature=signature, library=filed.library, reason=reason, issue=filed.url)
