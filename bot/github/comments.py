"""Comments of ours: one per marker and issue, updated in place."""

from __future__ import annotations

from typing import Any

from nightfuzz.bot.github.client import Client, nothing
from nightfuzz.bot.github.errors import GONE, UnsureError, unless_refused
from nightfuzz.bot.github.labels import write_once
from nightfuzz.bot.github.marker import Marker, marked
from nightfuzz.bot.github.views import CommentView, is_same_login

ROUNDS = 6


class Comments:
    """login: whose comments are ours."""

    def __init__(self, client: Client, login: str) -> None:
        self._client, self._login = client, login

    def all(self, number: int) -> list[CommentView]:
        """The comments of an issue or pull request, oldest first."""
        return list(self._client.pages(f"issues/{number}/comments", CommentView.of))

    def upsert(self, number: int, marker: Marker, body: str) -> CommentView:
        """Our one comment with this marker, with this text."""
        text = marked(body, marker)
        hidden: int | None = None

        def find_surely() -> CommentView | None:
            nonlocal hidden
            found, hidden = self._find_surely(number, marker, hidden)
            return found

        found = write_once(
            self._client,
            self._client,
            f"{number}-{marker.id}",
            lambda: self._find(number, marker),
            find_surely,
            lambda: self._client.create(f"issues/{number}/comments", {"body": text}, CommentView.of),
        )
        if found.body.replace("\r\n", "\n") == text:
            return found
        return self._client.write("PATCH", f"issues/comments/{found.id}", {"body": text}, CommentView.of)

    def delete(self, comment: int) -> None:
        """Deletes a comment of ours, if it is there. Raises ValueError for a comment of somebody else."""
        path = f"issues/comments/{comment}"
        view = unless_refused(GONE, lambda: self._client.read(path, CommentView.of))
        if view is None:
            return
        if not is_same_login(view.author, self._login):
            raise ValueError("only our own comments are deleted")
        unless_refused(GONE, lambda: self._client.write("DELETE", path, None, nothing))

    def _find(self, number: int, marker: Marker) -> CommentView | None:
        """The oldest of ours with this marker. Younger ones, left by an accident, are deleted."""
        found = self._ours(self.all(number), marker)
        for each in found[1:]:
            self.delete(each.id)
        return found[0] if found else None

    def _ours(self, comments: list[CommentView], marker: Marker) -> list[CommentView]:
        return [each for each in comments if is_same_login(each.author, self._login) and marker.marks(each.body)]

    def _find_surely(self, number: int, marker: Marker, hidden: int | None) -> tuple[CommentView | None, int]:
        """Ours, by a listing that is as long as GitHub's primary store says; and how many comments are never listed.

        GitHub counts hidden comments (spam), too. Their number is learnt before the first write.
        """
        backoff, failed = self._client.backoff(), 0
        while True:
            count, comments = self._count(number), self.all(number)
            if ours := self._ours(comments, marker):
                return ours[0], hidden or 0
            missing = count - len(comments)
            if missing <= (hidden or 0) or (hidden is None and failed == ROUNDS):
                return None, max(missing, 0) if hidden is None else hidden
            failed += 1
            backoff.retry(UnsureError("an old listing of comments"))

    def _count(self, number: int) -> int:
        """How many comments there are, asked by a write that changes nothing."""

        def count(kind: str) -> int:
            return self._client.write("PATCH", f"{kind}/{number}", {}, _comments_of)

        found = unless_refused((404,), lambda: count("issues"))
        return count("pulls") if found is None else found


def _comments_of(data: Any) -> int:
    return int(data["comments"])
