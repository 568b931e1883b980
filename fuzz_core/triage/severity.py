"""How bad a bug is: what may be a security hole is private, everything else has a grade, and all are in one order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fuzz_core.ir.outcome import Outcome
from fuzz_core.oracles.kinds import GRADES, kind_of
from fuzz_core.triage.bug import Bug
from fuzz_core.triage.cluster import clusters
from fuzz_core.triage.signature import corrupts_heap
from fuzz_core.triage.stack import NULL_PAGE, OVERFLOW
from fuzz_core.triage.validity import STATUSES, Validity, validity

_MEMORY_SIGNALS = ("SIGSEGV", "SIGBUS")
_SANITIZER = re.compile(
    r"(?:Address|Memory|HWAddress|Leak|Thread)Sanitizer|heap-(?:buffer-overflow|use-after-free)|stack-buffer-overflow"
    r"|runtime error: .*(?:out of bounds|misaligned|null pointer)|Invalid (?:read|write) of size \d"
)
_FOREIGN = re.compile(r"out-of-bounds|uninitiali[sz]ed|foreign memory", re.IGNORECASE)


class Severity(NamedTuple):
    """grade: one of GRADES. reason: why it is private; empty otherwise. regression: a baseline does not show it."""

    grade: str
    reason: str
    validity: Validity
    regression: bool = False

    @property
    def private(self) -> bool:
        """Whether it may only be told in a private place."""
        return self.grade == "private"

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Smaller is more urgent: private, then regressions, then valid input before invalid, then the grade."""
        place = GRADES.index(self.grade)
        return int(not self.private), int(not self.regression), STATUSES.index(self.validity.status), place


def severity(bug: Bug, judged: Validity | None = None, regression: bool = False) -> Severity:
    """The severity of a bug; `judged` where its validity is known already.

    A regression is what a baseline target does not show. Sort bugs by `order`, which no two of them share.
    """
    suspected = suspicion(bug.kind, bug.outcome)
    grade = "private" if suspected else _grade(bug)
    return Severity(grade, suspected, judged or validity(bug), regression or bug.kind == "regression")


def order(bug: Bug, found: Severity) -> tuple[tuple[int, ...], int]:
    """A total order on bugs: by severity, the oldest first among equals."""
    return found.rank, bug.id


def withheld(bugs: Sequence[Bug]) -> frozenset[int]:
    """The numbers of bugs of which nothing may be told in public: private ones, and what looks like the same cause.

    A null pointer here and a corrupted heap there may be one missing check.
    """
    private = (
        cluster for cluster in clusters(bugs) if any(suspicion(bug.kind, bug.outcome) for bug in cluster.members)
    )
    return frozenset(bug.id for cluster in private for bug in cluster.members)


def suspicion(kind: str, outcome: Outcome) -> str:
    """Why memory that is not the library's may have been touched; empty where nothing says so."""
    died = suspected_death(outcome)
    if not died and not kind_of(kind).fails and _FOREIGN.search(f"{kind} {outcome.text}"):
        return "the result holds memory that is not the library's"
    return died


def suspected_death(outcome: Outcome) -> str:
    """Why a process may have touched memory that is not the library's before it died; empty where nothing says so."""
    if _SANITIZER.search(outcome.text):
        return "a sanitizer's report"
    if corrupts_heap(outcome):
        return "the heap is corrupted"
    if outcome.kind == "signal" and outcome.name in _MEMORY_SIGNALS:
        return _fault(outcome)
    return ""


def _grade(bug: Bug) -> str:
    died = bug.kind == "internal-error" and bug.outcome.kind == "signal"
    return "abort" if died else kind_of(bug.kind).grade


def _fault(outcome: Outcome) -> str:
    if NULL_PAGE in outcome.frames or OVERFLOW in outcome.frames:
        return ""
    return f"{outcome.name} at an address that is not known to be harmless"
