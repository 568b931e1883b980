"""Bugs of a target and of its baseline, each run on the other build: what is new, was there before, or is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from fuzz_core.campaign.recheck import RecheckOptions, recheck
from fuzz_core.campaign.session import Session
from fuzz_core.store.known import OPEN
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import CHANGED, CLEAN, FLAKY, SHOWN, UNRUNNABLE

REGRESSION, NEW_API, PRESENT, FIXED, REMOVED = "regression", "new api", "pre-existing", "fixed", "removed api"
# Worst first.
CLASSES = (REGRESSION, NEW_API, PRESENT, FIXED, REMOVED)
_OF_TARGET = {SHOWN: PRESENT, CHANGED: PRESENT, FLAKY: PRESENT, CLEAN: REGRESSION, UNRUNNABLE: NEW_API}
_OF_BASELINE = {CLEAN: FIXED, UNRUNNABLE: REMOVED}


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
    return classed(store, session.target.key, baseline.key)


def _unchecked(store: Store, found_on: str, there: str) -> list[BugRow]:
    checked = {(check.bug, check.target) for check in store.checks()}
    later = store.later_rows()
    own = [bug for bug in store.bugs(found_on) if bug.status == OPEN and bug.id not in later]
    return [bug for bug in own if (bug.id, there) not in checked]


def classed(store: Store, target: str, baseline: str) -> list[Classed]:
    """What the checks on record say of the bugs of both builds, worst first."""
    newest = {(check.bug, check.target): check.status for check in store.checks()}
    later = store.later_rows()
    found = [*_of_target(store, target, baseline, newest, later), *_of_baseline(store, target, baseline, newest)]
    return sorted(found, key=lambda each: (CLASSES.index(each.what), each.bug.id))


def _of_target(
    store: Store, target: str, baseline: str, newest: dict[tuple[int, str], str], later: dict[int, int]
) -> Iterator[Classed]:
    for bug in store.bugs(target):
        first = store.bug(later.get(bug.id, bug.id))
        status = SHOWN if first.target == baseline else newest.get((first.id, baseline))
        if status is not None:
            yield Classed(bug, _OF_TARGET[status])


def _of_baseline(store: Store, target: str, baseline: str, newest: dict[tuple[int, str], str]) -> Iterator[Classed]:
    for bug in store.bugs(baseline):
        what = _OF_BASELINE.get(newest.get((bug.id, target), SHOWN))
        if what is not None:
            yield Classed(bug, what)
