"""Processes that do one job each and end: seeds under the recorder, the inventory of a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fuzz_core.execution.link import Compiling, Deadline, Link, Links
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import parse

MAX_LINES = 200_000
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
    child: Link
    result: Result
    deadline: Deadline


def run_jobs(
    zygote: Zygote, jobs: Iterable[Job], workers: int, memory: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Result]:
    """Runs jobs, `workers` at a time, and yields each result as its process ends. After `stop`, the rest is dropped."""
    waiting, links = iter(jobs), Links[_Running](Compiling(zygote.compiles))
    try:
        while not stop():
            while len(links.owners) < workers and (job := next(waiting, None)) is not None:
                child = zygote.fork(job.name, memory, **job.request)
                links.add(child, _Running(child, Result(job), Deadline(job.seconds, links.compiling, child)))
            if not links.owners:
                return
            for state, late in _turn(links):
                links.drop(state.child)
                yield _end(state, late)
    finally:
        links.close()
        for state in links.owners.values():
            state.child.discard()


def _turn(links: Links[_Running]) -> list[tuple[_Running, bool]]:
    """Reads what has come; returns the processes that are over, each with whether it is because of its time-out."""
    ended = set()
    for state, lines, has_ended in links.wait(TURN_SECONDS):
        _take(state.result, lines)
        if has_ended:
            ended.add(state)
    late = {state for state in links.owners.values() if state not in ended and state.deadline.left < 0}
    for state in late:
        state.child.kill()
    return [(state, state in late) for state in links.owners.values() if state in ended | late]


def _take(result: Result, lines: Iterable[bytes]) -> None:
    for line in lines:
        message = parse(line)
        if message is not None and len(result.messages) < MAX_LINES:
            result.messages.append(message)
        else:
            result.garbage += 1


def _end(state: _Running, late: bool) -> Result:
    ending = state.child.reap()
    _take(state.result, state.child.receive())
    state.child.close()
    overdue = Outcome("timeout", f"{state.result.job.seconds:g} s")
    state.result.outcome = overdue if late else ending.outcome
    return state.result
