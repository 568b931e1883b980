"""Which issues are the bot's own, and what they are about. Anyone can copy a marker: it counts in our issues alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Literal, NamedTuple, cast

from nightfuzz.bot.github.marker import parsed
from nightfuzz.bot.github.views import IssueView
from nightfuzz.bot.issues.filings import Filed, Filings, Taught
from nightfuzz.bot.issues.teaching import said_of
from nightfuzz.bot.issues.umbrella import items

Kind = Literal["bug", "umbrella"]
KINDS = ("bug", "umbrella")


class Ours(NamedTuple):
    """An issue that the bot has filed. fingerprints: on record, and in its body. filed: its record, if any."""

    view: IssueView
    kind: Kind
    fingerprints: frozenset[str]
    filed: Filed | None

    @property
    def number(self) -> int:
        """Of the issue."""
        return self.view.number

    @property
    def open(self) -> bool:
        """Whether it is open."""
        return self.view.state == "open"

    @property
    def teaching(self) -> Taught:
        """What people have said of it."""
        return said_of(self.view)


def ours(existing: Iterable[IssueView], filings: Filings, authors: Collection[str]) -> dict[int, Ours]:
    """The bot's own issues by number, the oldest first. authors: its logins.

    A marker that a person has edited or removed is no loss where the issue is on record, and is not put back.
    """
    found = (_own(view, filings.issues.get(view.number), authors) for view in existing if not view.pull_request)
    return {each.number: each for each in sorted(filter(None, found), key=lambda each: each.number)}


def _own(view: IssueView, filed: Filed | None, authors: Collection[str]) -> Ours | None:
    by_us = view.author.casefold() in {author.casefold() for author in authors}
    marker = parsed(view.body) if by_us else None
    # A record that came along from another repository has other addresses.
    if filed is not None and (marker is not None or filed.url == view.url):
        in_marker = (marker.id, *marker.also) if marker is not None and marker.kind == filed.kind else ()
        return Ours(view, filed.kind, frozenset((*filed.signatures, *in_marker)), filed)
    if marker is not None and marker.kind in KINDS:
        about = items(view.body) if marker.kind == "umbrella" else (marker.id, *marker.also)
        return Ours(view, cast(Kind, marker.kind), frozenset(about), None)
    return None


def created_since(limit: datetime, issues: Iterable[Ours], filings: Filings) -> int:
    """How many issues of ours have been filed, those too that are gone by now."""
    on_server = {each.number for each in issues if each.view.created_at > limit}
    on_record = {number for number, filed in filings.issues.items() if filed.created_at > limit}
    return len(on_server | on_record)
