"""Processes in which scripts and test cases run on one build: workers, forks, fresh interpreters."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fuzz_core.adapters.dialect import Dialect, dialect_of
from fuzz_core.campaign.session import Session
from fuzz_core.execution.forks import Zygotes
from fuzz_core.execution.replay import Replayer
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.crash import PROGRAM
from fuzz_core.store.records import FindingRow, TargetRecord
from fuzz_core.triage.assess import suspected_death
from fuzz_core.triage.process import DEFAULT_MEMORY, Confirmation, Finished, Processes, classify, frames, run_script
from fuzz_core.triage.signature import corrupts_heap, inside, signature

PLAIN = "cpu"
IMPORT_SECONDS = 30.0
GDB_SECONDS = 120.0
HANG_IMPORT_SECONDS = 5.0
HANG_FACTOR = 5.0
# A minimised call that ends within this many times a test's limit is slow, and no hang. Minimising keeps each call that
# takes a second, and a busy machine makes calls two or three times as slow.
STUCK_FACTOR = 10.0
HANGS_AT_A_TIME = 2
CORRUPTION_FACTOR = 3
# The number of fresh interpreters that a finding gets before it counts as not reproduced, if a fork has shown it.
LOOKS = 2
# For all that a script has its library compile, at the first run.
COMPILING_SECONDS = 180.0
CRASH = oracle_of("crash")


@dataclass
class Bench:
    """Runs scripts and replays test cases on one build, in one thread."""

    target: TargetRecord
    processes: Processes
    timeout: float  # seconds of a test
    plan: Path | None = None  # plan for bugs that a worker has to replay
    stopped: Callable[[], bool] = lambda: False
    compiled: set[str] = field(default_factory=set)  # scripts whose library has compiled what they need
    zygotes: Zygotes | None = None  # zygotes that several benches share; None: this bench has its own

    @property
    def dialect(self) -> Dialect:
        """The dialect of the target's library."""
        return dialect_of(self.target.library)

    def seconds(self, kind: str) -> float:
        """Return the time limit of a script that shows a bug of this kind."""
        return self.timeout * HANG_FACTOR + (HANG_IMPORT_SECONDS if kind == "hang" else IMPORT_SECONDS)

    def run(self, script: str, kind: str, seconds: float | None = None, memory_bytes: int = DEFAULT_MEMORY) -> Outcome:
        """Return the outcome of a script in a fresh process.

        Compiling for the library does not count towards a hang's limit.
        """
        if kind == "hang" and self.dialect.compiled and script not in self.compiled:
            self.compiled.add(script)
            run_script(self.target.python, script, self.dialect, COMPILING_SECONDS, processes=self.processes)
        limits = (self.seconds(kind) if seconds is None else seconds, memory_bytes)
        return run_script(self.target.python, script, self.dialect, *limits, processes=self.processes)

    def fork(
        self, script: str, kind: str, number: int = 0, traced: bool = False, seconds: float | None = None
    ) -> Outcome:
        """Return the outcome of a script in a fork of a process that has imported the library and made no call.

        Args:
            number: which run it is.
            traced: whether to look for the native frames of a death.
            seconds: its time limit; for a hang, which has been looked at for longer before, that of a test.
        """
        began = time.monotonic()
        seconds = seconds or self._fork_seconds(kind)
        end = self.shared.run(script, seconds, number, traced)
        outcome = classify(Finished(end.status, "", end.stderr, time.monotonic() - began), self.dialect)
        if outcome.kind != "signal" or outcome.frames or end.frames is None:
            return outcome
        return outcome._replace(frames=inside(end.frames, self.dialect))

    def _fork_seconds(self, kind: str) -> float:
        """Return the time limit of a script in a fork, without the import; some libraries compile first."""
        if kind == "hang":
            return self.timeout
        return self.seconds(kind) if self.dialect.compiled else self.timeout * HANG_FACTOR

    def _shows(self, script: str, kind: str, forks: int, wanted: Callable[[Outcome], bool]) -> bool:
        """Return whether all forks but the first show the bug.

        Hanging forks run side by side, in the usual limit.
        """
        if kind != "hang":
            return all(wanted(self.fork(script, kind, number)) for number in range(1, forks))
        with ThreadPoolExecutor(HANGS_AT_A_TIME) as threads:
            return all(map(wanted, threads.map(lambda number: self.fork(script, kind, number), range(1, forks))))

    def look(self, script: str, kind: str, alone: bool) -> Outcome:
        """Return the outcome of a first run: in a fresh interpreter (`alone`), or in a fork.

        The interpreter has no limit of memory, because such a limit kills some scripts.
        """
        return self.run(script, kind, memory_bytes=0) if alone else self.fork(script, kind, traced=kind != "hang")

    def confirm(
        self,
        script: str,
        kind: str,
        wanted: Callable[[Outcome], bool],
        runs: int,
        first: Outcome,
        alone: bool,
        known: bool = False,
    ) -> Confirmation:
        """Return how often a script ends as wanted, `first` among the runs, see `look`.

        Forks and one interpreter settle it if they agree, and interpreters alone if they do not. Forks have one layout
        of memory, on which a fault that touches foreign memory depends: then interpreters are half of the runs. A
        `known` bug has had its interpreter.
        """
        # The allocator notices a corrupted heap in some layouts of memory alone, so there are more runs.
        wanted_runs = runs * (CORRUPTION_FACTOR if corrupts_heap(first) else 1)
        if not alone:
            interpreters = 0 if known else (runs + 1) // 2 if suspected_death(first) else 1
            forks = max(wanted_runs - interpreters, 0)
            if self._shows(script, kind, forks, wanted):
                if known:
                    return Confirmation(wanted_runs, wanted_runs, first, forks)
                # The forks of a hang have had a test's time limit.
                seconds = self.timeout * STUCK_FACTOR + HANG_IMPORT_SECONDS if kind == "hang" else None
                fresh = [self.run(script, kind, seconds, memory_bytes=0)]
                while wanted(fresh[-1]) and len(fresh) < interpreters:
                    fresh.append(self.run(script, kind))
                if wanted(fresh[-1]):
                    # The interpreter shows the same death as the fork, so that the fork's frames are true of both.
                    same = first[:2] == fresh[0][:2] and not fresh[0].frames
                    outcome = fresh[0]._replace(frames=first.frames) if same else fresh[0]
                    return Confirmation(wanted_runs, wanted_runs, outcome, forks)
                if kind == "hang":
                    return Confirmation(0, 1, fresh[0])
            first = self.look(script, kind, alone=True)
        outcomes, hits = [first], [first] if wanted(first) else []
        # A miss beside a hit decides, and so do two misses.
        while len(outcomes) < wanted_runs and (len(hits) == len(outcomes) or len(outcomes) < LOOKS):
            outcomes.append(self.run(script, kind, memory_bytes=0))
            hits += [outcomes[-1]] if wanted(outcomes[-1]) else []
        return Confirmation(len(hits), len(outcomes), (hits or outcomes[-1:])[0])

    def with_frames(self, outcome: Outcome, script: str) -> Outcome:
        """Return a death with the native frames of its place, unless its own text names the fault.

        The allocator notices a corrupted heap later than the fault, at another place.
        """
        if outcome.kind != "signal" or outcome.frames or speaks(outcome) or corrupts_heap(outcome):
            return outcome
        found = frames(self.target.python, script, GDB_SECONDS, self.dialect, self.processes)
        return outcome._replace(frames=found)

    @cached_property
    def shared(self) -> Zygotes:
        """The zygotes of the build; benches of one examination share them."""
        return self.zygotes or Zygotes(self.target.python, self.target.library, self.plan, self.stopped)

    @cached_property
    def replayer(self) -> Replayer:
        """Replay test cases, for one thread at a time; its zygote starts when it is asked for first."""
        return Replayer(self.shared.of("fuzz"), self.timeout)

    def evidence(
        self, test: TestCase, finding: FindingRow, *, fresh: bool = False, seconds: float | None = None
    ) -> Outcome | None:
        """Return the outcome in a replay that has the finding's own signature; `seconds` as in `Replayer.run`."""
        ours, mode = finding.verdict, finding.verdict.mode
        wanted = signature(finding.api, ours, finding.outcome).text
        replayed = self.replayer.run(test, fresh=fresh, weigh=ours.kind == "leak", mode=mode, seconds=seconds)
        plain = CRASH.judge({PLAIN: replayed.outcome}, self.dialect), replayed.outcome
        for verdict, outcome in [*replayed.verdicts, plain]:
            same = (verdict.oracle, verdict.kind) == (ours.oracle, ours.kind)
            if mode == PROGRAM:
                # Other ways into the library may end in the same words.
                same = same and verdict.mode == PROGRAM and outcome.frames == finding.outcome.frames
            if same and signature(finding.api, verdict, outcome).text == wanted:
                return outcome
        return None

    def close(self) -> None:
        """End the zygotes, if there are any."""
        if "shared" in vars(self):
            self.shared.close()


class Benches:
    """Benches of a session, one for each thread and build; all end together.

    Args:
        plans: the plan of each build, see `Bench`.
    """

    def __init__(self, session: Session, timeout: float, plans: Mapping[str, Path | None]) -> None:
        self.session = session
        self.timeout = timeout
        self.plans = plans
        self.processes = Processes()
        self.lock = threading.Lock()
        self.made: dict[tuple[int, str], Bench] = {}
        self.zygotes: dict[str, Zygotes] = {}

    def on(self, target: TargetRecord) -> Bench:
        """Return the bench of the calling thread."""
        place = threading.get_ident(), target.key
        with self.lock:
            if place not in self.made:
                plan, stopped = self.plans.get(target.key), self.session.stopped
                if target.key not in self.zygotes:
                    self.zygotes[target.key] = Zygotes(target.python, target.library, plan, stopped)
                more = (self.timeout, plan, stopped, set[str](), self.zygotes[target.key])
                self.made[place] = Bench(target, self.processes, *more)
            return self.made[place]

    def close(self) -> None:
        """End all zygotes and scripts, and with them any work still running in a thread."""
        self.processes.end()
        for zygotes in list(self.zygotes.values()):
            zygotes.close()


def speaks(outcome: Outcome) -> bool:
    """Return whether the error output names the fault.

    Then no debugger runs: on TensorFlow it takes half a minute.
    """
    return "Check failed" in outcome.text
