"""Where a worker's time goes: the hot loop over a plan, in the target's interpreter, with a clock around every part.

`python -m bench.profile LIBRARY PLAN SECONDS` prints a JSON object: seconds by part, tests by outcome, deaths. A child
takes turns at the apis; where a test kills it or hangs, the next child goes on with the next api.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from time import perf_counter
from typing import Any, NoReturn

from fuzz_core.worker import limits
from fuzz_core.worker.journal import SIZE, Journal
from fuzz_core.worker.loop import Channel, Worker, World
from fuzz_core.worker.zygote import load_world

TURN_SECONDS = 0.1
TURN_TESTS = 2000
SILENT_SECONDS = 5.0
MEMORY_BYTES = 1 << 30
REST = "the loop itself"
CALLS = "building arguments"
INSIDE = "inside the library"


class Parts:
    """Seconds by part; what a part spends in another part counts for that alone."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.stack = [REST]
        self.since = perf_counter()

    def turn(self) -> None:
        """What has passed since the last turn goes to the part under way."""
        now = perf_counter()
        self.seconds[self.stack[-1]] += now - self.since
        self.since = now

    def clock(self, owner: object, method: str, part: str) -> None:
        """Clocks a method of an object."""
        original: Callable[..., Any] = getattr(owner, method)

        def clocked(*args: Any, **kwargs: Any) -> Any:
            self.turn()
            self.stack.append(part)
            try:
                return original(*args, **kwargs)
            finally:
                self.turn()
                self.stack.pop()

        setattr(owner, method, clocked)

    def collection(self, phase: str, _: dict[str, int]) -> None:
        """A callback of Python's garbage collector."""
        self.turn()
        if phase == "start":
            self.stack.append("collecting garbage")
        else:
            self.stack.pop()


class Quiet(Channel):
    """A worker's channel on which nothing is sent; what a lease came to is kept."""

    last: dict[str, Any]

    def send(self, message: dict[str, Any]) -> None:
        """Spells the message out, as is done for sending it."""
        json.dumps(message)
        if "done" in message:
            self.last = message


def clocked_worker(world: World, parts: Parts) -> tuple[Worker, Quiet]:
    """A worker as in a run, with clocks."""
    world.adapter.prepare()
    journal = os.memfd_create("journal")
    os.ftruncate(journal, SIZE)
    channel = Quiet(-1, -1, Journal(journal))
    worker = Worker(world, channel)
    execution = worker.execution
    for owner, method, part in (
        (worker.plan, "test", "mutating"),
        (worker.journal, "begin", "journal"),
        (worker.journal, "end", "journal"),
        (world.adapter, "state", "checking global state"),
        (world.adapter, "reset", "reseeding"),
        (execution, "judge", "judging"),
        (execution, "run", "catching exceptions"),
        (execution.mode(execution.modes[0]).builder, "call", CALLS),
        (channel, "send", "reporting"),
    ):
        parts.clock(owner, method, part)
    gc.callbacks.append(parts.collection)
    return worker, channel


def child(world: World, apis: list[str], positions: dict[str, int], outgoing: int) -> NoReturn:
    """Takes turns until it is ended, and tells of each before and after."""
    limits.redirect(os.open("/tmp/nightfuzz-profile.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    limits.limit(MEMORY_BYTES)
    parts = Parts()
    worker, channel = clocked_worker(world, parts)
    while True:
        for api in apis:
            os.write(outgoing, json.dumps({"api": api}).encode() + b"\n")
            first, inside = positions[api], worker.execution.inside()
            parts.seconds.clear()
            parts.since = perf_counter()
            # As `execution.pool.Lease` says it, which takes more than a target has.
            turn = {"lease": 1, "api": api, "first": first, "last": first + TURN_TESTS, "log": False, "news": ()}
            worker.work({**turn, "until": time.monotonic() + TURN_SECONDS})
            parts.turn()
            parts.seconds[INSIDE] = worker.execution.inside() - inside
            parts.seconds[CALLS] -= parts.seconds[INSIDE]
            positions[api] = channel.last["next"]
            told = {"seconds": dict(parts.seconds), "counts": channel.last["counts"], "next": positions[api]}
            os.write(outgoing, json.dumps(told).encode() + b"\n")
            if channel.last["retire"]:
                os._exit(0)


class Profile:
    """What the children have told."""

    def __init__(self, world: World, seconds: float) -> None:
        assert world.plan is not None
        self.world = world
        self.apis = sorted(world.plan.places)
        self.positions = {api: world.plan.count(api) for api in self.apis}
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.counts: Counter[str] = Counter()
        self.deaths = 0
        self.last = self.apis[-1]
        self.end = time.monotonic() + seconds

    def run(self) -> dict[str, Any]:
        """Forks children until the time is over."""
        while time.monotonic() < self.end:
            self._child()
        return {"seconds": dict(self.seconds), "counts": dict(self.counts), "deaths": self.deaths}

    def _child(self) -> None:
        ours, theirs = os.pipe()
        after = self.apis.index(self.last) + 1
        order = self.apis[after:] + self.apis[:after]
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(KeyboardInterrupt):
                child(self.world, order, self.positions, theirs)
            os._exit(70)
        os.close(theirs)
        with os.fdopen(ours, "rb", buffering=0) as lines:
            while self._spoke(lines.fileno()) and (line := lines.readline()):
                self._take(json.loads(line))
        os.kill(pid, signal.SIGKILL)
        self.deaths += os.waitpid(pid, 0)[1] != 0 and time.monotonic() < self.end

    def _spoke(self, descriptor: int) -> bool:
        wait = min(SILENT_SECONDS, self.end - time.monotonic())
        return wait > 0 and bool(select.select([descriptor], [], [], wait)[0])

    def _take(self, told: dict[str, Any]) -> None:
        if "api" in told:
            self.last = told["api"]
            # Where it dies in this turn nobody is told; the next one begins behind it.
            self.positions[self.last] += TURN_TESTS
            return
        self.positions[self.last] = told["next"]
        for part, spent in told["seconds"].items():
            self.seconds[part] += spent
        self.counts.update(told["counts"])


def main(library: str, plan: str, seconds: str) -> None:
    """Prints the profile."""
    limits.cut_network()
    world = load_world(library, "fuzz", plan)
    limits.default_signals()
    print(json.dumps(Profile(world, float(seconds)).run()))


if __name__ == "__main__":
    main(*sys.argv[1:])
