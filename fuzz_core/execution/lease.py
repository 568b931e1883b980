"""What the pool and the campaign say to each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from fuzz_core.ir.outcome import Outcome

# A pipe holds 65,536 bytes.
MAX_NEWS = 48_000


@dataclass
class Lease:
    """A range of an api's tests for one worker; `log` asks for every outcome (validation).

    timeout: seconds per test, the pool's own where None. news: the outcome classes that the api's tests have shown so
    far, in order, each with its test in the corpus, only ever added to; a process is told each item once. shown: how
    many items the worker knows during this lease.
    died_in: the mode in which its worker died, if not in
    the first; not to be trusted.
    """

    number: int
    api: str
    first: int
    last: int
    until: float | None = None
    log: bool = False
    timeout: float | None = None
    news: Mapping[str, str | None] = field(default_factory=dict)
    shown: int = 0
    died_in: str = ""

    def message(self, told: int = 0) -> dict[str, Any]:
        """What a worker is told that knows the first `told` items of the news; sets `shown`."""
        fields = {"lease": self.number, "api": self.api, "first": self.first, "last": self.last}
        fresh = list(_within(islice(self.news.items(), told, None), MAX_NEWS))
        self.shown = told + len(fresh)
        return {**fields, "until": self.until, "log": self.log, "news": fresh}


def _within(items: Iterable[Any], characters: int) -> Iterator[Any]:
    """The first items, as many as fit: a worker that does not read must not block the controller."""
    for item in items:
        characters -= len(json.dumps(item)) + 2
        if characters < 0:
            return
        yield item


class Listener(Protocol):
    """What the campaign does with the pool's news. Called on the controller's only thread."""

    def next_lease(self) -> Lease | None:
        """More work, or None when there is none (now: asked again after other workers are done)."""

    def message(self, lease: Lease, message: dict[str, Any]) -> None:
        """A worker's line: untrusted data."""

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """A worker died in this test of the lease."""


@dataclass
class Limits:
    """timeout: seconds per test. memory: bytes per worker beyond the imported library. recycle: tests per process.

    A gigabyte is far more than a test below the element cap needs, and little enough that most calls asked for gigantic
    results fail soon: with three, time-outs took two thirds of a TensorFlow run.
    disk: bytes that a worker may have in its directory at any time; beyond `litter`, or where its memory has grown by
    `growth` bytes, it is replaced after the lease. processes: how many it may have started.
    """

    timeout: float = 3.0
    memory: int = 1 << 30
    recycle: int = 200_000
    disk: int = 256 << 20
    litter: int = 1 << 20
    growth: int = 512 << 20
    processes: int = 64
