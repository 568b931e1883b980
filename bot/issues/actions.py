"""What a plan is made of. Each action can be done twice and leaves the same as done once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from nightfuzz.bot.issues.wanted import Wanted


class Create(NamedTuple):
    """An issue to be filed. id: what its marker is looked up by. told: digest of what would be its first recurrence."""

    kind: Literal["bug", "umbrella"]
    id: str
    library: str
    signatures: Mapping[str, str]
    title: str
    body: str
    labels: tuple[str, ...]
    build: str = ""
    told: str = ""
    regression: bool = False


class Reopen(NamedTuple):
    """A closed issue whose bug is seen again. remembered: what the record of the issue says once it is done."""

    number: int
    wanted: Wanted
    labels: tuple[str, ...]
    remembered: Mapping[str, Any]


class Close(NamedTuple):
    """An open issue whose bug is fixed."""

    number: int
    wanted: Wanted
    remembered: Mapping[str, Any]


class Relabel(NamedTuple):
    """Labels for an open issue that it has not had before."""

    number: int
    labels: tuple[str, ...]
    remembered: Mapping[str, Any]


class Extend(NamedTuple):
    """Further items for an umbrella issue: signatures and lines by fingerprint. title: where it is still ours."""

    number: int
    signatures: Mapping[str, str]
    items: Mapping[str, str]
    title: str | None


class Recur(NamedTuple):
    """The recurrence comment of an issue, to be brought up to date."""

    number: int
    text: str
    remembered: Mapping[str, Any]


Action = Reopen | Create | Close | Relabel | Extend | Recur
# What a reader waits for comes first; comments that are only brought up to date come last.
ORDER: tuple[type, ...] = (Reopen, Create, Close, Relabel, Extend, Recur)


def place(action: Action) -> int:
    """Where an action comes in a plan."""
    return ORDER.index(type(action))


def described(action: Action) -> str:
    """An action in a few words, for a summary; its text is not escaped."""
    verb = type(action).__name__.lower()
    return f"{verb} {action.title!r}" if isinstance(action, Create) else f"{verb} #{action.number}"
