"""Profile of a worker: the hot loop over a plan, in the target's interpreter, with a clock around every part.

`python -m bench.profile LIBRARY PLAN SECONDS` prints a JSON object: seconds by part, tests by outcome, deaths. A child
takes turns at the apis; if a test kills it or hangs, the next child goes on with the next api.
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
from collections.abc import Callable, Iterator
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


class PartClock:
    """A clock that counts seconds by part.

    A part that calls another part does not count the seconds of that.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.stack = [REST]
        self.since = perf_counter()

    def turn(self) -> None:
        """Count the time since the last turn for the part under way."""
        now = perf_counter()
        self.seconds[self.stack[-1]] += now - self.since
        self.since = now

    def clock(self, owner: object, method: str, part: str) -> None:
        """Clock a method of an object."""
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
        """Time Python's garbage collector, as its callback."""
        self.turn()
        if phase == "start":
            self.stack.append("collecting garbage")
        else:
            self.stack.pop()


class SilentChannel(Channel):
    """A worker's channel that drops every message and keeps the last report of a lease."""

    last: dict[str, Any]

    def send(self, message: dict[str, Any]) -> None:
        """Spell the message out, as for sending it."""
        json.dumps(message)
        if "done" in message:
            self.last = message


def clocked_worker(world: World, parts: PartClock) -> tuple[Worker, SilentChannel]:
    """Return a worker as in a run, with clocks."""
    world.adapter.prepare()
    journal = os.memfd_create("journal")
    os.ftruncate(journal, SIZE)
    channel = SilentChannel(-1, -1, Journal(journal))
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
    """Take turns at the apis until the process is ended, and write a line before and after each."""
    limits.redirect(os.open("/tmp/nightfuzz-profile.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    limits.limit(MEMORY_BYTES)
    parts = PartClock()
    worker, channel = clocked_worker(world, parts)
    while True:
        for api in apis:
            os.write(outgoing, json.dumps({"api": api}).encode() + b"\n")
            first, inside = positions[api], worker.execution.inside()
            parts.seconds.clear()
            parts.since = perf_counter()
            # The message of `execution.pool.Lease`, which imports more than a target has.
            turn = {"lease": 1, "api": api, "first": first, "last": first + TURN_TESTS, "log": False, "news": ()}
            worker.work({**turn, "until": time.monotonic() + TURN_SECONDS})
            parts.turn()
            parts.seconds[INSIDE] = worker.execution.inside() - inside
            parts.seconds[CALLS] -= parts.seconds[INSIDE]
            positions[api] = channel.last["next"]
            done = {"seconds": dict(parts.seconds), "counts": channel.last["counts"], "next": positions[api]}
            os.write(outgoing, json.dumps(done).encode() + b"\n")
            if channel.last["retire"]:
                os._exit(0)


def messages(descriptor: int, end: float) -> Iterator[dict[str, Any]]:
    """Read a child's output until it dies, is silent for too long, or the time is over."""
    with os.fdopen(descriptor, "rb", buffering=0) as lines:
        while (wait := min(SILENT_SECONDS, end - time.monotonic())) > 0:
            line = lines.readline() if select.select([lines], [], [], wait)[0] else b""
            if not line:
                return
            yield json.loads(line)


def profile(world: World, seconds: float) -> dict[str, Any]:
    """Fork children until the time is over; seconds by part, tests by outcome, and how many children died."""
    assert world.plan is not None
    apis = sorted(world.plan.places)
    positions = {api: world.plan.count(api) for api in apis}
    spent, counts, deaths = defaultdict[str, float](float), Counter[str](), 0
    last, end = apis[-1], time.monotonic() + seconds
    while time.monotonic() < end:
        ours, theirs = os.pipe()
        after = apis.index(last) + 1
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(KeyboardInterrupt):
                child(world, apis[after:] + apis[:after], positions, theirs)
            os._exit(70)
        os.close(theirs)
        for message in messages(ours, end):
            if "api" in message:
                last = message["api"]
                # A child that dies in this turn leaves no record: the next child begins behind the turn.
                positions[last] += TURN_TESTS
                continue
            positions[last] = message["next"]
            counts.update(message["counts"])
            for part, more in message["seconds"].items():
                spent[part] += more
        os.kill(pid, signal.SIGKILL)
        deaths += os.waitpid(pid, 0)[1] != 0 and time.monotonic() < end
    return {"seconds": dict(spent), "counts": dict(counts), "deaths": deaths}


def main(library: str, plan: str, seconds: str) -> None:
    """Print the profile."""
    limits.cut_network()
    world = load_world(library, "fuzz", plan)
    limits.default_signals()
    print(json.dumps(profile(world, float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
