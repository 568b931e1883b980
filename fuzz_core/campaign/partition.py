"""The public and the private part of a state: split for publishing, and joined again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.history import libraries, review_statuses
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.checks import Change
from fuzz_core.store.merge import MergeResult, merge
from fuzz_core.store.parts import PrivateRows, ShownChange, part, shown_changes
from fuzz_core.store.records import BugRow, FindingRow
from fuzz_core.store.statefile import now, open_store
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import suspected_death, suspicion, withheld
from fuzz_core.triage.cost import cost

PENDING = "pending"


class Split(NamedTuple):
    """Private part of a state."""

    there: bool  # whether there is a private part; findings that were not examined may be private too
    fingerprints: tuple[str, ...]  # fingerprints of private bugs, sorted
    pending: int  # number of findings that wait for examination


def split(source: Path, public: Path, private: Path, clock: Callable[[], datetime] = now) -> Split:
    """Write the public and the private part of a state as two state files; the source stays as it is.

    Private are bugs that `withheld` names, with all their records; findings that were not examined; checks and changes
    that died like such bugs. `joined` merges the two parts.

    Raises:
        UserError: a file that cannot be read.
    """
    with open_store(source, read_only=True, clock=clock) as store:
        bugs, library = {bug.id: bug for bug in store.bugs()}, libraries(store)
        hidden = frozenset(withheld(list(bugs.values())))
        found, pending = set[int](), 0
        # Build by build: all findings at once may take more memory than the rest of a report job.
        for finding in (each for key in library for each in store.findings(key)):
            pending += finding.status == PENDING
            if _may_be_private(finding, bugs.get(finding.bug or 0), hidden):
                found.add(finding.id)
        apart = PrivateRows(
            hidden,
            frozenset(found),
            frozenset(each.id for each in store.checks() if _is_suspect("crash", each.outcome, bugs[each.bug])),
            frozenset(each.id for each in shown_changes(store) if is_deadly(each)),
        )
    fingerprints = tuple(sorted({bugs[number].signature for number in hidden}))
    return Split(part(source, public, private, apart, clock), fingerprints, pending)


def joined(into: Store, others: Sequence[Path]) -> MergeResult:
    """Fold states of the same kind into one, and update the status of bugs by all their checks."""
    done = merge(into, others, cost)
    review_statuses(into)
    return done


def _may_be_private(finding: FindingRow, bug: BugRow | None, hidden: frozenset[int]) -> bool:
    if finding.status == PENDING or finding.bug in hidden:
        return True
    if bug is None:
        return bool(suspicion(finding.verdict.kind, finding.outcome, finding.test))
    return _is_suspect(finding.verdict.kind, finding.outcome, bug)


def _is_suspect(kind: str, outcome: Outcome, bug: BugRow) -> bool:
    """Return whether an outcome of a bug is private.

    An outcome without a native stack gets the bug's.
    """
    seen = outcome if outcome.frames else outcome._replace(frames=bug.outcome.frames)
    return bool(suspicion(kind, seen, bug.test))


def is_deadly(change: Change | ShownChange) -> bool:
    """Return whether one of the two builds may have died of a fault that must not be public."""
    return bool(suspected_death(change.before) or suspected_death(change.after))
