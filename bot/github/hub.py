"""One repository on GitHub, as the rest of the bot uses it. Nothing of PyGithub leaves this package."""

from __future__ import annotations

import random
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.auth import Auth, api_address
from nightfuzz.bot.github.budget import Budget, Clock, Limits, Sleep
from nightfuzz.bot.github.checks import check_run
from nightfuzz.bot.github.claims import Claims
from nightfuzz.bot.github.client import Client
from nightfuzz.bot.github.comments import Comments
from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.filing import Filing
from nightfuzz.bot.github.identity import installed, login
from nightfuzz.bot.github.labels import Labels
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.redaction import scrub_logs
from nightfuzz.bot.github.views import (
    Annotation,
    CommentView,
    EventView,
    IssueView,
    PullView,
    RepositoryView,
    Role,
    role,
)

T = TypeVar("T")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}(\[bot\])?")


def _utc() -> datetime:
    return datetime.now(UTC)


class Hub:
    """Made by `Hub.open`. Every call raises RefusedError (a UserError) where GitHub says no, and says what to do, and
    GaveUpError where GitHub does not answer for too long: what was written until then stays and is found again."""

    def __init__(self, client: Client, own: tuple[str, ...], nonces: Callable[[], str]) -> None:
        self._client, self._own = client, own
        claims = Claims(client, nonces)
        self._labels = Labels(client, claims)
        self._filing = Filing(client, claims, self._labels, own)
        self._comments = Comments(client, claims, own)

    @classmethod
    def open(
        cls,
        auth: Auth,
        repository: str,
        api_url: str | None = None,
        *,
        clock: Clock = _utc,
        sleep: Sleep = time.sleep,
        limits: Limits | None = None,
        former: Sequence[str] = (),
        rng: random.Random | None = None,
        nonces: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> Hub:
        """repository: `owner/name`. api_url: of GitHub's own API where None. former: logins under which this bot filed
        before. Asks GitHub who we are. Raises UserError."""
        scrub_logs()
        if not _REPOSITORY.fullmatch(repository):
            raise UserError(f"{repository!r:.100} is no repository", "give it as owner/name")
        budget = Budget(clock, sleep, limits or Limits())
        client = Client(auth, repository, api_address({}, api_url), budget, rng or random.Random())
        client.auth = installed(client, auth)
        return cls(client, (login(client), *former), nonces)

    @property
    def budget(self) -> Budget:
        """What was asked of GitHub so far; `budget.text()` is for people."""
        return self._client.budget

    def login(self) -> str:
        """Our own name on GitHub."""
        return self._own[0]

    def repository(self) -> RepositoryView:
        """The repository and what we may do in it."""
        return self._client.read(self._client.home, RepositoryView.of, permission="metadata: read")

    def issues(self, label: str | None = None, state: str = "all", since: datetime | None = None) -> list[IssueView]:
        """Issues without pull requests, oldest first. since: changed at that time or later."""
        asked: dict[str, str] = {"state": state, "sort": "created", "direction": "asc"}
        asked |= {"labels": label} if label else {}
        asked |= {"since": since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")} if since else {}
        found = self._client.pages(f"{self._client.home}/issues", IssueView.of, asked)
        return [view for view in found if not view.pull_request]

    def issue(self, number: int) -> IssueView | None:
        """One issue; None where it is not there (any more). RefusedError with status 301: it was moved away."""
        view = self._unless_gone(lambda: self._client.read(f"{self._client.home}/issues/{number}", IssueView.of))
        # PyGithub follows where GitHub sends it.
        if view is not None and f"/{self._client.repository}/".casefold() not in view.url.casefold():
            raise RefusedError(301, f"issue {number} was moved away from {self._client.repository}", "forget about it")
        return view

    def create_issue(self, marker: Marker, title: str, body: str, labels: Sequence[str] = ()) -> IssueView:
        """The issue about what the marker names: the one that is there, open or closed, else a new one. Never two."""
        return self._filing.create(marker, title, body, tuple(labels))

    def edit_issue(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        state: str | None = None,
        state_reason: str | None = None,
    ) -> IssueView:
        """Changes what is given. A body must bring its marker (`marked`)."""
        given = {"title": title, "body": body, "state": state, "state_reason": state_reason}
        changes = {name: value for name, value in given.items() if value is not None}
        return self._client.put("PATCH", f"{self._client.home}/issues/{number}", changes, IssueView.of)

    def add_labels(self, number: int, names: Iterable[str]) -> None:
        """Adds labels to an issue or pull request; one that is there already stays."""
        self._labels.add(number, list(names))

    def remove_label(self, number: int, name: str) -> None:
        """Takes a label off; nothing where it is not on."""
        path = f"{self._client.home}/issues/{number}/labels/{quote(name, safe='')}"
        self._unless_gone(lambda: self._client.put("DELETE", path, None, _nothing))

    def ensure_labels(self, wanted: Mapping[str, tuple[str, str]]) -> None:
        """Makes the labels that are missing, now and whenever one is found to be gone. Values: colour, description."""
        self._labels.ensure(wanted)

    def comments(self, number: int) -> list[CommentView]:
        """Of an issue or pull request, oldest first."""
        return self._comments.all(number)

    def upsert_comment(self, number: int, marker: Marker, body: str) -> CommentView:
        """Our one comment with this marker (kind and id), with this text: updated in place, else made. Never two."""
        return self._comments.upsert(number, marker, body)

    def react(self, comment: int, content: str) -> None:
        """A reaction to a comment: `+1`, `-1`, `eyes`, `confused`, `rocket`, …; twice is once."""
        path = f"{self._client.home}/issues/comments/{comment}/reactions"
        self._client.put("POST", path, {"content": content}, _nothing)

    def permission(self, login: str) -> Role:
        """What somebody may do in the repository."""
        if not _LOGIN.fullmatch(login):
            return "none"
        path = f"{self._client.home}/collaborators/{quote(login, safe='')}/permission"
        return self._unless_gone(lambda: self._client.read(path, role, permission="metadata: read")) or "none"

    def events(self, number: int) -> list[EventView]:
        """What was done to an issue or pull request, oldest first."""
        found = list(self._client.pages(f"{self._client.home}/issues/{number}/events", EventView.of))
        return sorted(found, key=lambda event: event.created_at)

    def closed_by(self, number: int) -> str | None:
        """Who closed it last; None where it is open or was never closed."""
        view = self.issue(number)
        if view is None or view.state != "closed":
            return None
        closers = [event.actor for event in self.events(number) if event.event == "closed"]
        return closers[-1] if closers else view.closed_by

    def search_issues(self, query: str, most: int = 100) -> list[IssueView]:
        """Issues and pull requests of any repository that fit GitHub's search syntax, best first."""
        asked = {"q": query, "per_page": min(most, 100)}
        return self._client.read(
            "/search/issues", lambda data: [IssueView.of(each) for each in data["items"]], asked, "metadata: read"
        )

    def pull(self, number: int) -> PullView | None:
        """One pull request; None where there is none of that number."""
        path = f"{self._client.home}/pulls/{number}"
        return self._unless_gone(lambda: self._client.read(path, PullView.of, permission="pull-requests: read"))

    def check_run(
        self,
        sha: str,
        name: str,
        conclusion: str,
        title: str,
        summary: str,
        annotations: Sequence[Annotation] = (),
    ) -> int:
        """The finished check with this content on a commit, made once; its number.

        conclusion: `success`, `neutral`, `failure`, `action_required`, … GitHub takes checks from workflows and apps
        alone, not from a person's token.
        """
        return check_run(self._client, sha, name, conclusion, title, summary, annotations)

    @staticmethod
    def _unless_gone(work: Callable[[], T]) -> T | None:
        try:
            return work()
        except RefusedError as error:
            if error.status not in (404, 410):
                raise
            return None


def _nothing(data: Any) -> None:
    return None
