"""What of a state may be public, and what goes to a private place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.history import review_standings
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.checks import CheckRow
from fuzz_core.store.merging import Merged, merge
from fuzz_core.store.opening import now, open_store
from fuzz_core.store.parting import Apart, part, shown_changes
from fuzz_core.store.records import BugRow, FindingRow
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import suspected_death, suspicion, withheld
from fuzz_core.triage.simplify import cost

PENDING = "pending"


class Split(NamedTuple):
    """What was kept apart. fingerprints: of private bugs, sorted. pending: how many findings wait for examination.

    there: whether there is a private part at all; what nobody has examined may be private too.
    """

    there: bool
    fingerprints: tuple[str, ...]
    pending: int


def split(source: Path, public: Path, private: Path, clock: Callable[[], datetime] = now) -> Split:
    """Writes the public and the private part of a state as two state files; the source stays as it is.

    Private are bugs that `withheld` names, with all that belongs to them; findings that nobody has examined; checks and
    changes that died as those do. `joined` makes the two one again. Raises UserError for a file that cannot be read.
    """
    with open_store(source, read_only=True, clock=clock) as store:
        apart, told = _apart(store)
    return told._replace(there=part(source, public, private, apart, clock))


def joined(into: Store, others: Sequence[Path]) -> Merged:
    """Folds other states of the same kind into one, and brings up where bugs stand with what all of them have seen."""
    done = merge(into, others, cost)
    review_standings(into)
    return done


def private_bugs(bugs: Sequence[BugRow], libraries: Mapping[str, str]) -> frozenset[int]:
    """Numbers of the bugs of which nothing may be told, on whichever build of a library: by cause and by signature.

    libraries: by target.
    """
    hidden = withheld(bugs)
    named = {(libraries[bug.target], bug.signature) for bug in bugs if bug.id in hidden}
    return frozenset(bug.id for bug in bugs if (libraries[bug.target], bug.signature) in named)


def _apart(store: Store) -> tuple[Apart, Split]:
    bugs = {bug.id: bug for bug in store.bugs()}
    targets = {target.key: target.library for target in store.targets()}
    hidden = private_bugs(list(bugs.values()), targets)
    findings = [finding for key in targets for finding in store.findings(key)]
    apart = Apart(
        hidden,
        frozenset(each.id for each in findings if _may_be_private(each, bugs.get(each.bug or 0), hidden)),
        frozenset(_deadly(store.checks(), bugs)),
        frozenset(
            each.id for each in shown_changes(store) if suspected_death(each.before) or suspected_death(each.after)
        ),
    )
    fingerprints = tuple(sorted({bugs[number].signature for number in hidden}))
    return apart, Split(False, fingerprints, sum(each.status == PENDING for each in findings))


def _may_be_private(finding: FindingRow, bug: BugRow | None, hidden: frozenset[int]) -> bool:
    if finding.status == PENDING or finding.bug in hidden:
        return True
    outcome = finding.outcome if bug is None else _examined(finding.outcome, bug)
    return bool(suspicion(finding.verdict.kind, outcome))


def _examined(outcome: Outcome, bug: BugRow) -> Outcome:
    """What was seen in passing has no native stack: that of the bug, which has its signature, says where it was."""
    return outcome if outcome.frames else outcome._replace(frames=bug.outcome.frames)


def _deadly(checks: Iterable[CheckRow], bugs: Mapping[int, BugRow]) -> Iterable[int]:
    return (check.id for check in checks if suspected_death(_examined(check.outcome, bugs[check.bug])))
