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

    def take(self, lines: Iterable[bytes]) -> None:
        """Keeps the messages among the lines that have come."""
        for line in lines:
            message = parse(line)
            if message is not None and len(self.messages) < MAX_LINES:
                self.messages.append(message)
            else:
                self.garbage += 1


def run_jobs(
    zygote: Zygote, jobs: Iterable[Job], workers: int, memory: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Result]:
    """Runs jobs, `workers` at a time, and yields each result as its process ends. After `stop`, the rest is dropped."""
    waiting, links = iter(jobs), Links[tuple[Link, Result, Deadline]](Compiling(zygote.compiles))
    try:
        while not stop():
            while len(links.owners) < workers and (job := next(waiting, None)) is not None:
                child = zygote.fork(job.name, memory, **job.request)
                links.add(child, (child, Result(job), Deadline(job.seconds, links.compiling, child)))
            if not links.owners:
                return
            ended = set()
            for (child, result, _), lines, has_ended in links.wait(TURN_SECONDS):
                result.take(lines)
                if has_ended:
                    ended.add(child)
            late = {child for child, _, deadline in links.owners.values() if deadline.left < 0} - ended
            for child in late:
                child.kill()
            for child, result, _ in [owner for link, owner in links.owners.items() if link in ended | late]:
                links.drop(child)
                ending = child.reap()
                result.take(child.receive())
                child.close()
                result.outcome = Outcome("timeout", f"{result.job.seconds:g} s") if child in late else ending.outcome
                yield result
    finally:
        links.close()
        for child in links.owners:
            child.discard()
