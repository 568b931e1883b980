"""Which issues are the bot's own, and what they are about. Anyone can copy a marker: it counts in our issues alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple, cast

from nightfuzz.bot.github.marker import parsed
from nightfuzz.bot.github.views import IssueView, is_same_login
from nightfuzz.bot.issues.filings import Filings, IssueRecord, Lesson
from nightfuzz.bot.issues.labels import lesson_of
from nightfuzz.bot.issues.texts import items

Kind = Literal["bug", "umbrella"]


class OwnIssue(NamedTuple):
    """An issue that the bot has filed. fingerprints: on record, and in its body. record: None where it was lost."""

    view: IssueView
    kind: Kind
    fingerprints: frozenset[str]
    record: IssueRecord | None

    @property
    def number(self) -> int:
        """Of the issue."""
        return self.view.number

    @property
    def open(self) -> bool:
        """Whether it is open."""
        return self.view.state == "open"

    @property
    def closed_at(self) -> datetime:
        """When it was closed, for a closed issue."""
        return self.view.closed_at or self.view.updated_at

    @property
    def teaching(self) -> Lesson:
        """What people teach by it."""
        return lesson_of(self.view)


def own_issues(existing: Iterable[IssueView], filings: Filings, login: str) -> dict[int, OwnIssue]:
    """The bot's own issues by number, the oldest first. login: its own.

    A marker that a person has edited or removed is no loss where the issue is on record, and is not put back.
    """
    found = (_own(view, filings.issues.get(view.number), login) for view in existing if not view.pull_request)
    return {each.number: each for each in sorted(filter(None, found), key=lambda each: each.number)}


def _own(view: IssueView, record: IssueRecord | None, login: str) -> OwnIssue | None:
    marker = parsed(view.body) if is_same_login(view.author, login) else None
    # A record that came along from another repository has other addresses.
    if record is not None and (marker is not None or record.url == view.url):
        in_marker = (marker.id, *marker.also) if marker is not None and marker.kind == record.kind else ()
        return OwnIssue(view, record.kind, frozenset((*record.signatures, *in_marker)), record)
    if marker is not None and marker.kind in ("bug", "umbrella"):
        about = items(view.body) if marker.kind == "umbrella" else (marker.id, *marker.also)
        return OwnIssue(view, cast(Kind, marker.kind), frozenset(about), None)
    return None
