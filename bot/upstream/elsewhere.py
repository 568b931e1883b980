"""Another repository, where we may do no more than anybody: search, and file one issue as ourselves."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from nightfuzz.bot.github.auth import PUBLIC_API, Auth
from nightfuzz.bot.github.budget import Budget, Clock, Limits, Sleep
from nightfuzz.bot.github.claims import Claims
from nightfuzz.bot.github.client import Client, Turn
from nightfuzz.bot.github.errors import UnsureError
from nightfuzz.bot.github.identity import installed, login
from nightfuzz.bot.github.marker import Marker, marked, parsed
from nightfuzz.bot.github.redaction import scrub_logs
from nightfuzz.bot.github.views import IssueView


def _now() -> datetime:
    return datetime.now(UTC)


class Elsewhere:
    """claims: of our own repository. Only there may we make what says whose turn it is to file."""

    def __init__(self, client: Client, claims: Claims, login: str) -> None:
        self.client, self._claims, self._login = client, claims, login

    @classmethod
    def open(
        cls,
        auth: Auth,
        repository: str,
        home: str,
        api_url: str | None = None,
        *,
        home_auth: Auth | None = None,
        clock: Clock = _now,
        sleep: Sleep = time.sleep,
        limits: Limits | None = None,
        rng: random.Random | None = None,
        nonces: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> Elsewhere:
        """auth: who files. home: our own repository, home_auth: who may make labels there."""
        scrub_logs()
        budget, address = Budget(clock, sleep, limits or Limits()), (api_url or PUBLIC_API).rstrip("/")
        chance = rng or random.Random()
        ours = Client(home_auth or auth, home, address, budget, chance)
        ours.auth = installed(ours, ours.auth)
        client = Client(auth, repository, address, budget, chance)
        return cls(client, Claims(ours, nonces), login(client))

    @property
    def repository(self) -> str:
        """`owner/name`."""
        return self.client.repository

    def search(self, query: str, most: int = 20) -> list[IssueView]:
        """Issues of this repository that fit, best first."""
        asked = {"q": f"repo:{self.repository} is:issue {query}", "per_page": most}
        return self.client.read("/search/issues", _found, asked, "metadata: read")

    def find(self, marker: Marker) -> IssueView | None:
        """Our own issue with this marker there, the oldest of several."""
        asked = {"creator": self._login, "state": "all", "sort": "created", "direction": "asc"}
        views = self.client.pages(f"{self.client.home}/issues", IssueView.of, asked)
        return next((view for view in views if self._has(view, marker)), None)

    def create(self, marker: Marker, title: str, body: str) -> IssueView:
        """The one issue with this marker: found, or made. Looked up before and after, and once more after any doubt."""
        found = self.find(marker)
        while found is None:
            with self._claims.held(marker.id, lambda: self.find(marker) is not None) as claim:
                found = self._made(marker, title, body) if claim else self.find(marker)
        return found

    def _made(self, marker: Marker, title: str, body: str) -> IssueView:
        turn, content = self.client.turn(), {"title": title, "body": marked(body, marker)}
        while (found := self.find(marker)) is None:
            try:
                made = self.client.once(f"{self.client.home}/issues", content, IssueView.of)
            except UnsureError as error:
                self._doubt(turn, error)
                continue
            return self.find(marker) or made
        return found

    def _doubt(self, turn: Turn, error: UnsureError) -> None:
        """Waits until a request without an answer has taken effect or never will, and until listings show it."""
        settled = self.client.budget.limits.settled
        turn.again(error.settled(settled))
        turn.wait(settled, "listings may be old")

    def _has(self, view: IssueView, marker: Marker) -> bool:
        own = view.author == self._login and not view.pull_request
        read = parsed(view.body) if own else None
        return read is not None and read[:2] == marker[:2]


def _found(data: Any) -> list[IssueView]:
    return [IssueView.of(each) for each in data["items"]]
