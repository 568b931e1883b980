"""Processes that do one job each and end: seeds under the recorder, the inventory of a target."""

from __future__ import annotations

import contextlib
import json
import os
import select
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fuzz_core.execution.compiling import Compiling, Excused
from fuzz_core.execution.deaths import outcome_of
from fuzz_core.execution.zygote import Child, Zygote, kill
from fuzz_core.ir.outcome import Outcome

MAX_LINES = 200_000
MAX_LINE = 8 << 20
TURN_SECONDS = 0.05


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


@dataclass(eq=False)
class _Running:
    child: Child
    result: Result
    deadline: float
    excused: Excused
    buffer: bytearray = field(default_factory=bytearray)
    closed: bool = False
    late: bool = False


def run_jobs(
    zygote: Zygote, jobs: Iterable[Job], workers: int, memory: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Result]:
    """Runs jobs, `workers` at a time, and yields each result as its process ends. After `stop`, the rest is dropped."""
    waiting, running = iter(jobs), set[_Running]()
    compiling = Compiling(zygote.compiles)
    try:
        while not stop():
            while len(running) < workers and (job := next(waiting, None)) is not None:
                child = zygote.fork(job.name, memory, **job.request)
                running.add(_Running(child, Result(job), time.monotonic() + job.seconds, Excused(compiling, child.pid)))
            if not running:
                return
            compiling.look(state.child.pid for state in running)
            for state in _turn(running):
                running.discard(state)
                yield _end(zygote, state)
    finally:
        for state in running:
            kill(state.child)
            _end(zygote, state)


def _turn(running: set[_Running]) -> list[_Running]:
    """Reads what has come, and returns those that are over. What one has started may hold its pipe open."""
    pipes = [state.child.from_child for state in running if not state.closed]
    ready, _, _ = select.select([*pipes, *(state.child.pidfd for state in running)], [], [], TURN_SECONDS)
    over, now = [], time.monotonic()
    for state in running:
        state.child.output.trim()
        if state.child.from_child in ready and not state.closed:
            state.closed = not _read(state)
        if state.child.pidfd in ready:
            over.append(state)
        elif now > state.deadline + state.excused.seconds:
            kill(state.child)
            state.late = True
            over.append(state)
    return over


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


def _end(zygote: Zygote, state: _Running) -> Result:
    status, said = zygote.reap(state.child), state.child.output.text()
    # Of what it has sent, a pipe holds no more than one reading takes.
    if not state.closed:
        _read(state)
    state.child.close()
    late = Outcome("timeout", f"{state.result.job.seconds:g} s")
    state.result.outcome = late if state.late else outcome_of(status, said)
    return state.result
