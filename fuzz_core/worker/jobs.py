"""What a forked process does: list apis, run a seed, or fuzz the leases it is handed."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fuzz_core.adapters.base import Adapter, Listed
from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.codec import decode_test, encode_test
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.tracing.runner import run_seed
from fuzz_core.worker.execution import Execution
from fuzz_core.worker.journal import Journal
from fuzz_core.worker.plan import Plan

REPEATS_REPORTED = 2
_VARIABLE = re.compile(r"\d+|0x[0-9a-f]+|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)")


class World(NamedTuple):
    """What the zygote has loaded and its children share."""

    adapter: Adapter
    dialect: Dialect
    listed: list[Listed]
    hooks: Hooks | None
    plan: Plan | None


class Channel(NamedTuple):
    """A child's pipes and journal; lines are JSON."""

    incoming: int
    outgoing: int
    journal: Journal | None

    def write(self, line: str) -> None:
        """Sends one line whole; a closed pipe ends the process, since nobody is there to work for.

        It begins on a line of its own, whatever a library may have written to the pipe before.
        """
        data = b"\n" + line.encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(self.outgoing, data) :]
        except OSError:
            os._exit(0)

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message."""
        self.write(json.dumps(message) + "\n")

    def lines(self) -> Iterator[dict[str, Any]]:
        """Messages from the controller until it closes the pipe."""
        with os.fdopen(self.incoming, "rb", buffering=1 << 16, closefd=False) as file:
            for line in file:
                yield json.loads(line)


def inventory(world: World, channel: Channel, _: dict[str, Any]) -> None:
    """Sends every api, the folders of the library's packages and the programs of its test databases."""
    for entry in world.listed:
        channel.send({"api": entry.api.to_json()})
    for prefix in world.adapter.prefixes:
        file = getattr(sys.modules.get(prefix), "__file__", None)
        if file:
            channel.send({"package": [prefix, str(Path(file).parent)]})
    for name, code in world.adapter.seed_programs():
        channel.send({"program": [name, code]})
    channel.send({"end": True})


def seed(world: World, channel: Channel, job: dict[str, Any]) -> None:
    """Runs one seed under the recorder."""
    if world.hooks is None:
        raise RuntimeError("this zygote was not started for tracing")
    run_seed(world.adapter, world.listed, world.hooks, job["seed"], channel.write)


def fuzz(world: World, channel: Channel, _: dict[str, Any]) -> None:
    """Works off leases until the controller closes the pipe."""
    world.adapter.prepare()
    worker = Worker(world, channel)
    for lease in channel.lines():
        worker.replay(lease) if "test" in lease else worker.work(lease)


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


JOBS: dict[str, Callable[[World, Channel, dict[str, Any]], None]] = {
    "inventory": inventory,
    "seed": seed,
    "fuzz": fuzz,
}
