"""The part of a hub that changes issues, for those who need no more of it."""

from __future__ import annotations

from typing import Literal, Protocol

from nightfuzz.bot.github.views import IssueView


class Editor(Protocol):
    """What `bot.github.hub.Hub` does to an issue that is there."""

    def edit_issue(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        state: Literal["open", "closed"] | None = None,
        state_reason: str | None = None,
    ) -> IssueView: ...
