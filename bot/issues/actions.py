"""What a plan is made of. Each action can be executed twice and leaves the same as executed once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from nightfuzz.bot.github.marker import Marker


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
    verb: str = "create"


class Update(NamedTuple):
    """A change of an issue that is there. remembered: what its record says afterwards.

    reopen: its bug is seen again. close: its bug is fixed. relabel: it gets labels that it has not had before. recur:
    its recurrence comment is brought up to date.
    """

    verb: Literal["reopen", "close", "relabel", "recur"]
    number: int
    remembered: Mapping[str, Any]
    comment: tuple[Marker, str] | None = None
    state: Mapping[str, str] = {}
    labels: tuple[str, ...] = ()


class Extend(NamedTuple):
    """Further items for an umbrella issue: signatures and lines by fingerprint. title: where it is still ours."""

    number: int
    signatures: Mapping[str, str]
    items: Mapping[str, str]
    title: str | None
    verb: str = "extend"


Action = Create | Update | Extend
# What a reader waits for comes first; comments that are only brought up to date come last.
ORDER = ("reopen", "create", "close", "relabel", "extend", "recur")


def place(action: Action) -> int:
    """Where an action comes in a plan."""
    return ORDER.index(action.verb)


def described(action: Action) -> str:
    """An action in a few words, for a summary; its text is not escaped."""
    return f"{action.verb} {action.title!r}" if isinstance(action, Create) else f"{action.verb} #{action.number}"
