"""Labels of a repository, and claims, which are labels that say which runner may write an issue or a comment.

Missing labels are made, and made again if a person deletes one meanwhile. Existing labels stay as they are.

Claims: GitHub itself decides which runner writes, as it makes a label of one name only once.

Two runners that find the same bug would both look it up, find no issue and file it. So a runner makes a label first,
and GitHub refuses the label to the other runner. The runner deletes the label after writing. Answers to writes come
from GitHub's primary store and are never old, unlike answers to reads.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import quote

from nightfuzz.bot.github.budget import Backoff
from nightfuzz.bot.github.client import Client, many, nothing
from nightfuzz.bot.github.errors import GaveUpError, RefusedError, UnsureError

T = TypeVar("T")
LONGEST_DESCRIPTION = 100
PREFIX = "nightfuzz:filing-"
COLOUR = "ededed"
LONGEST_NAME = 50
ABANDONED = timedelta(days=1)


class Labels:
    """Remembers the labels that it has made, so that it can make them again as they were."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, tuple[str, str]] = {}

    def ensure(self, labels: Mapping[str, tuple[str, str]]) -> None:
        """Make the missing labels; existing labels stay as they are.

        Claims that are a day old are deleted.

        Args:
            labels: colour and description by name.
        """
        self._known |= labels
        found = list(self._client.pages("labels", named))
        names = {name.casefold() for name, _ in found}
        for name, (colour, description) in labels.items():
            if name.casefold() not in names:
                body = {"name": name, "color": colour, "description": description[:LONGEST_DESCRIPTION]}
                try:
                    self._client.write("POST", "labels", body, named)
                except RefusedError as error:
                    # Another runner has made the label, or an attempt of ours whose answer was lost.
                    if not is_taken(error):
                        raise
        for name, words in found:
            with suppress(ValueError, TypeError):
                since = datetime.fromisoformat(words.rpartition("(")[2].split(" ")[0])
                # A claim from the future is of a runner with a wrong clock.
                if name.startswith(PREFIX) and abs(self._client.budget.clock() - since) > ABANDONED:
                    self._client.delete(label_path(name))

    def add(self, number: int, names: Iterable[str]) -> None:
        """Add labels to an issue or pull request."""
        if body := list(names):
            self._repair(self._client.write("POST", f"issues/{number}/labels", {"labels": body}, many(named)))

    def restore(self, names: Iterable[str]) -> None:
        """Give labels that GitHub made itself, on a new issue, their colour and description."""
        for name in names:
            if name in self._known:
                self._repair([self._client.read(label_path(name), named)])

    def _repair(self, found: list[tuple[str, str]]) -> None:
        for name, description in found:
            colour, ours = self._known.get(name, ("", ""))
            # A label that GitHub made itself has a colour of GitHub's choice and no description.
            if ours and not description:
                changes = {"color": colour, "description": ours[:LONGEST_DESCRIPTION]}
                self._client.write("PATCH", label_path(name), changes, named)


def named(data: Any) -> tuple[str, str]:
    """Return the name and description of a label of the REST API."""
    return str(data["name"]), str(data.get("description") or "")


def label_path(name: str) -> str:
    """Return the API path of a label in its repository."""
    return f"labels/{quote(name, safe='')}"


def is_taken(error: RefusedError) -> bool:
    """Return whether GitHub refused to make a label because there is one of its name."""
    return error.status == 422 and (not error.codes or "already_exists" in error.codes)


class LostError(UnsureError):
    """Another runner took over a claim of ours, as we were silent for too long."""


class Claim:
    """The right of one runner to write the object that `key` names.

    Args:
        client: of the label's repository.
    """

    def __init__(self, client: Client, key: str) -> None:
        self._client, self._clock, self._limits = client, client.budget.clock, client.budget.limits
        self._name = f"{PREFIX}{key}"[:LONGEST_NAME]
        self._path, self._nonce, self._renewals = label_path(self._name), secrets.token_hex(8), 0
        self._since = self._clock()

    def acquire(self, is_written: Callable[[], bool]) -> bool:
        """Wait for the right.

        Returns:
            False if another runner has written the object meanwhile.
        """
        backoff, seen_at = Backoff(self._client.budget), self._clock()
        other: str | None = None
        while True:
            self._since = now = self._clock()
            if self._create(backoff) or self._is_ours(holder := self._holder()):
                return True
            if is_written():
                return False
            if holder is None:
                continue
            if holder != other:
                other, seen_at = holder, now
            elif (now - seen_at).total_seconds() > self._limits.lease:
                self._client.delete(self._path)
                other = None
                continue
            backoff.wait(self._limits.poll, f"another runner holds {self._name}")

    def confirm(self) -> None:
        """Check that the right is still ours, just before a write.

        Raises:
            LostError: another runner has taken over.
        """
        if self._is_fresh():
            return
        if not self._is_ours(self._holder()):
            raise LostError(f"{self._name} was taken over by another runner")
        self._renewals += 1
        now, words = self._clock(), {"description": self._description(f"{self._nonce}.{self._renewals}")}
        if self._client.change(self._path, words, named) is None:
            raise LostError(f"{self._name} is gone")
        self._since = now

    def release(self) -> None:
        """Let the next runner write."""
        if self._is_fresh() or self._is_ours(self._holder()):
            self._client.delete(self._path)

    def _create(self, backoff: Backoff) -> bool:
        body = {"name": self._name, "color": COLOUR, "description": self._description(self._nonce)}
        try:
            self._client.create("labels", body, nothing)
            return True
        except UnsureError as error:
            backoff.retry(error, self._limits.in_flight)
        except RefusedError as error:
            if not is_taken(error):
                raise
        return False

    def _holder(self) -> str | None:
        """Return the text of the runner that has the right, None for no runner."""
        label = self._client.find_surely(self._path, named)
        return label[1].rstrip(")").rpartition(" ")[2] if label else None

    def _is_ours(self, holder: str | None) -> bool:
        return holder is not None and holder.split(".")[0] == self._nonce

    def _is_fresh(self) -> bool:
        """Return whether no other runner can have taken over yet."""
        return (self._clock() - self._since).total_seconds() < self._limits.lease / 3

    def _description(self, holder: str) -> str:
        return f"nightfuzz is writing this very moment ({self._clock().astimezone(UTC):%Y-%m-%dT%H:%MZ} {holder})"


def write_once(
    client: Client,
    claims: Client,
    key: str,
    find: Callable[[], T | None],
    find_surely: Callable[[], T | None],
    create: Callable[[], T],
) -> T:
    """Return the object that `find` finds, else the object that `create` makes, never twice, even with several runners.

    Args:
        client: sends the requests.
        claims: client of the repository that holds the claim.
        key: names the claim.
        find: looks the object up.
        find_surely: like `find`, by answers that can't be old.
        create: makes the object.
    """
    # In a repository of others, all listings may be old.
    patience, backoff = 1.0 if client is claims else 2.0, Backoff(client.budget)
    while (found := find()) is None:
        claim = Claim(claims, key)
        if not claim.acquire(lambda: find() is not None):
            continue
        try:
            return client.create_once(find_surely, create, claim.confirm, patience)
        except LostError as error:
            backoff.retry(error)
        finally:
            # A claim that is left after a failure ends by itself: it is taken over, and swept.
            with suppress(GaveUpError, RefusedError):
                claim.release()
    return found
