"""Labels of a repository, and claims, which are labels that say which runner may write something.

Labels are made if missing, made again if somebody deletes one meanwhile, and left alone otherwise.

Claims: GitHub itself decides which runner writes, as it makes a label of one name only once.

Two runners that find the same bug would both look it up, find nothing and file it. So a runner makes a label first, and
GitHub tells the other one that the label is there. The runner deletes the label after writing. Answers to writes come
from GitHub's primary store and are never old, unlike answers to reads.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import quote

from nightfuzz.bot.github.client import Backoff, Client, many, nothing
from nightfuzz.bot.github.errors import GONE, GaveUpError, RefusedError, UnsureError, unless_refused

T = TypeVar("T")
LONGEST_DESCRIPTION = 100
PREFIX = "nightfuzz:filing-"
COLOUR = "ededed"
LONGEST_NAME = 50
ABANDONED = timedelta(days=1)
_WORDS = "nightfuzz is writing this very moment"


class Labels:
    """Remembers the labels that it has made, so that it can make them again as they were."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, tuple[str, str]] = {}

    def ensure(self, labels: Mapping[str, tuple[str, str]]) -> list[tuple[str, str]]:
        """Makes the missing labels. Returns the names and descriptions of all that were there; they stay as they are.

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
                    # An attempt whose answer was lost has made it, or somebody else.
                    if not is_taken(error):
                        raise
        return found

    def add(self, number: int, names: Iterable[str]) -> None:
        """Adds labels to an issue or pull request."""
        if body := list(names):
            self._repair(self._client.write("POST", f"issues/{number}/labels", {"labels": body}, many(named)))

    def restore(self, names: Iterable[str]) -> None:
        """Gives labels that GitHub made itself, on a new issue, their colour and description."""
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
    """The name and description of a label of the REST API."""
    return str(data["name"]), str(data.get("description") or "")


def label_path(name: str) -> str:
    """Where the label of this name is in its repository."""
    return f"labels/{quote(name, safe='')}"


def is_taken(error: RefusedError) -> bool:
    """Whether GitHub refused to make a label because there is one of its name."""
    return error.status == 422 and (not error.codes or "already_exists" in error.codes)


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
