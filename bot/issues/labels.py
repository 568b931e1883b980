"""The labels that the bot sets, the labels by which people silence it, and the known findings that follow from them."""

from __future__ import annotations

from fuzz_core.triage.known import KnownEntry
from nightfuzz.bot.github.views import IssueView
from nightfuzz.bot.issues.filings import Filings, Lesson

OURS = "nightfuzz"
REGRESSION = "nightfuzz:regression"
UMBRELLA = "nightfuzz:umbrella"
IGNORE = "nightfuzz:ignore"
WRONG = "nightfuzz:wrong"
KNOWN = "nightfuzz:known"
DRAFT = "nightfuzz:draft"
APPROVE = "nightfuzz:approve-upstream"
HEALTH = "nightfuzz:health"

# Colour and description (100 characters at most) of each.
LABELS = {
    OURS: ("1d76db", "Filed by nightfuzz"),
    REGRESSION: ("b60205", "An earlier build does not show the bug"),
    UMBRELLA: ("c5def5", "Crashes on corner-case arguments, batched"),
    IGNORE: ("cfd3d7", "For people: nightfuzz stops reports of this bug"),
    WRONG: ("cfd3d7", "For people: this is no bug; nightfuzz stops reports of it"),
    KNOWN: ("cfd3d7", "For people: already reported in another place; nightfuzz stops reports of it"),
    DRAFT: ("fbca04", "The text of a report to another repository, for a person to read"),
    HEALTH: ("d93f0b", "Nightly runs that fail, or that GitHub does not start"),
    APPROVE: ("0e8a16", "For people with write access: nightfuzz may file this text upstream"),
}
# The verdict of each label; where an issue has several, the first.
LESSONS: dict[str, Lesson] = {WRONG: "wrong", KNOWN: "known", IGNORE: "ignore"}
_CLOSED: dict[str | None, Lesson] = {"not_planned": "declined", "duplicate": "duplicate"}
_REASONS = {
    "ignore": "people asked for no reports of it",
    "wrong": "people say that it is no bug",
    "known": "people say that it is already reported",
    "declined": "closed as not planned",
    "duplicate": "closed as a duplicate",
}


def lesson_of(issue: IssueView) -> Lesson:
    """Return the verdict of people on an issue, by its labels or by how they closed it; empty without one."""
    closed = _CLOSED.get(issue.state_reason, "") if issue.state == "closed" else ""
    return next((lesson for label, lesson in LESSONS.items() if label in issue.labels), closed)


def entries_of(filings: Filings) -> list[KnownEntry]:
    """Return the known findings that follow from people's verdicts, for the registry that every run asks.

    An entry ends when the label is taken away, or the issue opened again. A deleted issue gives none: an entry needs a
    place to talk about it. A duplicate gives an entry for each fingerprint that no other issue is about.
    """
    elsewhere = {key for record in filings.issues.values() if not record.teaching for key in record.signatures}
    return [
        KnownEntry(
            name=f"issue-{record.number}-{key[:12]}",
            signature=signature,
            library=record.library,
            reason=_REASONS[record.teaching],
            issue=record.url,
        )
        for record in filings.issues.values()
        if record.teaching in _REASONS and record.url
        for key, signature in sorted(record.signatures.items())
        if signature and not (record.teaching == "duplicate" and key in elsewhere)
    ]
