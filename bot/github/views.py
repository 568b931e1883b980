"""Views of GitHub's objects for the bot: plain values, made from the API's answers.

Every `of` raises KeyError, TypeError or ValueError if an answer does not have the published shape.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple, cast

Role = Literal["admin", "maintain", "write", "triage", "read", "none"]
ROLES: tuple[Role, ...] = ("admin", "maintain", "write", "triage", "read", "none")
WRITERS: tuple[Role, ...] = ("admin", "maintain", "write")
GHOST = "ghost"


class IssueView(NamedTuple):
    """An issue (or, in listings, a pull request)."""

    number: int
    title: str
    body: str  # as written, may be hostile
    state: str
    """`open` or `closed`."""
    state_reason: str | None
    """`completed`, `not_planned`, `reopened`, `duplicate` or None."""
    labels: tuple[str, ...]
    author: str  # `ghost` for a deleted account
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None
    url: str
    """For people."""
    pull_request: bool

    @classmethod
    def of(cls, data: Any) -> IssueView:
        """Read an issue of the REST API."""
        closed = data.get("closed_at")
        return cls(
            int(data["number"]), str(data["title"]), data.get("body") or "", str(data["state"]),
            data.get("state_reason"), tuple(_label(each) for each in data["labels"]), _login(data.get("user")),
            datetime.fromisoformat(data["created_at"]), datetime.fromisoformat(data["updated_at"]),
            datetime.fromisoformat(closed) if closed else None,
            str(data["html_url"]), "pull_request" in data or "merged_at" in data,
        )  # fmt: skip


class CommentView(NamedTuple):
    """A comment on an issue or pull request.

    Attributes:
        body: as written, may be hostile.
    """

    id: int
    body: str
    author: str

    @classmethod
    def of(cls, data: Any) -> CommentView:
        """Read an issue comment of the REST API."""
        return cls(int(data["id"]), data.get("body") or "", _login(data.get("user")))


class EventView(NamedTuple):
    """An action that a person or a bot took on an issue."""

    event: str  # `closed`, `reopened`, `labeled`, `unlabeled`, …
    actor: str
    created_at: datetime
    label: str | None  # name of the label

    @classmethod
    def of(cls, data: Any) -> EventView:
        """Read an issue event of the REST API."""
        label = data.get("label")
        return cls(
            str(data["event"]),
            _login(data.get("actor")),
            datetime.fromisoformat(data["created_at"]),
            label and label["name"],
        )


class PullView(NamedTuple):
    """A pull request."""

    number: int
    state: str
    head_sha: str

    @classmethod
    def of(cls, data: Any) -> PullView:
        """Read a pull request of the REST API."""
        return cls(int(data["number"]), str(data["state"]), str(data["head"]["sha"]))


def role(data: Any) -> Role:
    """Return the role for a collaborator's permission.

    An organisation's own role counts as its base role.
    """
    found = data.get("role_name") if data.get("role_name") in ROLES else data["permission"]
    return cast(Role, found) if found in ROLES else "none"


def is_same_login(login: str, other: str) -> bool:
    """Return whether two logins are one; GitHub takes no notice of case."""
    return login.casefold() == other.casefold()


def _login(user: Any) -> str:
    return str(user["login"]) if user else GHOST


def _label(data: Any) -> str:
    return str(data if isinstance(data, str) else data["name"])
