"""Findings go on record as they come, a few of each signature."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.store.store import Store
from fuzz_core.triage.signature import signature

KEPT_PER_SIGNATURE = 4


class Kept(NamedTuple):
    """What became of a finding: whether it is the first of its signature in this run, and whether it is on record."""

    signature: str
    first: bool
    added: bool


class Keeping:
    """The findings of one run on one target."""

    def __init__(self, store: Store, target: str, run: int) -> None:
        self.store = store
        self.target = target
        self.run = run
        self.seen: Counter[str] = Counter()

    def keep(self, test: TestCase, verdict: Verdict, outcome: Outcome, origin: str = "") -> Kept:
        """Commits a finding unless its signature has been kept four times in this run."""
        text = signature(test.invocation.api, verdict, outcome).text
        self.seen[text] += 1
        added = None
        if self.seen[text] <= KEPT_PER_SIGNATURE:
            added = self.store.add_finding(self.target, self.run, test, verdict, outcome, origin)
        return Kept(text, self.seen[text] == 1, added is not None)
