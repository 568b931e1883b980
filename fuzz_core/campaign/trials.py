"""A bug tried on builds: does its stored script show it there, and how often."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fuzz_core.campaign.candidates import Candidate, Environments
from fuzz_core.campaign.checker import Case, Checker
from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.scripts import speaks
from fuzz_core.campaign.session import Session
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.store.probes import Probe
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.targets.commits import said_by_library
from fuzz_core.targets.record import Target
from fuzz_core.triage.process import Processes
from fuzz_core.triage.recheck import CHANGED, UNRUNNABLE, Check
from fuzz_core.triage.signature import corrupts_heap

# So often where its rate is learnt: as long as every run shows the bug, few are enough.
STEADY_RUNS = 5
RATE_RUNS = 20
INNERMOST = 2


class Trials:
    """Runs the bug's script on builds; any thread may ask.

    said: the signature that the script has today on the bug's own build, `own`, where it is another one than the bug's:
    other processors run other kernels, and another nightfuzz may write it in another way.
    """

    def __init__(
        self, session: Session, bug: BugRow, environments: Environments, timeout: float, stack: ExitStack
    ) -> None:
        self.session = session
        self.environments = environments
        self.timeout = timeout
        self.case = Case(bug, _verdict(session, bug))
        self.own = ""
        self.said = ""
        self.processes = Processes()
        self.plan: Path | None = None
        if self.case.replayed(session.dialect):
            self.plan = stack.enter_context(scratch()) / "plan.jsonl"
            make_plan(session, self.plan, (), seed=0, oracles=tuple(ORACLES), mutating=False)

    def probe(self, candidate: Candidate, runs: int, rate: bool) -> Probe:
        """Tries a build until it shows the bug, `runs` times at most; `rate`: to learn how often it does.

        Raises UserError where it is this machine's fault that there is no answer.
        """
        info: dict[str, Any] = {"version": candidate.version, "day": candidate.day, "commit": "", "reason": ""}
        try:
            target, made = self.environments.get(candidate)
        except UserError as error:
            if self.environments.is_ours(error, candidate):
                raise
            return Probe(candidate.spec, "broken", 0, 0, {**info, "reason": error.problem, "made": True})
        info |= {"commit": _commit(target), "made": made}
        if target.origin is not None and target.origin.day:
            info["day"] = target.origin.day
        return self._tried(candidate.spec, target, runs, rate, info)

    def _tried(self, spec: str, target: Target, runs: int, rate: bool, info: dict[str, Any]) -> Probe:
        record = TargetRecord(target.key, target.spec, target.library, target.version, str(target.python))
        stopped = self.session.stopped
        checker = Checker(record, self.session.dialect, self.processes, self.timeout, self.plan, stopped)
        hits = done = 0
        other = ""
        try:
            while done < runs and (rate or not hits):
                check = checker.check(self.case, 1)
                shown = self._shows(check, spec)
                hits, done = hits + shown, done + 1
                if not shown and check.status in (CHANGED, UNRUNNABLE):
                    other = check.said or f"{check.outcome.kind} {check.outcome.name}"
                if check.status == UNRUNNABLE or (rate and hits == done == STEADY_RUNS):
                    break
        finally:
            checker.close()
        status = "bad" if hits else "broken" if other else "good"
        why = f"its script fails in another way there: {other}" if status == "broken" else ""
        return Probe(spec, status, hits, done, {**info, "reason": why, "said": self.said if spec == self.own else ""})

    def _shows(self, check: Check, spec: str) -> bool:
        if check.status == CHANGED and spec == self.own:
            self.said = self.said or check.said
        same = check.said == self.said or alike(self.case.bug.outcome, check.outcome)
        return bool(check.hits) or (check.status == CHANGED and same)


def _verdict(session: Session, bug: BugRow) -> Verdict:
    """That of the finding which decided; of a bug without any, what the bug itself says."""
    found = session.store.findings(bug.target, "confirmed", bug.id)
    return found[0].verdict if found else Verdict(bug.oracle, bug.kind)


def alike(bug: Outcome, seen: Outcome) -> bool:
    """Deaths of one cause that look different: a corrupted heap is noticed anywhere, another build inlines others.

    Only the innermost frames say where it was: what called a kernel is the same for all.
    """
    if bug.kind != "signal" or seen.kind != "signal":
        return False
    unnamed = bug.name == seen.name and bool(bug.frames) and not speaks(seen)
    inner = {*bug.frames[:INNERMOST]} & {*seen.frames[:INNERMOST]}
    return corrupts_heap(bug) or (unnamed and (not seen.frames or bool(inner)))


def _commit(target: Target) -> str:
    if target.origin is not None and target.origin.commit:
        return target.origin.commit
    return said_by_library(target.info.commit).text
