"""Whose turn it is to write something: GitHub itself decides, as it makes a label of one name only once.

Two runners that find the same bug both look it up, both find nothing, and would both file it. So the one that files
makes a label first; to the other, GitHub answers that the label is there. The label is gone when the writing is done.
Answers to writes come from GitHub's primary store: unlike those to reads, they are never old.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote

from nightfuzz.bot.github.client import Client, Turn
from nightfuzz.bot.github.errors import GaveUpError, RefusedError, UnsureError

PREFIX = "nightfuzz:filing-"
COLOUR = "ededed"
LONGEST_NAME = 50
ABANDONED = timedelta(days=1)
_WORDS = "nightfuzz is writing this very moment"


class LostError(UnsureError):
    """Somebody else took over what we had claimed, as we were silent for too long."""


class Claim:
    """What one runner may write until it is released. Made by `Claims.held`."""

    def __init__(self, claims: Claims, name: str, nonce: str, since: datetime) -> None:
        self._claims, self._name, self._nonce, self._since = claims, name, nonce, since
        self._turn = 0

    def confirm(self) -> None:
        """To be called just before writing: raises LostError where it is not ours any more."""
        if self._is_fresh():
            return
        if not self.is_ours():
            raise LostError(f"{self._name} was taken over by another runner")
        self._turn += 1
        now = self._claims.now()
        self._claims.describe(self._name, f"{self._nonce}.{self._turn}")
        self._since = now

    def release(self) -> None:
        """The next one's turn."""
        if self._is_fresh() or self.is_ours():
            self._claims.remove(self._name)

    def _is_fresh(self) -> bool:
        """Whether nobody can have taken it over yet."""
        return (self._claims.now() - self._since).total_seconds() < self._claims.client.budget.limits.lease / 3

    def is_ours(self) -> bool:
        """Whether GitHub says so now."""
        holder = self._claims.holder(self._name)
        return holder is not None and holder.split(".")[0] == self._nonce


class Claims:
    """The claims of one repository. nonces: texts that nobody else uses."""

    def __init__(self, client: Client, nonces: Callable[[], str]) -> None:
        self.client = client
        self._nonces = nonces

    def now(self) -> datetime:
        """The injected clock."""
        return self.client.budget.clock()

    @contextmanager
    def held(self, key: str, done: Callable[[], bool]) -> Iterator[Claim | None]:
        """Inside, nobody else writes what `key` names. None where another runner wrote it while we waited (`done`)."""
        name, nonce = f"{PREFIX}{key}"[:LONGEST_NAME], self._nonces()
        claim = self._acquired(name, nonce, done)
        try:
            yield claim
        finally:
            # What is left of a claim after a failure ends by itself: it is taken over, and swept.
            if claim is not None:
                with suppress(GaveUpError, RefusedError):
                    claim.release()

    def describe(self, name: str, holder: str) -> None:
        """Says who holds it. Raises LostError where nobody does any more."""
        try:
            self.client.put("PATCH", self._path(name), {"description": self._words(holder)}, _whole)
        except RefusedError as error:
            if error.status != 404:
                raise
            raise LostError(f"{name} is gone") from None

    def holder(self, name: str) -> str | None:
        """Who holds it, None where nobody does: asked by a write that changes nothing."""
        try:
            return self.client.put("PATCH", self._path(name), {}, _holder)
        except RefusedError as error:
            if error.status != 404:
                raise
            return None

    def sweep(self, labels: list[tuple[str, str]]) -> None:
        """Removes claims that a runner left behind a day ago or longer. labels: name and description of all."""
        for name, words in labels:
            since = _since(words)
            if name.startswith(PREFIX) and since is not None and self.now() - since > ABANDONED:
                self.remove(name)

    def _acquired(self, name: str, nonce: str, done: Callable[[], bool]) -> Claim | None:
        waiting, turn, began = _Waiting(None, self.now()), self.client.turn(), self.now()
        while True:
            if self._made(name, nonce, turn):
                return Claim(self, name, nonce, began)
            holder = self.holder(name)
            if holder is not None and holder.split(".")[0] == nonce:
                return Claim(self, name, nonce, began)
            if done():
                return None
            if holder is not None:
                waiting = self._waited(name, holder, waiting, turn)
            began = self.now()

    def _made(self, name: str, nonce: str, turn: Turn) -> bool:
        body = {"name": name, "color": COLOUR, "description": self._words(nonce)}
        try:
            self.client.once(f"{self.client.home}/labels", body, _whole)
            return True
        except UnsureError as error:
            turn.again(error.settled(self.client.budget.limits.settled))
        except RefusedError as error:
            if error.status != 422 or (error.codes and "already_exists" not in error.codes):
                raise
        return False

    def _waited(self, name: str, holder: str, before: _Waiting, turn: Turn) -> _Waiting:
        now = self.now()
        if holder != before.holder:
            before = _Waiting(holder, now)
        elif (now - before.since).total_seconds() > self.client.budget.limits.lease:
            self.remove(name)
            return _Waiting(None, now)
        turn.wait(self.client.budget.limits.poll, f"another runner holds {name}")
        return before

    def remove(self, name: str) -> None:
        """Whoever holds it."""
        try:
            self.client.put("DELETE", self._path(name), None, _whole)
        except RefusedError as error:
            if error.status != 404:
                raise

    def _path(self, name: str) -> str:
        return f"{self.client.home}/labels/{quote(name, safe='')}"

    def _words(self, holder: str) -> str:
        return f"{_WORDS} ({self.now().astimezone(UTC):%Y-%m-%dT%H:%MZ} {holder})"


class _Waiting(NamedTuple):
    holder: str | None
    since: datetime


def _whole(data: Any) -> Any:
    return data


def _holder(data: Any) -> str:
    return str(data["description"] or "").rstrip(")").rpartition(" ")[2]


def _since(words: str) -> datetime | None:
    try:
        return datetime.fromisoformat(words.rpartition("(")[2].split(" ")[0])
    except ValueError:
        return None
