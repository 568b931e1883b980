"""Issues that are filed once, whatever happens to the request that files them.

Before: what carries the marker is looked up. Then the marker is claimed (see claims), so that nobody else files it.
Then it is looked up so that the answer can't be old, and filed. When that request has no answer, it may have taken
effect or not: GitHub ends a request after ten seconds, so we wait that long and look up again in the same way before
filing a second time. After: if there are two all the same, the younger one is closed and says so.

A look-up that can't be old: the listing of our own issues may be, so the numbers that follow the newest known one are
asked for one by one, and where a read says there is none, a write that changes nothing asks GitHub's primary store.
Numbers are given in turn, so two that are not there end the search (one can be a discussion, or be deleted).
"""

from __future__ import annotations

from typing import Any

from bot.github.claims import Claim, Claims
from bot.github.client import PAGE, Client, listed
from bot.github.errors import RefusedError, UnsureError
from bot.github.labels import Labels
from bot.github.marker import Marker, marked, parsed
from bot.github.views import IssueView

GAP = 2
DUPLICATE = "duplicate"


class Filing:
    """own: logins whose issues are ours."""

    def __init__(self, client: Client, claims: Claims, labels: Labels, own: tuple[str, ...]) -> None:
        self._client, self._claims, self._labels, self._own = client, claims, labels, own
        self._known: dict[int, tuple[IssueView, Marker]] = {}
        self._newest = 0
        self._scanned: dict[str, int] = {}

    def create(self, marker: Marker, title: str, body: str, labels: tuple[str, ...]) -> IssueView:
        """The issue about what the marker names: the one that is there, open or closed, else a new one."""
        found = self.find(marker.id)
        if found is None:
            with self._claims.held(marker.id[:32], lambda: self.find(marker.id) is not None) as claim:
                found = self.find(marker.id) if claim is None else self._filed(claim, marker, title, body, labels)
        if found is None:
            raise UnsureError("another runner's issue is gone again")
        return found

    def find(self, fingerprint: str) -> IssueView | None:
        """Our issue that is about a fingerprint, as the listings say; of several, the oldest."""
        for login in self._own:
            self._scan(login)
        return self._among_known(fingerprint)

    def _among_known(self, fingerprint: str) -> IssueView | None:
        fitting = [
            (fingerprint != marker.id, number, view)
            for number, (view, marker) in self._known.items()
            if marker.covers(fingerprint) and marker.kind != DUPLICATE
        ]
        return min(fitting)[2] if fitting else None

    def _scan(self, login: str) -> None:
        """Learns what we filed since the last look: all of it at first."""
        path, seen = f"{self._client.home}/issues", self._scanned.get(login, 0)
        asked = {"creator": login, "state": "all", "sort": "created", "direction": "desc"}
        for page in range(1, 1001):
            parameters = {**asked, "per_page": PAGE, "page": page}
            found = self._client.read(path, lambda data: [IssueView.of(each) for each in listed(data)], parameters)
            for view in found:
                self._learn(view)
            if len(found) < PAGE or found[-1].number <= seen:
                break
        self._scanned[login] = max([seen, *(view.number for view in found)])

    def _learn(self, view: IssueView) -> None:
        self._newest = max(self._newest, view.number)
        marker = parsed(view.body) if view.author in self._own and not view.pull_request else None
        if marker is not None:
            self._known[view.number] = view, marker
        else:
            self._known.pop(view.number, None)

    def _filed(self, claim: Claim, marker: Marker, title: str, body: str, labels: tuple[str, ...]) -> IssueView:
        content = {"title": title, "body": marked(body, marker), "labels": list(labels)}
        waited = 0.0
        for attempt in range(10_000):
            if (found := self._surely(marker.id)) is not None:
                return found
            claim.confirm()
            try:
                made = self._client.once(f"{self._client.home}/issues", content, IssueView.of)
                self._labels.restore(made.labels)
                return self._only(marker, made)
            except UnsureError as error:
                waited = self._client.again(error.settled(self._client.budget.limits.settled), attempt, waited)
        raise AssertionError("waiting is bounded")

    def _surely(self, fingerprint: str) -> IssueView | None:
        """Like `find`, by answers that can't be old."""
        if (found := self.find(fingerprint)) is not None:
            return found
        newest = {"state": "all", "sort": "created", "direction": "desc", "per_page": 1}
        for view in self._client.read(f"{self._client.home}/issues", _issues, newest):
            self._learn(view)
        number, missing = self._newest + 1, 0
        while missing < GAP:
            view_or_none = self._issue(number)
            missing = missing + 1 if view_or_none is None else 0
            if view_or_none is not None:
                self._learn(view_or_none)
            number += 1
        return self._among_known(fingerprint)

    def _issue(self, number: int) -> IssueView | None:
        path = f"{self._client.home}/issues/{number}"
        try:
            return self._client.read(path, IssueView.of)
        except RefusedError as error:
            if error.status not in (404, 410):
                raise
        try:
            return self._client.put("PATCH", path, {}, IssueView.of)
        except RefusedError as error:
            if error.status not in (404, 410):
                raise
            return None

    def _only(self, marker: Marker, made: IssueView) -> IssueView:
        """The issue that stays, after the one we made; ours is closed if an older one is about the same."""
        self._learn(made)
        oldest = self.find(marker.id)
        if oldest is None or oldest.number >= made.number:
            return made
        words = marked(f"Filed twice by accident: see #{oldest.number}.", Marker(DUPLICATE, marker.id))
        closed = {"body": words, "state": "closed", "state_reason": "not_planned"}
        self._client.put("PATCH", f"{self._client.home}/issues/{made.number}", closed, IssueView.of)
        return oldest


def _issues(data: Any) -> list[IssueView]:
    return [IssueView.of(each) for each in listed(data)]
