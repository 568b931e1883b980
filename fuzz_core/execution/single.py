"""Processes that do one job each and end: seeds under the recorder, the inventory of a target."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fuzz_core.execution.deaths import outcome_of
from fuzz_core.execution.zygote import Child, Zygote, kill
from fuzz_core.ir.outcome import Outcome

MAX_LINES = 200_000
MAX_LINE = 8 << 20


@dataclass
class Job:
    """What a process is to do, and the seconds it may take. `tag` is the caller's."""

    name: str
    request: dict[str, Any]
    seconds: float
    tag: Any = None


@dataclass
class Result:
    """The messages a process sent, in order, and how it ended (`exit` with name 0 is the good end)."""

    job: Job
    messages: list[dict[str, Any]] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Outcome("exit", "0"))
    garbage: int = 0

    @property
    def complete(self) -> bool:
        """Whether the process said that it had done all it had to do."""
        return bool(self.messages) and bool(self.messages[-1].get("end"))


@dataclass
class _Running:
    child: Child
    result: Result
    deadline: float
    buffer: bytearray = field(default_factory=bytearray)


def run_jobs(
    zygote: Zygote, jobs: Iterable[Job], workers: int, memory: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Result]:
    """Runs jobs, `workers` at a time, and yields each result as its process ends. After `stop`, the rest is dropped."""
    waiting, selector = iter(jobs), selectors.DefaultSelector()
    try:
        while not stop():
            while len(selector.get_map()) < workers and (job := next(waiting, None)) is not None:
                child = zygote.fork(job.name, memory, **job.request)
                state = _Running(child, Result(job), time.monotonic() + job.seconds)
                selector.register(child.from_child, selectors.EVENT_READ, state)
            if not selector.get_map():
                return
            yield from _turn(zygote, selector)
    finally:
        for key in list(selector.get_map().values()):
            kill(key.data.child)
            _end(zygote, selector, key.data)
        selector.close()


def _turn(zygote: Zygote, selector: selectors.BaseSelector) -> Iterator[Result]:
    for key, _ in selector.select(0.1):
        if not _read(key.data):
            yield _end(zygote, selector, key.data)
    now = time.monotonic()
    for key in list(selector.get_map().values()):
        if now > key.data.deadline:
            kill(key.data.child)
            while _read(key.data):
                continue
            result = _end(zygote, selector, key.data)
            result.outcome = Outcome("timeout", f"{key.data.result.job.seconds:g} s")
            yield result


def _read(state: _Running) -> bool:
    """Reads what is there; False at the end of the pipe."""
    try:
        data = os.read(state.child.from_child, 1 << 20)
    except BlockingIOError:
        return True
    except OSError:
        return False
    *lines, rest = (bytes(state.buffer) + data).split(b"\n")
    state.buffer[:] = rest[:MAX_LINE]
    for line in filter(None, lines):
        _take(state.result, line)
    return bool(data)


def _take(result: Result, line: bytes) -> None:
    message = None
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(line)
    if isinstance(message, dict) and len(result.messages) < MAX_LINES:
        result.messages.append(message)
    else:
        result.garbage += 1


def _end(zygote: Zygote, selector: selectors.BaseSelector, state: _Running) -> Result:
    selector.unregister(state.child.from_child)
    state.result.outcome = outcome_of(zygote.reap(state.child), state.child.output)
    state.child.close()
    return state.result
