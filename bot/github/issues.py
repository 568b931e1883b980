"""Issues that are filed once, even if a request that files them is repeated or lost.

Before: the marker is looked up. Then it is claimed (`labels`), so that no other runner files it. Then it is looked up
by answers that can't be old, and filed.

A request without an answer may have taken effect. GitHub ends a request after ten seconds, so the bot waits that long
and looks the marker up again before it files a second time. After: if there are two issues all the same, the bot closes
the younger one, with a link to the older one.

Listings may be old. So the look-up reads the numbers that follow the newest known one. If a read finds no issue, a
write that changes no data asks GitHub's primary store. Numbers are consecutive, so two missing ones end the search (one
can be a discussion, or be deleted).
"""

from __future__ import annotations

from nightfuzz.bot.github.client import PAGE, Client, many
from nightfuzz.bot.github.labels import Labels, write_once
from nightfuzz.bot.github.marker import Marker, marked, parsed
from nightfuzz.bot.github.views import IssueView, is_same_login

GAP = 2
DUPLICATE = "duplicate"


class Issues:
    """Files and finds our issues of one repository.

    If `client` is of another repository, the bot may only read and file there: it sends no other write. All of our
    issues are known up to the number `_complete`; a later issue may be known or not.
    """

    def __init__(self, client: Client, labels: Labels, login: str, home: Client) -> None:
        self._client, self._labels, self._login, self._home = client, labels, login, home
        self._known: dict[int, tuple[IssueView, Marker]] = {}
        self._complete: int | None = None

    @property
    def _is_home(self) -> bool:
        return self._client is self._home

    def create(self, marker: Marker, title: str, body: str, labels: tuple[str, ...]) -> IssueView:
        """Return the issue of a marker, open or closed; file the issue if it does not exist."""
        content = {"title": title, "body": marked(body, marker)} | ({"labels": list(labels)} if self._is_home else {})

        def create() -> IssueView:
            made = self._client.create("issues", content, IssueView.of)
            self._labels.restore(made.labels)
            return self._keep_oldest(marker, made)

        return write_once(
            self._client,
            self._home,
            marker.id,
            lambda: self.find(marker.id),
            lambda: self._find_surely(marker.id),
            create,
        )

    def find(self, fingerprint: str) -> IssueView | None:
        """Return our issue about a fingerprint, as the listings say; of several, the oldest."""
        if self._complete is None:
            # An old answer to this is a beginning of the new one, as the order says.
            asked = {"creator": self._login, "state": "all", "sort": "created", "direction": "asc"}
            numbers = [self._learn(view) for view in self._client.pages("issues", IssueView.of, asked)]
            self._complete = max(numbers, default=0)
        else:
            self._scan_newest({"creator": self._login})
        return self._recall(fingerprint)

    def _recall(self, fingerprint: str) -> IssueView | None:
        fitting = [
            (fingerprint != marker.id, number, view)
            for number, (view, marker) in self._known.items()
            if marker.covers(fingerprint) and marker.kind != DUPLICATE
        ]
        return min(fitting)[2] if fitting else None

    def _scan_newest(self, whose: dict[str, str]) -> int:
        """Read new issues and return the highest number."""
        asked = {"state": "all", "sort": "created", "direction": "desc", "per_page": PAGE, **whose}
        numbers = [self._learn(view) for view in self._client.read("issues", many(IssueView.of), asked)]
        if not numbers:
            return 0
        if len(numbers) < PAGE or min(numbers) <= (self._complete or 0) + 1:
            self._complete = max(self._complete or 0, *numbers)
        return max(numbers)

    def _learn(self, view: IssueView) -> int:
        is_ours = is_same_login(view.author, self._login) and not view.pull_request
        marker = parsed(view.body) if is_ours else None
        if marker is not None:
            self._known[view.number] = view, marker
        else:
            self._known.pop(view.number, None)
        return view.number

    def _find_surely(self, fingerprint: str) -> IssueView | None:
        """Like `find`, by answers that can't be old."""
        found = self.find(fingerprint)
        if found is not None or not self._is_home:
            return found
        number, missing = max(self._scan_newest({}), self._complete or 0) + 1, 0
        while missing < GAP:
            path = f"issues/{number}"
            view = self._client.find(path, IssueView.of) or self._client.find_surely(path, IssueView.of)
            missing = missing + 1 if view is None else 0
            self._complete = self._learn(view) if view is not None else self._complete
            number += 1
        return self._recall(fingerprint)

    def _keep_oldest(self, marker: Marker, made: IssueView) -> IssueView:
        """Return the issue that stays, after the one we made; ours is closed if an older one is about the same."""
        self._learn(made)
        oldest = self.find(marker.id)
        if oldest is None or oldest.number >= made.number:
            return made
        if self._is_home:
            words = marked(f"Filed twice by accident: see #{oldest.number}.", Marker(DUPLICATE, marker.id))
            closed = {"body": words, "state": "closed", "state_reason": "not_planned"}
            self._client.write("PATCH", f"issues/{made.number}", closed, IssueView.of)
        return oldest
