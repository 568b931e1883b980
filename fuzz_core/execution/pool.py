"""Workers on leases: the event loop that hands work out, reads what comes back and survives every death."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from fuzz_core.execution.deaths import outcome_of
from fuzz_core.execution.zygote import Child, Zygote, ZygoteError, kill
from fuzz_core.ir.outcome import Outcome

MAX_LINE = 8 << 20
TICK = 0.05
FUTILE_STARTS = 5


@dataclass
class Lease:
    """A range of an api's tests for one worker; `log` asks for every outcome (validation).

    timeout: seconds per test, the pool's own where None.
    """

    number: int
    api: str
    first: int
    last: int
    until: float | None = None
    log: bool = False
    timeout: float | None = None

    def message(self) -> dict[str, Any]:
        """What the worker is told."""
        fields = {"lease": self.number, "api": self.api, "first": self.first, "last": self.last}
        return {**fields, "until": self.until, "log": self.log}


class Listener(Protocol):
    """What the campaign does with the pool's news. Called on the controller's only thread."""

    def next_lease(self) -> Lease | None:
        """More work, or None when there is none (now: asked again after other workers are done)."""

    def message(self, lease: Lease, message: dict[str, Any]) -> None:
        """A worker's line: untrusted data."""

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """A worker died in this test of the lease."""


@dataclass
class Slot:
    """One worker's place: its process, the lease it works on and the line it is in the middle of."""

    child: Child | None = None
    lease: Lease | None = None
    buffer: bytearray = field(default_factory=bytearray)
    tests: int = 0
    spent: bool = False
    since: float = 0.0


@dataclass
class Limits:
    """timeout: seconds per test. memory: bytes per worker beyond the imported library. recycle: tests per process.

    A gigabyte is far more than a test below the element cap needs, and little enough that most calls asked for gigantic
    results fail soon: with three, time-outs took two thirds of a TensorFlow run.
    """

    timeout: float = 3.0
    memory: int = 1 << 30
    recycle: int = 20_000


class Pool:
    """Runs leases on `workers` processes forked from one zygote."""

    def __init__(self, zygote: Zygote, workers: int, limits: Limits) -> None:
        self.zygote = zygote
        self.limits = limits
        self.slots = [Slot() for _ in range(workers)]
        self.selector = selectors.DefaultSelector()
        self.deaths = 0
        self.restarts = 0
        self.futile = 0

    def run(self, listener: Listener, stop: Callable[[], bool], tick: Callable[[], None]) -> None:
        """Works until the listener has no more leases and none is under way, or `stop` says so."""
        try:
            while not stop():
                working = [self._feed(slot, listener) for slot in self.slots]
                if not any(working):
                    return
                for key, _ in self.selector.select(TICK):
                    self._read(key.data, listener)
                self._watch(listener)
                tick()
        finally:
            self.close()

    def _feed(self, slot: Slot, listener: Listener) -> bool:
        if slot.lease is None:
            lease = listener.next_lease()
            if lease is None:
                return False
            self._hand(slot, lease)
        return True

    def _hand(self, slot: Slot, lease: Lease) -> None:
        slot.lease = lease
        if slot.child is not None and slot.spent:
            self._retire(slot)
        if slot.child is None:
            slot.child = self.zygote.fork("fuzz", self.limits.memory)
            slot.buffer.clear()
            slot.tests, slot.spent = 0, False
            self.restarts += 1
            self.selector.register(slot.child.from_child, selectors.EVENT_READ, slot)
        slot.since = time.monotonic()
        try:
            os.write(slot.child.to_child, (json.dumps(lease.message()) + "\n").encode())
        except OSError:
            slot.buffer.clear()

    def _read(self, slot: Slot, listener: Listener) -> None:
        assert slot.child is not None
        try:
            data = os.read(slot.child.from_child, 1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        slot.buffer += data
        for line in self._whole_lines(slot):
            self._take(slot, line, listener)
        if not data:
            self._bury(slot, listener, None)
        elif len(slot.buffer) > MAX_LINE:
            kill(slot.child)

    def _whole_lines(self, slot: Slot) -> Iterator[bytes]:
        *lines, rest = bytes(slot.buffer).split(b"\n")
        slot.buffer[:] = rest
        yield from lines

    def _take(self, slot: Slot, line: bytes, listener: Listener) -> None:
        """Garbage on the pipe is the library's doing: the line is dropped, the run goes on."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if slot.lease is None or not isinstance(message, dict):
            return
        listener.message(slot.lease, message)
        if message.get("done") == slot.lease.number:
            slot.tests += _whole(message.get("next"), slot.lease.last) - slot.lease.first
            slot.lease = None
            # A test changed the library's global state: what came after it in this process would not replay.
            slot.spent = message.get("retire") is True or slot.tests >= self.limits.recycle

    def _watch(self, listener: Listener) -> None:
        """Ends workers that are in one test for longer than the time-out, or silent without being in any."""
        now = time.monotonic()
        for slot in self.slots:
            if slot.child is None or slot.lease is None:
                continue
            entry = slot.child.journal.read()
            inside = bool(entry.running) and entry.lease == slot.lease.number
            # A library may have written on the journal: a time to come would never be over.
            began = entry.clock if slot.since < entry.clock <= now else slot.since
            timeout = self.limits.timeout if slot.lease.timeout is None else slot.lease.timeout
            if now - began > (timeout if inside else self.limits.timeout * 4):
                self._bury(slot, listener, Outcome("timeout", f"{timeout:g} s", seconds=now - began))

    def _bury(self, slot: Slot, listener: Listener, outcome: Outcome | None) -> None:
        """Takes a dead or hanging worker out, and tells in which test of the lease it was."""
        child, lease = slot.child, slot.lease
        assert child is not None
        if outcome is not None:
            kill(child)
            self._drain(slot, listener)
            lease = slot.lease
        status = self._release(slot)
        # Only now does the journal stand still: a library that closed the pipe has told of its end too early.
        entry = child.journal.read()
        if lease is None:
            return
        self.deaths += 1
        outcome = outcome or outcome_of(status, child.output)
        self._check_start(entry.lease == lease.number, outcome)
        index = entry.test if entry.lease == lease.number else lease.first
        slot.lease = None
        listener.death(lease, index, outcome)

    def _check_start(self, began: bool, outcome: Outcome) -> None:
        """Workers that die one after the other before their first test will never work: that is no finding."""
        self.futile = 0 if began else self.futile + 1
        if self.futile > FUTILE_STARTS:
            raise ZygoteError(f"workers end before their first test: {outcome.kind} {outcome.name}\n{outcome.text}")

    def _drain(self, slot: Slot, listener: Listener) -> None:
        """Takes what a killed worker had already sent, which may be a finding."""
        assert slot.child is not None
        with contextlib.suppress(OSError):
            while data := os.read(slot.child.from_child, 1 << 20):
                slot.buffer += data
        for line in self._whole_lines(slot):
            self._take(slot, line, listener)

    def _release(self, slot: Slot) -> int:
        child = slot.child
        assert child is not None
        slot.child = None
        self.selector.unregister(child.from_child)
        status = self.zygote.reap(child)
        child.close()
        return status

    def _retire(self, slot: Slot) -> None:
        assert slot.child is not None
        kill(slot.child)
        self._release(slot)

    def close(self) -> None:
        """Ends all workers; a pool runs once."""
        for slot in self.slots:
            if slot.child is not None:
                self._retire(slot)
            slot.lease = None
        self.selector.close()


def _whole(value: object, bound: int) -> int:
    return min(value, bound) if type(value) is int else bound
