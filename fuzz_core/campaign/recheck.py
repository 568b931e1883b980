"""Bugs run again on another build: still there, changed, fixed, back, or not to be told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.history import Lives, Standing, ordered, review_standings
from fuzz_core.campaign.planning import make_replay_plan
from fuzz_core.campaign.reproduce import Bench, Case, case_of, is_replayed
from fuzz_core.campaign.session import Session, run_parallel
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import FIXED, OPEN, NewCheck
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.process import Processes
from fuzz_core.triage.recheck import CHANGED, CLEAN, FLAKY, SHOWN, UNRUNNABLE, Check, Mark, recognised, summed

REGRESSION, NEW_API, PRESENT, REMOVED = "regression", "new api", "pre-existing", "removed api"
# Worst first.
CLASSES = (REGRESSION, NEW_API, PRESENT, FIXED, REMOVED)
_OF_TARGET = {SHOWN: PRESENT, CHANGED: PRESENT, FLAKY: PRESENT, CLEAN: REGRESSION, UNRUNNABLE: NEW_API}
_OF_BASELINE = {CLEAN: FIXED, UNRUNNABLE: REMOVED}


@dataclass
class RecheckOptions:
    """bugs: their numbers; none: all open and fixed ones. runs: fresh processes for each. timeout: a test's, seconds.

    deadline: clock time after which nothing new begins.
    """

    bugs: Sequence[int] = ()
    runs: int = 5
    timeout: float = 3.0
    deadline: float | None = None


class Rechecked(NamedTuple):
    """What a bug did on the target. turn: `fixed`, `regression`, `unverified` (it would be fixed, but no longer shows
    itself where it was found), `reopened` (the first clean build shows it after all), or empty where it stands as
    before. status: of the bug, from now on.
    """

    bug: BugRow
    check: Check
    turn: str
    status: str


@dataclass
class RecheckReport:
    """What was checked on `target`, in the order in which it was done, and how many bugs wait for the next time."""

    target: str
    checked: list[Rechecked] = field(default_factory=list)
    left: int = 0


def recheck(session: Session, options: RecheckOptions) -> RecheckReport:
    """Runs bugs of the target's library on the target; each is on record as soon as it is done.

    Those that have waited longest come first, so that several short time-boxes get round all of them. Raises UserError
    where the library does not import there: that would say nothing of any bug.
    """
    review_standings(session.store)
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
                    session.watch.note(f"bug {done.bug.id}: {done.turn}: {done.bug.signature_text}")
    return report


def newest_targets(store: Store, numbers: Sequence[int] = ()) -> list[TargetRecord]:
    """The newest build (see `ordered`) of each library that has bugs, or of those of the bugs with these numbers."""
    targets = store.targets()
    library = {target.key: target.library for target in targets}
    bugs = [store.bug(number) for number in numbers] if numbers else store.bugs()
    return [ordered(targets, name)[-1] for name in sorted({library[bug.target] for bug in bugs})]


class _Found(NamedTuple):
    """What a bug did on the target, and where it was found if that decides whether it is fixed."""

    check: Check
    origin: Check | None = None


class _Work:
    """Checks cases, in any thread. closing: bugs that a clean target would close, if their own still shows them."""

    def __init__(
        self, session: Session, options: RecheckOptions, cases: Sequence[Case], lives: Lives, folder: Path
    ) -> None:
        target = session.target
        self.options = options
        self.processes = Processes()
        self.closing = {
            bug.id
            for bug, _ in cases
            if bug.status == OPEN
            and bug.target != target.key
            and lives.standing(bug.id, bug.target, [Mark(bug.target, SHOWN), Mark(target.key, CLEAN)]).status == FIXED
        }
        self.benches: dict[str, Bench] = {}
        for key in sorted({target.key} | {case.bug.target for case in cases}):
            there = replace(session, target=session.store.target(key))
            if key == target.key or os.access(there.target.python, os.X_OK):
                plan = _plan(there, folder / f"{key}.jsonl", cases)
                limits = (self.processes, options.timeout, plan, session.stopped)
                self.benches[key] = Bench(there.target, there.dialect, *limits)
        self.main = self.benches[target.key]
        seen = self.main.run("\n".join(session.dialect.imports) + "\n", "import")
        if seen.kind != "ok":
            raise UserError(
                f"{target.library} does not import on {target.key}: {seen.name} {seen.text[-300:]}",
                "a build that does not import says nothing of any bug: take another one with --target",
            )

    def close(self) -> None:
        """Ends all that runs."""
        for bench in self.benches.values():
            bench.close()
        self.processes.end()

    def __call__(self, case: Case) -> _Found:
        runs = self.options.runs
        seen = self.main.sightings(case, runs)
        origin = self.benches.get(case.bug.target)
        if origin is not None and summed(seen).status == CHANGED:
            seen = recognised(seen, seen[0] if origin is self.main else origin.sightings(case, 1)[0])
        check = summed(seen)
        if check.status != CLEAN or case.bug.id not in self.closing or origin is None:
            return _Found(check)
        return _Found(check, summed(origin.sightings(case, runs)))


def _plan(session: Session, path: Path, cases: Sequence[Case]) -> Path | None:
    """What a worker needs to replay; documentation is that of the target, or else of where the first one was found."""
    replayed = [case for case in cases if is_replayed(case.verdict, session.dialect)]
    if not replayed:
        return None
    if not session.store.apis(session.target.key):
        session = replace(session, target=session.store.target(replayed[0].bug.target))
    make_replay_plan(session, path)
    return path


def _cases(session: Session, numbers: Sequence[int]) -> list[Case]:
    """The bugs to check, those that have waited longest first, and hangs after all that takes less."""
    last = {check.bug: check.id for check in session.store.checks() if check.target == session.target.key}
    bugs = _named(session, numbers) if numbers else _standing(session)
    bugs.sort(key=lambda bug: (last.get(bug.id, 0), bug.kind == "hang", bug.id))
    return [case_of(session.store, bug) for bug in bugs]


def _standing(session: Session) -> list[BugRow]:
    """The open and the fixed bugs of the library, each by its first row."""
    store, ours = session.store, session.target.library
    library = {target.key: target.library for target in store.targets()}
    bugs = [bug for bug in store.bugs() if library[bug.target] == ours and bug.status in (OPEN, FIXED)]
    later = store.later_rows()
    return [bug for bug in bugs if bug.id not in later]


def _named(session: Session, numbers: Sequence[int]) -> list[BugRow]:
    """Those with these numbers. Raises UserError for a bug of another library."""
    later = session.store.later_rows()
    bugs = [session.store.bug(number) for number in dict.fromkeys(later.get(each, each) for each in numbers)]
    for bug in bugs:
        library = session.store.target(bug.target).library
        if library != session.target.library:
            raise UserError(
                f"bug {bug.id} is one of {library}, {session.target.key} holds {session.target.library}",
                f"name a target of {library}, or none",
            )
    return bugs


def _settled(session: Session, lives: Lives, bug: BugRow, found: _Found, closes: bool) -> Rechecked:
    """Records the checks, that of the origin first: without it two clean builds close nothing."""
    checked = {bug.target: found.origin} if found.origin is not None else {}
    checked[session.target.key] = found.check
    before = lives.standing(bug.id, bug.target)
    session.store.add_checks(bug.id, [NewCheck(key, *check[:4]) for key, check in checked.items()])
    lives.marks[bug.id].extend(Mark(key, check.status) for key, check in checked.items())
    after = lives.standing(bug.id, bug.target)
    if bug.status in (OPEN, FIXED):
        session.store.set_standing(bug.id, after.status)
    turn = _turn(before, after) or ("unverified" if closes and found.check.status == CLEAN else "")
    return Rechecked(bug, found.check, turn, session.store.bug(bug.id).status)


def _turn(before: Standing, after: Standing) -> str:
    if len(after.past) > len(before.past):
        return "fixed" if after.status == FIXED else "regression"
    return "reopened" if len(after.past) < len(before.past) else ""


class Classed(NamedTuple):
    """A bug with what it is between two builds: one of CLASSES."""

    bug: BugRow
    what: str


def cross(session: Session, baseline: TargetRecord, options: RecheckOptions) -> list[Classed]:
    """Runs the target's open bugs on the baseline and the baseline's on the target, and says what each is.

    What has been run there before is not run again; what the deadline leaves is of no class yet.
    """
    store = session.store
    for there, found_on in ((baseline, session.target.key), (session.target, baseline.key)):
        numbers = [bug.id for bug in _unchecked(store, found_on, there.key)]
        if numbers and not session.stopped():
            recheck(replace(session, target=there), replace(options, bugs=numbers))
    return _classed(store, session.target.key, baseline.key)


def _unchecked(store: Store, found_on: str, there: str) -> list[BugRow]:
    checked = {(check.bug, check.target) for check in store.checks()}
    later = store.later_rows()
    bugs = [bug for bug in store.bugs(found_on) if bug.status == OPEN and bug.id not in later]
    return [bug for bug in bugs if (bug.id, there) not in checked]


def _classed(store: Store, target: str, baseline: str) -> list[Classed]:
    """What the checks on record say of the bugs of both builds, worst first."""
    newest = {(check.bug, check.target): check.status for check in store.checks()}
    later = store.later_rows()
    found = []
    for bug in store.bugs(target):
        first = store.bug(later.get(bug.id, bug.id))
        status = SHOWN if first.target == baseline else newest.get((first.id, baseline))
        if status is not None:
            found.append(Classed(bug, _OF_TARGET[status]))
    for bug in store.bugs(baseline):
        what = _OF_BASELINE.get(newest.get((bug.id, target), SHOWN))
        if what is not None:
            found.append(Classed(bug, what))
    return sorted(found, key=lambda each: (CLASSES.index(each.what), each.bug.id))
