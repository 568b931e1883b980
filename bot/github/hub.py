"""A repository on GitHub, as the bot uses it. Objects of PyGithub stay inside this package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.auth import Auth, api_address, log_in
from nightfuzz.bot.github.budget import Backoff, Budget
from nightfuzz.bot.github.client import Client, many, nothing
from nightfuzz.bot.github.errors import RefusedError, UnsureError, unless_refused
from nightfuzz.bot.github.issues import Issues
from nightfuzz.bot.github.labels import Labels, label_path, write_once
from nightfuzz.bot.github.marker import Marker, digest, marked
from nightfuzz.bot.github.redaction import scrub_logs
from nightfuzz.bot.github.views import CommentView, EventView, IssueView, PullView, Role, is_same_login, role

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}(\[bot\])?")
READ = "metadata: read"
# Listings of comments that are read before those that GitHub counts, but does not list, are taken for hidden ones.
ROUNDS = 6


class Hub:
    """The calls of one repository, made by `Hub.open`.

    Every call raises RefusedError (a UserError with the remedy) if GitHub refuses, and GaveUpError if GitHub does not
    answer for too long. Data written until then stays and is found again.
    """

    def __init__(self, client: Client, login: str, home: Hub | None) -> None:
        self._client, self._login = client, login
        self._labels = Labels(client)
        self._issues = Issues(client, self._labels, login, home._client if home else client)

    @classmethod
    def open(
        cls,
        auth: Auth,
        repository: str,
        api_url: str | None = None,
        *,
        home: Hub | None = None,
        budget: Budget | None = None,
    ) -> Hub:
        """Ask GitHub who we are.

        Args:
            auth: the credentials.
            repository: `owner/name`.
            api_url: the API's address; None for GitHub's own.
            home: our own repository, if `repository` is another one. The bot may only read and file issues in another
                repository, so the home repository holds the claims of the runners.
            budget: limits of all requests; None for the default.

        Raises:
            UserError: GitHub refuses the credentials or the repository.
        """
        scrub_logs()
        if not _REPOSITORY.fullmatch(repository):
            raise UserError(f"{repository!r:.100} is not the name of a repository", "write the name as OWNER/NAME")
        address, own = api_address({}, api_url), budget or Budget()
        return cls(*log_in(auth, lambda credentials: Client(credentials, repository, address, own)), home)

    @property
    def budget(self) -> Budget:
        """The requests to GitHub so far; `budget.text()` is for people."""
        return self._client.budget

    @property
    def name(self) -> str:
        """The repository, as `owner/name`."""
        return self._client.repository

    def login(self) -> str:
        """Our own name on GitHub."""
        return self._login

    def is_private(self) -> bool:
        """Return whether only the repository's members see it."""
        return self._client.read("", lambda data: bool(data["private"]), permission=READ)

    def issues(self, label: str | None = None) -> list[IssueView]:
        """Return issues without pull requests, open and closed, oldest first."""
        asked = {"state": "all", "sort": "created", "direction": "asc"} | ({"labels": label} if label else {})
        return [view for view in self._client.pages("issues", IssueView.of, asked) if not view.pull_request]

    def issue(self, number: int) -> IssueView | None:
        """Return an issue; None if it does not exist (any more).

        Raises:
            RefusedError: with status 301, if the issue has moved.
        """
        view = self._client.find(f"issues/{number}", IssueView.of)
        # PyGithub follows where GitHub sends it.
        if view is not None and f"/{self.name}/".casefold() not in view.url.casefold():
            raise RefusedError(
                301,
                f"issue {number} was moved away from {self.name}",
                "no action is needed: nightfuzz leaves moved issues alone",
            )
        return view

    def find_issue(self, fingerprint: str) -> IssueView | None:
        """Return our issue whose marker is about a fingerprint; of several, the oldest."""
        return self._issues.find(fingerprint)

    def create_issue(self, marker: Marker, title: str, body: str, labels: Sequence[str] = ()) -> IssueView:
        """Return the issue of a marker, open or closed; file the issue once if it does not exist."""
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
        """Change the given parts of an issue.

        A body must bring its marker (`marked`).
        """
        given = {"title": title, "body": body, "state": state, "state_reason": state_reason}
        changes = {name: value for name, value in given.items() if value is not None}
        return self._client.write("PATCH", f"issues/{number}", changes, IssueView.of)

    def add_labels(self, number: int, names: Iterable[str]) -> None:
        """Add labels to an issue or pull request; one that is there already stays."""
        self._labels.add(number, names)

    def remove_label(self, number: int, name: str) -> None:
        """Take a label off, if it is on."""
        self._client.delete(f"issues/{number}/{label_path(name)}")

    def ensure_labels(self, labels: Mapping[str, tuple[str, str]]) -> None:
        """Make the labels that are missing, now and whenever one is found to be gone.

        Values: colour, description.
        """
        self._labels.ensure(labels)

    def comments(self, number: int) -> list[CommentView]:
        """Return the comments of an issue or pull request, oldest first."""
        return list(self._client.pages(f"issues/{number}/comments", CommentView.of))

    def wrote(self, comment: CommentView) -> bool:
        """Return whether a comment is ours or another bot's.

        A workflow that reports as an App now was another bot before.

        People can copy a marker, and are not bots.
        """
        return is_same_login(comment.author, self._login) or comment.author.endswith("[bot]")

    def upsert_comment(self, number: int, marker: Marker, body: str) -> CommentView:
        """Update our comment with this marker (kind and id) in place, or make the comment.

        It is never made twice.

        A comment with this marker from another bot account that we used before is deleted.
        """
        text = marked(body, marker)
        hidden: int | None = None
        former: list[int] = []

        def ours(comments: list[CommentView]) -> list[CommentView]:
            return [each for each in comments if is_same_login(each.author, self._login) and marker.marks(each.body)]

        def find() -> CommentView | None:
            """Return the oldest of ours.

            Younger ones, left by an accident, are deleted.
            """
            listed = self.comments(number)
            found = ours(listed)
            others = (each for each in listed if self.wrote(each) and each not in found)
            former[:] = [each.id for each in others if marker.marks(each.body)]
            for each in found[1:]:
                self._client.delete(f"issues/comments/{each.id}")
            return found[0] if found else None

        def find_surely() -> CommentView | None:
            """Return our comments, by a listing that is as long as GitHub's primary store says.

            GitHub counts hidden comments (spam), too. Their number is learnt before the first write.
            """
            nonlocal hidden
            backoff, failed = Backoff(self.budget), 0
            while True:
                count, comments = self._count_comments(number), self.comments(number)
                if found := ours(comments):
                    return found[0]
                missing = count - len(comments)
                if missing <= (hidden or 0) or (hidden is None and failed == ROUNDS):
                    hidden = max(missing, 0) if hidden is None else hidden
                    return None
                failed += 1
                backoff.retry(UnsureError("an old listing of comments"))

        def create() -> CommentView:
            return self._client.create(f"issues/{number}/comments", {"body": text}, CommentView.of)

        found = write_once(self._client, self._client, f"{number}-{marker.id}", find, find_surely, create)
        for each in former:
            # A bot without the right to delete another bot's comment leaves the comment there.
            unless_refused((403,), partial(self._client.delete, f"issues/comments/{each}"))
        if found.body.replace("\r\n", "\n") == text:
            return found
        return self._client.write("PATCH", f"issues/comments/{found.id}", {"body": text}, CommentView.of)

    def _count_comments(self, number: int) -> int:
        """Return how many comments an issue or a pull request has, hidden ones too."""

        def count(data: Any) -> int:
            return int(data["comments"])

        found = self._client.find_surely(f"issues/{number}", count)
        return self._client.write("PATCH", f"pulls/{number}", {}, count) if found is None else found

    def react(self, comment: int, content: str) -> None:
        """React to a comment with `+1`, `-1`, `eyes`, `confused`, `rocket`, …; a repeated reaction counts once."""
        self._client.write("POST", f"issues/comments/{comment}/reactions", {"content": content}, nothing)

    def permission(self, login: str) -> Role:
        """Return the role of a login in the repository."""
        if not _LOGIN.fullmatch(login):
            return "none"
        path = f"collaborators/{quote(login, safe='')}/permission"
        return self._client.find(path, role, READ) or "none"

    def events(self, number: int) -> list[EventView]:
        """Return the events of an issue or pull request, oldest first."""
        found = self._client.pages(f"issues/{number}/events", EventView.of)
        return sorted(found, key=lambda event: event.created_at)

    def search_issues(self, query: str, most: int = 100) -> list[IssueView]:
        """Return issues and pull requests of any repository that fit GitHub's search syntax, best first."""
        asked = {"q": query, "per_page": min(most, 100)}
        return self._client.read("/search/issues", lambda data: many(IssueView.of)(data["items"]), asked, READ)

    def workflows(self) -> list[tuple[str, str]]:
        """Return path and state (`active`, `disabled_inactivity`, …) of each workflow; none if GitHub does not say."""

        def pairs(data: Any) -> list[tuple[str, str]]:
            return [(str(each["path"]), str(each["state"])) for each in data["workflows"]]

        asked = {"per_page": 100}
        found = unless_refused((403, 404), lambda: self._client.read("actions/workflows", pairs, asked, READ))
        return found or []

    def pull(self, number: int) -> PullView | None:
        """Return a pull request; None if the number has none."""
        return self._client.find(f"pulls/{number}", PullView.of, "pull-requests: read")

    def check_run(
        self,
        sha: str,
        name: str,
        conclusion: str,
        title: str,
        summary: str,
        annotations: Sequence[Mapping[str, Any]] = (),
    ) -> int:
        """Return the finished check with this content on a commit, made once; its number.

        Args:
            conclusion: `success`, `neutral`, `failure`, `action_required`, …
            annotations: 50 at most, as the API takes them.
        """
        output = {"title": title, "summary": summary, "annotations": [*annotations]}
        identity = f"nightfuzz:{digest(json.dumps([sha, name, conclusion, output]))}"
        body = {"name": name, "head_sha": sha, "external_id": identity, "status": "completed", "conclusion": conclusion}

        def numbers(data: Any) -> dict[str, int]:
            return {str(each["external_id"]): int(each["id"]) for each in data["check_runs"]}

        def find() -> int | None:
            asked = {"check_name": name, "filter": "all", "per_page": 100}
            return self._client.read(f"commits/{sha}/check-runs", numbers, asked, "checks: read").get(identity)

        def create() -> int:
            return self._client.create(
                "check-runs", {**body, "output": output}, lambda data: int(data["id"]), "checks: write"
            )

        return self._client.create_once(find, create)

    def takes_private_reports(self) -> bool:
        """Return whether the repository has private vulnerability reporting enabled; False if GitHub does not say."""
        path = "private-vulnerability-reporting"
        is_on = unless_refused(
            (403, 404, 422), lambda: self._client.read(path, lambda data: data["enabled"] is True, permission=READ)
        )
        return bool(is_on)

    def report_privately(self, summary: str, description: str) -> str:
        """Send a private vulnerability report once, and return its address.

        A reporter can't look the report up.

        Raises:
            UnsureError: GitHub's answer is lost, so the report may have arrived.
        """
        body = {"summary": summary, "description": description}
        permission = "repository security advisories: write"
        return self._client.create("security-advisories/reports", body, lambda data: str(data["html_url"]), permission)
