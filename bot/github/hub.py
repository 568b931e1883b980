"""One repository on GitHub, as the rest of the bot uses it. Nothing of PyGithub leaves this package."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import github

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.auth import Auth, api_address, log_in
from nightfuzz.bot.github.budget import Budget, Clock, Limits, Sleep
from nightfuzz.bot.github.checks import check_run
from nightfuzz.bot.github.client import Client, nothing
from nightfuzz.bot.github.comments import Comments
from nightfuzz.bot.github.errors import GONE, RefusedError, unless_refused
from nightfuzz.bot.github.issues import Issues
from nightfuzz.bot.github.labels import Labels, label_path, sweep
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.redaction import scrub_logs
from nightfuzz.bot.github.views import CommentView, EventView, IssueView, PullView, RepositoryView, Role, role

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}(\[bot\])?")
READ = "metadata: read"


class Hub:
    """Made by `Hub.open`. Every call raises RefusedError (a UserError) where GitHub says no, and says what to do, and
    GaveUpError where GitHub does not answer for too long: what was written until then stays and is found again."""

    def __init__(self, client: Client, login: str, home: Hub | None) -> None:
        self._client, self._login = client, login
        self._labels = Labels(client)
        self._issues = Issues(client, self._labels, login, home._client if home else client)
        self._comments = Comments(client, login)

    @classmethod
    def open(
        cls,
        auth: Auth,
        repository: str,
        api_url: str | None = None,
        *,
        home: Hub | None = None,
        clock: Clock = lambda: datetime.now(UTC),
        sleep: Sleep = time.sleep,
        limits: Limits | None = None,
        rng: random.Random | None = None,
    ) -> Hub:
        """Asks GitHub who we are. repository: `owner/name`. api_url: of GitHub's own API where None.

        home: our own repository, if this is another one. In another repository we may only read and file issues, so
        what says which runner files is made at home. Raises UserError.
        """
        scrub_logs()
        if not _REPOSITORY.fullmatch(repository):
            raise UserError(f"{repository!r:.100} is no repository", "give it as owner/name")
        address, budget, chance = (
            api_address({}, api_url),
            Budget(clock, sleep, limits or Limits()),
            rng or random.Random(),
        )

        def connect(credentials: Callable[[], github.Auth.Auth]) -> Client:
            return Client(credentials, repository, address, budget, chance)

        return cls(*log_in(auth, connect), home)

    @property
    def budget(self) -> Budget:
        """What was asked of GitHub so far; `budget.text()` is for people."""
        return self._client.budget

    @property
    def name(self) -> str:
        """The repository, as `owner/name`."""
        return self._client.repository

    def login(self) -> str:
        """Our own name on GitHub."""
        return self._login

    def repository(self) -> RepositoryView:
        """The repository and what we may do in it."""
        return self._client.read("", RepositoryView.of, permission=READ)

    def issues(self, label: str | None = None) -> list[IssueView]:
        """Issues without pull requests, open and closed, oldest first."""
        asked = {"state": "all", "sort": "created", "direction": "asc"} | ({"labels": label} if label else {})
        return [view for view in self._client.pages("issues", IssueView.of, asked) if not view.pull_request]

    def issue(self, number: int) -> IssueView | None:
        """One issue; None where it is not there (any more). RefusedError with status 301: it was moved away."""
        view = unless_refused(GONE, lambda: self._client.read(f"issues/{number}", IssueView.of))
        # PyGithub follows where GitHub sends it.
        if view is not None and f"/{self.name}/".casefold() not in view.url.casefold():
            raise RefusedError(301, f"issue {number} was moved away from {self.name}", "forget about it")
        return view

    def find_issue(self, fingerprint: str) -> IssueView | None:
        """Our issue whose marker is about a fingerprint; of several, the oldest."""
        return self._issues.find(fingerprint)

    def create_issue(self, marker: Marker, title: str, body: str, labels: Sequence[str] = ()) -> IssueView:
        """The issue about what the marker names: the one that is there, open or closed, else a new one. Never two."""
        return self._issues.create(marker, title, body, tuple(labels))

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
        return self._client.write("PATCH", f"issues/{number}", changes, IssueView.of)

    def add_labels(self, number: int, names: Iterable[str]) -> None:
        """Adds labels to an issue or pull request; one that is there already stays."""
        self._labels.add(number, names)

    def remove_label(self, number: int, name: str) -> None:
        """Takes a label off, if it is on."""
        path = f"issues/{number}/{label_path(name)}"
        unless_refused(GONE, lambda: self._client.write("DELETE", path, None, nothing))

    def ensure_labels(self, labels: Mapping[str, tuple[str, str]]) -> None:
        """Makes the labels that are missing, now and whenever one is found to be gone. Values: colour, description."""
        sweep(self._client, self._labels.ensure(labels))

    def comments(self, number: int) -> list[CommentView]:
        """The comments of an issue or pull request, oldest first."""
        return self._comments.all(number)

    def upsert_comment(self, number: int, marker: Marker, body: str) -> CommentView:
        """Our one comment with this marker (kind and id), with this text: updated in place, else made. Never two."""
        return self._comments.upsert(number, marker, body)

    def react(self, comment: int, content: str) -> None:
        """A reaction to a comment: `+1`, `-1`, `eyes`, `confused`, `rocket`, …; twice is once."""
        self._client.write("POST", f"issues/comments/{comment}/reactions", {"content": content}, nothing)

    def permission(self, login: str) -> Role:
        """What somebody may do in the repository."""
        if not _LOGIN.fullmatch(login):
            return "none"
        path = f"collaborators/{quote(login, safe='')}/permission"
        return unless_refused(GONE, lambda: self._client.read(path, role, permission=READ)) or "none"

    def events(self, number: int) -> list[EventView]:
        """What was done to an issue or pull request, oldest first."""
        found = self._client.pages(f"issues/{number}/events", EventView.of)
        return sorted(found, key=lambda event: event.created_at)

    def search_issues(self, query: str, most: int = 100) -> list[IssueView]:
        """Issues and pull requests of any repository that fit GitHub's search syntax, best first."""
        asked = {"q": query, "per_page": min(most, 100)}
        return self._client.read("/search/issues", _found, asked, READ)

    def pull(self, number: int) -> PullView | None:
        """One pull request; None where there is none of that number."""
        permission = "pull-requests: read"
        return unless_refused(GONE, lambda: self._client.read(f"pulls/{number}", PullView.of, permission=permission))

    def check_run(
        self,
        sha: str,
        name: str,
        conclusion: str,
        title: str,
        summary: str,
        annotations: Sequence[Mapping[str, Any]] = (),
    ) -> int:
        """The finished check with this content on a commit, made once; its number.

        conclusion: `success`, `neutral`, `failure`, `action_required`, … annotations: as the API takes them. GitHub
        takes checks from workflows and apps alone, not from a person's token.
        """
        return check_run(self._client, sha, name, conclusion, title, summary, annotations)

    def takes_private_reports(self) -> bool:
        """Whether the repository has private vulnerability reporting enabled; False where GitHub does not say."""
        path = "private-vulnerability-reporting"
        is_on = unless_refused(
            (403, 404, 422), lambda: self._client.read(path, lambda data: data["enabled"] is True, permission=READ)
        )
        return bool(is_on)

    def report_privately(self, summary: str, description: str) -> str:
        """Sends a private vulnerability report once, and returns its address.

        Reporters can't look it up. Raises UnsureError where nobody knows whether it arrived.
        """
        body = {"summary": summary, "description": description}
        permission = "repository security advisories: write"
        return self._client.create("security-advisories/reports", body, lambda data: str(data["html_url"]), permission)


def _found(data: Any) -> list[IssueView]:
    return [IssueView.of(each) for each in data["items"]]
