"""Recheck of bugs on another build: still there, changed, fixed, back, or unknown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.bench import Benches
from fuzz_core.campaign.history import BugHistory, Lives, libraries, ordered, review_statuses
from fuzz_core.campaign.plans import make_replay_plan
from fuzz_core.campaign.reproduce import Case, case_of, is_replayed, sightings
from fuzz_core.campaign.session import Session, run_parallel
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import FIXED, OPEN, NewCheck
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import (
    CHANGED,
    CLEAN,
    FLAKY,
    SHOWN,
    UNRUNNABLE,
    BuildVerdict,
    Mark,
    summed,
    with_own_failure,
)
from nightfuzz.reports.contradiction import contradiction

REGRESSION, NEW_API, PRESENT, REMOVED = "regression", "new api", "pre-existing", "removed api"
# Worst first.
CLASSES = (REGRESSION, NEW_API, PRESENT, FIXED, REMOVED)
_OF_TARGET = {SHOWN: PRESENT, CHANGED: PRESENT, FLAKY: PRESENT, CLEAN: REGRESSION, UNRUNNABLE: NEW_API}
_OF_BASELINE = {CLEAN: FIXED, UNRUNNABLE: REMOVED}


@dataclass
class RecheckOptions:
    """Options of a recheck."""

    bugs: Sequence[int] = ()  # numbers of bugs; empty for all open and fixed ones
    runs: int = 5  # fresh processes for each bug
    timeout: float = 3.0  # seconds of a test
    deadline: float | None = None  # clock time after which no new work begins


class Rechecked(NamedTuple):
    """Result of a bug's recheck on the target."""

    bug: BugRow
    check: BuildVerdict
    # Change of status: `fixed`, `regression`, `unverified`, `reopened`, or empty if the status stays. `unverified`: the
    # bug would be fixed, but its own build no longer shows it. `reopened`: the first clean build shows the bug after
    # all.
    turn: str
    status: str  # status of the bug from now on


@dataclass
class RecheckReport:
    """Checks made on `target`, in the order in which they were done, and how many bugs wait for the next time."""

    target: str
    checked: list[Rechecked] = field(default_factory=list)
    left: int = 0


def recheck(session: Session, options: RecheckOptions) -> RecheckReport:
    """Run bugs of the target's library on the target; each is on record as soon as it is done.

    Bugs that have waited longest come first, so that several short time-boxes reach all of them.

    Raises:
        UserError: the library does not import on the target: such a run would not test any bug.
    """
    review_statuses(session.store)
    cases = _cases(session, options.bugs)
    report = RecheckReport(session.target.key, left=len(cases))
    if not cases:
        return report
    session.watch.phase(f"rechecking on {session.target.key}", len(cases))
    lives = Lives(session.store)
    with scratch() as folder, ThreadPoolExecutor(session.workers, "recheck") as threads:
        work = _Work(session, options, cases, lives, folder)
        with closing(work):
            for case, found in run_parallel(session, threads, cases, work, options.deadline):
                done = _settled(session, lives, case.bug, found, case.bug.id in work.closing)
                report.checked.append(done)
                report.left -= 1
                session.watch.advance(len(report.checked))
                if done.turn:
                    session.watch.note(f"bug {done.bug.id}: {done.turn}: {done.bug.api}: {contradiction(done.bug)}")
    return report


def newest_targets(store: Store, numbers: Sequence[int] = ()) -> list[TargetRecord]:
    """Return the newest build (see `ordered`) of each library with bugs, all bugs or these numbers."""
    targets = store.targets()
    library = libraries(store)
    bugs = [store.bug(number) for number in numbers] if numbers else store.bugs()
    return [ordered(targets, name)[-1] for name in sorted({library[bug.target] for bug in bugs})]


class _Work:
    """Checks cases, in any thread.

    Attributes:
        closing: bugs that a clean target would close, if their own build still shows them.
    """

    def __init__(
        self, session: Session, options: RecheckOptions, cases: Sequence[Case], lives: Lives, folder: Path
    ) -> None:
        target = session.target
        self.options = options
        self.closing = {
            bug.id
            for bug, _ in cases
            if bug.status == OPEN
            and bug.target != target.key
            and lives.history_of(bug.id, bug.target, [Mark(bug.target, SHOWN), Mark(target.key, CLEAN)]).status == FIXED
        }
        self.target = target
        found_on = {case.bug.target: session.store.target(case.bug.target) for case in cases}
        self.builds = {key: each for key, each in found_on.items() if os.access(each.python, os.X_OK)}
        self.builds[target.key] = target
        plans = {key: _plan(replace(session, target=each), folder, cases) for key, each in sorted(self.builds.items())}
        self.benches = Benches(session, options.timeout, plans)
        self.close = self.benches.close
        seen = self.benches.on(target).run("\n".join(session.dialect.imports) + "\n", "import")
        if seen.kind != "ok":
            raise UserError(
                f"{target.library} does not import on {target.key}: {seen.name} {seen.text[-300:]}",
                "name another build with --target: no bug can be judged on a build that does not import",
            )

    def __call__(self, case: Case) -> dict[str, BuildVerdict]:
        """Return a bug's checks by build, on the target last.

        The origin is checked too if it decides whether the bug is fixed.
        """
        runs, origin = self.options.runs, self.builds.get(case.bug.target)
        seen = sightings(self.benches.on(self.target), case, runs)
        if origin is not None and summed(seen).status == CHANGED:
            own = seen if origin is self.target else sightings(self.benches.on(origin), case, 1)
            seen = with_own_failure(seen, own[0])
        check = {self.target.key: summed(seen)}
        if summed(seen).status != CLEAN or case.bug.id not in self.closing or origin is None:
            return check
        return {origin.key: summed(sightings(self.benches.on(origin), case, runs)), **check}


def _plan(session: Session, folder: Path, cases: Sequence[Case]) -> Path | None:
    """Write the plan that a worker needs to replay cases; None if no case is replayed.

    The documentation is that of the target, or else of the build of the first bug.
    """
    replayed = [case for case in cases if is_replayed(case.verdict, session.dialect)]
    if not replayed:
        return None
    path = folder / f"{session.target.key}.jsonl"
    if not session.store.apis(session.target.key):
        session = replace(session, target=session.store.target(replayed[0].bug.target))
    make_replay_plan(session, path)
    return path


def _cases(session: Session, numbers: Sequence[int]) -> list[Case]:
    """Return the bugs with these numbers, or all open and fixed ones of the library, each by its first row.

    Bugs that have waited longest come first, and hangs come last.

    Raises:
        UserError: a bug of another library.
    """
    store, ours, later = session.store, session.target.library, session.store.later_rows()
    library = libraries(store)
    if numbers:
        bugs = [store.bug(number) for number in dict.fromkeys(later.get(each, each) for each in numbers)]
        for bug in bugs:
            if (other := library[bug.target]) != ours:
                problem = f"bug {bug.id} is a bug of {other}, but the target {session.target.key} is a build of {ours}"
                raise UserError(problem, f"name a build of {other} with --target, or leave out bug {bug.id}")
    else:
        standing = [bug for bug in store.bugs() if library[bug.target] == ours and bug.status in (OPEN, FIXED)]
        bugs = [bug for bug in standing if bug.id not in later]
    last = {check.bug: check.id for check in store.checks() if check.target == session.target.key}
    bugs.sort(key=lambda bug: (last.get(bug.id, 0), bug.kind == "hang", bug.id))
    return [case_of(store, bug) for bug in bugs]


def _settled(
    session: Session, lives: Lives, bug: BugRow, checked: Mapping[str, BuildVerdict], closes: bool
) -> Rechecked:
    """Record the checks, that of the origin first.

    Two clean builds close an issue only if the origin still shows the bug.
    """
    here = checked[session.target.key]
    before = lives.history_of(bug.id, bug.target)
    session.store.add_checks(bug.id, [NewCheck(key, *check[:4]) for key, check in checked.items()])
    lives.marks[bug.id].extend(Mark(key, check.status) for key, check in checked.items())
    after = lives.history_of(bug.id, bug.target)
    if bug.status in (OPEN, FIXED):
        session.store.set_status(bug.id, after.status)
    turn = _turn(before, after) or ("unverified" if closes and here.status == CLEAN else "")
    return Rechecked(bug, here, turn, session.store.bug(bug.id).status)


def _turn(before: BugHistory, after: BugHistory) -> str:
    if len(after.past) > len(before.past):
        return "fixed" if after.status == FIXED else "regression"
    return "reopened" if len(after.past) < len(before.past) else ""


class ClassifiedBug(NamedTuple):
    """A bug with what it is between two builds: one of CLASSES."""

    bug: BugRow
    what: str


def cross(session: Session, baseline: TargetRecord, options: RecheckOptions) -> list[ClassifiedBug]:
    """Run the target's open bugs on the baseline and the baseline's on the target, and classify each bug.

    A bug that has been run there before is not run again. A bug that the deadline leaves has no class yet.
    """
    store = session.store
    for there, found_on in ((baseline, session.target.key), (session.target, baseline.key)):
        checked = {check.bug for check in store.checks() if check.target == there.key}
        skipped = checked | store.later_rows().keys()
        numbers = [bug.id for bug in store.bugs(found_on) if bug.status == OPEN and bug.id not in skipped]
        if numbers and not session.stopped():
            recheck(replace(session, target=there), replace(options, bugs=numbers))
    return _classed(store, session.target.key, baseline.key)


def _classed(store: Store, target: str, baseline: str) -> list[ClassifiedBug]:
    """Classify the bugs of both builds by the checks on record, worst first."""
    newest = {(check.bug, check.target): check.status for check in store.checks()}
    later = store.later_rows()
    found = []
    for bug in store.bugs(target):
        first = store.bug(later.get(bug.id, bug.id))
        status = SHOWN if first.target == baseline else newest.get((first.id, baseline))
        if status is not None:
            found.append(ClassifiedBug(bug, _OF_TARGET[status]))
    for bug in store.bugs(baseline):
        what = _OF_BASELINE.get(newest.get((bug.id, target), SHOWN))
        if what is not None:
            found.append(ClassifiedBug(bug, what))
    return sorted(found, key=lambda each: (CLASSES.index(each.what), each.bug.id))
