"""The hot loop."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import Any

from fuzz_core.ir.codec import decode_test, encode_test
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.worker.channel import Channel, World
from fuzz_core.worker.execution import Execution

REPEATS_REPORTED = 2
_VARIABLE = re.compile(r"\d+|0x[0-9a-f]+|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)")


class Worker:
    """The hot loop: make a test case, write its number into the journal, execute, judge, report only what is new."""

    def __init__(self, world: World, channel: Channel) -> None:
        assert world.plan is not None
        assert channel.journal is not None
        self.plan = world.plan
        self.channel = channel
        self.journal = channel.journal
        self.execution = Execution(world.adapter, world.dialect, self.plan.header.oracles)
        self.state = world.adapter.state()
        self.adapter = world.adapter
        self.executed: set[int] = set()
        self.reported: Counter[tuple[str, str, str]] = Counter()

    def work(self, lease: dict[str, Any]) -> None:
        """A lease names an api, a range of its tests, and the clock time at which to hand the rest back."""
        api, until, log = lease["api"], lease["until"], lease["log"]
        counts: Counter[str] = Counter()
        index = lease["first"]
        began = time.monotonic()
        spoilt = False
        while index < lease["last"] and not spoilt and (until is None or time.monotonic() < until):
            test = self.plan.test(api, index)
            key = hash(test.invocation)
            if log or key not in self.executed:
                self.executed.add(key)
                self._one(lease["lease"], index, test, counts, log)
                spoilt = self.adapter.state() != self.state
            else:
                counts["duplicate"] += 1
            index += 1
        spent = time.monotonic() - began
        done = {"done": lease["lease"], "next": index, "counts": dict(counts), "seconds": spent}
        self.channel.send({**done, "retire": spoilt})

    def _one(self, lease: int, index: int, test: TestCase, counts: Counter[str], log: bool) -> None:
        self.journal.begin(lease, index)
        outcome, verdicts = self.execution.judge(test)
        self.journal.end()
        counts[outcome.kind] += 1
        if log:
            self.channel.send({"ran": index, "origin": test.origin, "outcome": outcome.to_json()})
        for verdict, evidence in verdicts:
            self._report(lease, index, test, verdict, evidence)

    def _report(self, lease: int, index: int, test: TestCase, verdict: Verdict, outcome: Outcome) -> None:
        key = (test.invocation.api, verdict.kind, _VARIABLE.sub("", outcome.text)[:200])
        self.reported[key] += 1
        if self.reported[key] <= REPEATS_REPORTED:
            self.channel.send(
                {
                    "finding": lease,
                    "index": index,
                    "test": encode_test(test),
                    "verdict": list(verdict),
                    "outcome": outcome.to_json(),
                }
            )

    def replay(self, lease: dict[str, Any]) -> None:
        """One given test case, for minimising; its outcome and verdicts are sent whatever they are."""
        test = decode_test(lease["test"])
        self.journal.begin(lease["lease"], 0)
        outcome, verdicts = self.execution.judge(test)
        self.journal.end()
        found = [[list(verdict), evidence.to_json()] for verdict, evidence in verdicts]
        self.channel.send({"replayed": lease["lease"], "outcome": outcome.to_json(), "verdicts": found})
