"""Which runner may write something: GitHub itself decides, as it makes a label of one name only once.

Two runners that find the same bug would both look it up, find nothing and file it. So a runner makes a label first, and
GitHub tells the other one that the label is there. The runner deletes the label after writing. Answers to writes come
from GitHub's primary store and are never old, unlike answers to reads.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from nightfuzz.bot.github.client import Backoff, Client, nothing
from nightfuzz.bot.github.errors import GONE, GaveUpError, RefusedError, UnsureError, unless_refused
from nightfuzz.bot.github.labels import is_taken, label_path, named

T = TypeVar("T")
PREFIX = "nightfuzz:filing-"
COLOUR = "ededed"
LONGEST_NAME = 50
ABANDONED = timedelta(days=1)
_WORDS = "nightfuzz is writing this very moment"


class LostError(UnsureError):
    """Another runner took over a claim of ours, as we were silent for too long."""


class Claim:
    """The right to write what `key` names; one runner has it at a time. client: of the repository with the label."""

    def __init__(self, client: Client, key: str) -> None:
        self._client, self._name = client, f"{PREFIX}{key}"[:LONGEST_NAME]
        self._path, self._nonce, self._turn = label_path(self._name), secrets.token_hex(8), 0
        self._since = self._now()

    def acquire(self, is_written: Callable[[], bool]) -> bool:
        """Waits for the right. Returns False if another runner has written meanwhile what `key` names."""
        backoff, seen_at = self._client.backoff(), self._now()
        other: str | None = None
        while True:
            self._since = now = self._now()
            if self._create(backoff) or self._is_ours(holder := self._holder()):
                return True
            if is_written():
                return False
            if holder is None:
                continue
            if holder != other:
                other, seen_at = holder, now
            elif (now - seen_at).total_seconds() > self._client.budget.limits.lease:
                delete_label(self._client, self._name)
                other = None
                continue
            backoff.wait(self._client.budget.limits.poll, f"another runner holds {self._name}")

    def confirm(self) -> None:
        """Is called just before writing. Raises LostError if another runner has taken over."""
        if self._is_fresh():
            return
        if not self._is_ours(self._holder()):
            raise LostError(f"{self._name} was taken over by another runner")
        self._turn += 1
        now, words = self._now(), {"description": self._description(f"{self._nonce}.{self._turn}")}
        if unless_refused(GONE, lambda: self._client.write("PATCH", self._path, words, named)) is None:
            raise LostError(f"{self._name} is gone")
        self._since = now

    def release(self) -> None:
        """Lets the next runner write."""
        if self._is_fresh() or self._is_ours(self._holder()):
            delete_label(self._client, self._name)

    def _create(self, backoff: Backoff) -> bool:
        body = {"name": self._name, "color": COLOUR, "description": self._description(self._nonce)}
        try:
            self._client.create("labels", body, nothing)
            return True
        except UnsureError as error:
            backoff.retry(error, self._client.budget.limits.in_flight)
        except RefusedError as error:
            if not is_taken(error):
                raise
        return False

    def _holder(self) -> str | None:
        """The text of the runner that has the right, None for no runner: asked by a write that changes nothing."""
        label = unless_refused(GONE, lambda: self._client.write("PATCH", self._path, {}, named))
        return label[1].rstrip(")").rpartition(" ")[2] if label else None

    def _is_ours(self, holder: str | None) -> bool:
        return holder is not None and holder.split(".")[0] == self._nonce

    def _is_fresh(self) -> bool:
        """Whether no other runner can have taken over yet."""
        return (self._now() - self._since).total_seconds() < self._client.budget.limits.lease / 3

    def _now(self) -> datetime:
        return self._client.budget.clock()

    def _description(self, holder: str) -> str:
        return f"{_WORDS} ({self._now().astimezone(UTC):%Y-%m-%dT%H:%MZ} {holder})"


def write_once(
    client: Client,
    claims: Client,
    key: str,
    find: Callable[[], T | None],
    find_surely: Callable[[], T | None],
    create: Callable[[], T],
    doubt: float = 1.0,
) -> T:
    """Returns what `find` finds, else what `create` makes. Whatever happens to a request or a runner: never two of it.

    claims: of the repository where the claim named `key` is made. find_surely: like `find`, by answers that can't be
    old. doubt: see `Client.create_once`.
    """
    backoff = client.backoff()
    while (found := find()) is None:
        claim = Claim(claims, key)
        if not claim.acquire(lambda: find() is not None):
            continue
        try:
            return client.create_once(find_surely, create, claim.confirm, doubt)
        except LostError as error:
            backoff.retry(error)
        finally:
            # A claim that is left after a failure ends by itself: it is taken over, and swept.
            with suppress(GaveUpError, RefusedError):
                claim.release()
    return found


def sweep(client: Client, labels: Iterable[tuple[str, str]]) -> None:
    """Deletes claims that a runner left a day ago or earlier. labels: names and descriptions."""
    for name, words in labels:
        with suppress(ValueError, TypeError):
            since = datetime.fromisoformat(words.rpartition("(")[2].split(" ")[0])
            if name.startswith(PREFIX) and client.budget.clock() - since > ABANDONED:
                delete_label(client, name)


def delete_label(client: Client, name: str) -> None:
    """Deletes a label, if it is there."""
    unless_refused(GONE, lambda: client.write("DELETE", label_path(name), None, nothing))
