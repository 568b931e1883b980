"""One thread's work on bugs of earlier builds: what their stored scripts do on a build now."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.campaign.scripts import CORRUPTION_FACTOR, Scripts, is_compared
from fuzz_core.campaign.session import MEMORY_BYTES
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.errors import BuildError, CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.triage.process import Processes
from fuzz_core.triage.recheck import (
    CHANGED,
    CLEAN,
    UNRUNNABLE,
    Check,
    Sighting,
    beside_plain,
    by_assertion,
    by_failure,
    by_verdicts,
    summed,
)
from fuzz_core.triage.script import render
from fuzz_core.triage.signature import corrupts_heap, signature


class Case(NamedTuple):
    """A bug with the verdict on the finding that it was made from."""

    bug: BugRow
    verdict: Verdict

    def replayed(self, dialect: Dialect) -> bool:
        """Whether no script shows it, so that a worker has to."""
        leak = self.verdict.kind == "leak"
        return self.verdict.oracle != "crash" and not leak and not is_compared(self.verdict, dialect)


class Checker:
    """Runs bugs on one target; `plan` is for those that a worker has to replay. Threads may share it."""

    def __init__(
        self,
        target: TargetRecord,
        dialect: Dialect,
        processes: Processes,
        timeout: float,
        plan: Path | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.target = target
        self.dialect = dialect
        self.scripts = Scripts(target.python, dialect, processes, timeout)
        self.timeout = timeout
        self.plan = plan
        self.stopped = stopped
        self.zygote: Zygote | None = None
        self.lock = threading.Lock()

    def imports(self) -> Outcome:
        """What the library does when it is only imported."""
        return self.scripts.outcome("\n".join(self.dialect.imports) + "\n", "import")

    def check(self, case: Case, runs: int) -> Check:
        """What these runs say together."""
        return summed(self.sightings(case, runs))

    def sightings(self, case: Case, runs: int) -> list[Sighting]:
        """What `runs` fresh processes say of a bug; a corrupted heap is noticed by chance, and gets more of them.

        What cannot run is not tried again.
        """
        if case.replayed(self.dialect):
            return self._by_replay(case, runs)
        runs *= CORRUPTION_FACTOR if corrupts_heap(case.bug.outcome) else 1
        seen: list[Sighting] = []
        while len(seen) < runs and not (seen and seen[-1].status == UNRUNNABLE):
            outcome = self.scripts.outcome(case.bug.script, case.bug.kind)
            crash = case.verdict.oracle == "crash"
            seen.append(self._failed(case.bug, outcome, seen) if crash else self._held(case, outcome))
        return seen

    def _failed(self, bug: BugRow, outcome: Outcome, before: Sequence[Sighting]) -> Sighting:
        """Where it died is asked for only if the signature says where, and once for deaths that look alike."""
        seen = by_failure(bug, outcome, self.dialect)
        if seen.status != CHANGED or not (bug.outcome.frames and bug.outcome.name == outcome.name):
            return seen
        alike = [each.outcome.frames for each in before if each.outcome[:3] == outcome[:3]]
        there = outcome._replace(frames=alike[0]) if alike else self.scripts.with_frames(outcome, bug.script)
        return by_failure(bug, there, self.dialect)

    def _held(self, case: Case, outcome: Outcome) -> Sighting:
        seen = by_assertion(case.bug, outcome, self.dialect)
        if seen.status not in (CLEAN, CHANGED):
            return seen
        try:
            plain = render(case.bug.test, self.dialect, seeded=True)
        except (CodecError, BuildError) as error:
            return Sighting(UNRUNNABLE, outcome, str(error))
        return beside_plain(seen, self.scripts.outcome(plain, case.bug.kind), case.bug.script)

    def _by_replay(self, case: Case, runs: int) -> list[Sighting]:
        """One at a time: every replay needs a zygote, and few bugs need one."""
        wanted = signature(case.bug.api, case.verdict, case.bug.outcome).text
        with self.lock:
            if self.zygote is None:
                target = self.target
                self.zygote = Zygote(target.python, target.library, "fuzz", self.plan, self.stopped)
            replayer = Replayer(self.zygote, self.timeout, MEMORY_BYTES)
            try:
                return [self._replayed(case, wanted, replayer) for _ in range(runs)]
            finally:
                replayer.close()

    def _replayed(self, case: Case, wanted: str, replayer: Replayer) -> Sighting:
        replayed = replayer.run(case.bug.test, fresh=True)
        return by_verdicts(case.bug, replayed.verdicts, wanted, replayed.outcome, self.dialect)

    def close(self) -> None:
        """Ends the zygote, if there is one."""
        if self.zygote is not None:
            self.zygote.close()
