"""Comments of ours: one per marker and issue, updated in place."""

from __future__ import annotations

from typing import Any

from nightfuzz.bot.github.claims import Claim, Claims, LostError
from nightfuzz.bot.github.client import Client
from nightfuzz.bot.github.errors import RefusedError, UnsureError
from nightfuzz.bot.github.marker import Marker, marked, parsed
from nightfuzz.bot.github.views import CommentView, is_one_of

ROUNDS = 6


class Comments:
    """own: logins whose comments are ours."""

    def __init__(self, client: Client, claims: Claims, own: tuple[str, ...]) -> None:
        self._client, self._claims, self._own = client, claims, own

    def all(self, number: int) -> list[CommentView]:
        """Of an issue or pull request, oldest first."""
        return list(self._client.pages(f"{self._client.home}/issues/{number}/comments", CommentView.of))

    def upsert(self, number: int, marker: Marker, body: str) -> CommentView:
        """Our one comment with this marker, with this text."""
        text = marked(body, marker)
        found = self._found(number, marker)
        turn = self._client.turn()
        seen: list[CommentView] = []
        while found is None:
            try:
                with self._claims.held(f"{number}-{marker.id}", lambda: self._sees(number, marker, seen)) as claim:
                    found = self._made(claim, number, marker, text) if claim else seen[0]
            except LostError as error:
                turn.again(error)
        return found if found.body.replace("\r\n", "\n") == text else self._edited(found.id, text)

    def delete(self, comment: int) -> None:
        """Deletes one of ours; nothing where it is gone already. Raises ValueError for somebody else's."""
        path = f"{self._client.home}/issues/comments/{comment}"
        try:
            if not is_one_of(self._client.read(path, CommentView.of).author, self._own):
                raise ValueError("only our own comments are deleted")
            self._client.put("DELETE", path, None, _nothing)
        except RefusedError as error:
            if error.status not in (404, 410):
                raise

    def _found(self, number: int, marker: Marker) -> CommentView | None:
        """The oldest of ours with this marker. Younger ones, left by an accident, are deleted."""
        found, *more = [*self._ours(self.all(number), marker), None]
        for each in more:
            if each is not None:
                self.delete(each.id)
        return found

    def _sees(self, number: int, marker: Marker, seen: list[CommentView]) -> bool:
        seen.extend(self._ours(self.all(number), marker))
        return bool(seen)

    def _ours(self, comments: list[CommentView], marker: Marker) -> list[CommentView]:
        ours = [each for each in comments if is_one_of(each.author, self._own)]
        return [each for each in ours if (read := parsed(each.body)) and read[:2] == marker[:2]]

    def _edited(self, comment: int, text: str) -> CommentView:
        path = f"{self._client.home}/issues/comments/{comment}"
        return self._client.put("PATCH", path, {"body": text}, CommentView.of)

    def _made(self, claim: Claim, number: int, marker: Marker, text: str) -> CommentView:
        path = f"{self._client.home}/issues/{number}/comments"
        turn, hidden = self._client.turn(), None
        while True:
            found, hidden = self._surely(number, marker, hidden)
            if found is not None:
                return found
            claim.confirm()
            try:
                return self._client.once(path, {"body": text}, CommentView.of)
            except UnsureError as error:
                turn.again(error.settled(self._client.budget.limits.settled))

    def _surely(self, number: int, marker: Marker, hidden: int | None) -> tuple[CommentView | None, int]:
        """Ours, by a listing that is as long as GitHub's primary store says; and how many comments are never listed.

        Those (spam) are counted, too: how many there are, we learn before we write.
        """
        turn, failed = self._client.turn(), 0
        while True:
            count, comments = self._count(number), self.all(number)
            if ours := self._ours(comments, marker):
                return ours[0], hidden or 0
            missing = count - len(comments)
            if missing <= (hidden or 0) or (hidden is None and failed == ROUNDS):
                return None, max(missing, 0) if hidden is None else hidden
            failed += 1
            turn.again(UnsureError("an old listing of comments"))

    def _count(self, number: int) -> int:
        """How many comments there are, asked by a write that changes nothing."""
        try:
            return self._client.put("PATCH", f"{self._client.home}/issues/{number}", {}, _count_of)
        except RefusedError as error:
            if error.status != 404:
                raise
        return self._client.put("PATCH", f"{self._client.home}/pulls/{number}", {}, _count_of)


def _count_of(data: Any) -> int:
    return int(data["comments"])


def _nothing(data: Any) -> None:
    return None
