"""Issues that are filed once, whatever happens to the request that files them.

Before: what carries the marker is looked up. Then the marker is claimed (see claims), so that nobody else files it.
Then it is looked up so that the answer can't be old, and filed. When that request has no answer, it may have taken
effect or not: GitHub ends a request after ten seconds, so we wait that long and look up again in the same way before
filing a second time. After: if there are two all the same, the younger one is closed and says so.

A look-up that can't be old: listings may be, so the numbers that follow the newest known one are asked for one by
one, and where a read says there is none, a write that changes nothing asks GitHub's primary store. Numbers are given in
turn, so two that are not there end the search (one can be a discussion, or be deleted).
"""

from __future__ import annotations

from typing import Any

from nightfuzz.bot.github.claims import Claim, Claims, LostError
from nightfuzz.bot.github.client import PAGE, Client, listed
from nightfuzz.bot.github.errors import RefusedError, UnsureError
from nightfuzz.bot.github.labels import Labels
from nightfuzz.bot.github.marker import Marker, marked, parsed
from nightfuzz.bot.github.views import IssueView, is_one_of

GAP = 2
DUPLICATE = "duplicate"


class Filing:
    """own: logins whose issues are ours, the present one first.

    Known are all of ours up to the number `_complete`; what comes after may be known or not.
    """

    def __init__(self, client: Client, claims: Claims, labels: Labels, own: tuple[str, ...]) -> None:
        self._client, self._claims, self._labels, self._own = client, claims, labels, own
        self._path = f"{client.home}/issues"
        self._known: dict[int, tuple[IssueView, Marker]] = {}
        self._complete: int | None = None

    def create(self, marker: Marker, title: str, body: str, labels: tuple[str, ...]) -> IssueView:
        """The issue about what the marker names: the one that is there, open or closed, else a new one."""
        content = {"title": title, "body": marked(body, marker), "labels": list(labels)}
        turn = self._client.turn()
        while (found := self.find(marker.id)) is None:
            try:
                with self._claims.held(marker.id, lambda: self.find(marker.id) is not None) as claim:
                    return self._filed(claim, marker, content) if claim else self._remembered(marker.id)
            except LostError as error:
                turn.again(error)
        return found

    def find(self, fingerprint: str) -> IssueView | None:
        """Our issue that is about a fingerprint, as the listings say; of several, the oldest."""
        if self._complete is None:
            for login in self._own:
                self._scan(login)
        else:
            self._scan_newest(self._own[0])
        return self._recalled(fingerprint)

    def _recalled(self, fingerprint: str) -> IssueView | None:
        fitting = [
            (fingerprint != marker.id, number, view)
            for number, (view, marker) in self._known.items()
            if marker.covers(fingerprint) and marker.kind != DUPLICATE
        ]
        return min(fitting)[2] if fitting else None

    def _remembered(self, fingerprint: str) -> IssueView:
        found = self._recalled(fingerprint)
        assert found is not None, "another runner filed it: we have just seen it"
        return found

    def _scan(self, login: str) -> None:
        """Learns all that a login of ours filed. An old answer is a beginning of the new one, as the order says."""
        asked = {"creator": login, "state": "all", "sort": "created", "direction": "asc"}
        numbers = [self._learn(view) for view in self._client.pages(self._path, IssueView.of, asked)]
        if login == self._own[0]:
            self._complete = max(numbers, default=0)

    def _scan_newest(self, login: str | None) -> int:
        """Learns what is new, of one login or of everybody; the highest number."""
        asked = {"state": "all", "sort": "created", "direction": "desc", "per_page": PAGE}
        views = self._client.read(self._path, _issues, {**asked, "creator": login} if login else asked)
        numbers = [self._learn(view) for view in views]
        if not numbers:
            return 0
        if len(numbers) < PAGE or min(numbers) <= (self._complete or 0) + 1:
            self._complete = max(self._complete or 0, *numbers)
        return max(numbers)

    def _learn(self, view: IssueView) -> int:
        marker = parsed(view.body) if is_one_of(view.author, self._own) and not view.pull_request else None
        if marker is not None:
            self._known[view.number] = view, marker
        else:
            self._known.pop(view.number, None)
        return view.number

    def _filed(self, claim: Claim, marker: Marker, content: dict[str, Any]) -> IssueView:
        turn = self._client.turn()
        while True:
            if (found := self._surely(marker.id)) is not None:
                return found
            claim.confirm()
            try:
                made = self._client.once(self._path, content, IssueView.of)
            except UnsureError as error:
                turn.again(error.settled(self._client.budget.limits.settled))
            else:
                self._labels.restore(made.labels)
                return self._only(marker, made)

    def _surely(self, fingerprint: str) -> IssueView | None:
        """Like `find`, by answers that can't be old."""
        if (found := self.find(fingerprint)) is not None:
            return found
        number, missing = max(self._scan_newest(None), self._complete or 0) + 1, 0
        while missing < GAP:
            view = self._issue(number)
            missing = missing + 1 if view is None else 0
            self._complete = self._learn(view) if view is not None else self._complete
            number += 1
        return self._recalled(fingerprint)

    def _issue(self, number: int) -> IssueView | None:
        path = f"{self._path}/{number}"
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
        self._client.put("PATCH", f"{self._path}/{made.number}", closed, IssueView.of)
        return oldest


def _issues(data: Any) -> list[IssueView]:
    return [IssueView.of(each) for each in listed(data)]
