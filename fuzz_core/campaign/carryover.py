"""Carryover of seeds and invocations from an earlier build.

Invocations that are carried over run once more, which shows whether they still run as they were traced.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fuzz_core.campaign.changes import Changes, changes_between
from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.campaign.plans import NO_SPACE, make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.collect.sources import Seed
from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.scratch import scratch
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.codec import decode_invocation
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.signatures import NEIGHBOUR, SEARCH
from fuzz_core.ir.values import TestCase
from fuzz_core.ir.wire import LeaseDone, OutcomeReport, Report
from fuzz_core.store.records import UndecodedInvocation
from fuzz_core.store.store import Store
from fuzz_core.store.transfer import Twin

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
_LOOKED_UP = re.compile(r"(?:\.|\bimport\s+)(\w+)")
VALIDATION_TIMEOUT = 10.0
# Share of the time for fuzzing that checks recorded calls which no trace has checked.
CHECK_SHARE = 1 / 3
# Every api has its first ones re-run before any has all: a time-box may end in between.
FIRST, THEN = 4, 64


@dataclass
class Retraced:
    """Count of seeds and invocations carried over."""

    since: str = ""  # key of the earlier target; empty if there is none
    seeds: int = 0  # number of seeds that were carried over
    dependants: int = 0  # unchanged seeds that are traced anew for the apis that they name
    invocations: int = 0  # number of invocations that were carried over
    retired: int = 0  # invocations that mention an api that is gone
    rechecked: int = 0  # invocations that were run again
    lost: int = 0  # invocations that are no longer valid
    changes: Counter[str] = field(default_factory=Counter)


class TakenSpace(NamedTuple):
    """A value space that came from a space file."""

    file: str
    build: str
    calls: int
    sample: int = 0  # number of its calls that were run again
    held: int = 0  # number of these calls that are still valid

    def summary(self) -> str:
        """Return a line on the file, the calls that were taken over, and the part of the sample that is valid."""
        return f"loaded from {self.file}: {self.calls:,} calls; {self.held} of {self.sample} run again are valid"


@dataclass
class TraceReport:
    """Count of a trace: seeds by status, new invocations, problems of collection, and the cost of recording."""

    seeds: int = 0
    unchanged: int = 0
    left: int = 0
    aside: int = 0
    status: Counter[str] = field(default_factory=Counter)
    new: int = 0
    checked: int = 0
    valid: int = 0
    waiting: int = 0
    searched: int = 0  # apis without a traced call that a search looked at
    found: int = 0  # those with a call afterwards
    neighbours: int = 0  # new calls that recorded calls make inside when they run in further ways
    problems: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    tracing_seconds: float = 0.0
    apis: int = 0
    retraced: Retraced = field(default_factory=Retraced)
    space: TakenSpace | None = None

    @property
    def overhead(self) -> float:
        """Share of the seeds' running time that went into recording, 0 to 1."""
        return self.tracing_seconds / self.seconds if self.seconds else 0.0


def take_over(session: Session, seeds: Sequence[Seed], since: str | None, retraced: Retraced) -> list[Seed]:
    """Carry over the records of unchanged seeds from an earlier target; return the seeds that are to be traced.

    Args:
        since: the key of the earlier target. None: the target of an earlier carry-over, or else the newest earlier
            target.

    Raises:
        UserError: the target is unknown or of another library.
    """
    store, target = session.store, session.target.key
    known = store.traced(target)
    left = [seed for seed in seeds if seed.digest not in known]
    retraced.since = _source(session, since)
    if not retraced.since:
        return left
    changes = changes_between(store, retraced.since, target)
    dependants = _dependants(store, changes, left)
    traced = store.traced(retraced.since)
    same = {seed.digest: seed.name for seed in left if seed.digest in traced - dependants}
    retraced.dependants = sum(seed.digest in traced & dependants for seed in left)
    before = [seed for seed in store.seeds(retraced.since) if seed.digest not in known]
    imports = {seed.digest: seed.name for seed in before if seed.source == "import"}
    # A changed api is searched and visited again.
    own = [seed for seed in before if seed.source in (SEARCH, NEIGHBOUR)]
    imports |= {seed.digest: seed.name for seed in own if seed.name not in changes.changed_apis}
    named = same | imports
    retraced.changes = Counter(change.kind for change in changes.apis)
    if named:
        session.watch.phase(f"reusing calls of {retraced.since}")
        done = store.carry(target, retraced.since, named, changes.gone, changes.signatures)
        retraced.seeds, retraced.invocations, retraced.retired = done.seeds, done.invocations, done.retired
    return [seed for seed in left if seed.digest not in same]


def _source(session: Session, since: str | None) -> str:
    store, target = session.store, session.target
    if since is None:
        return store.since(target.key) or store.predecessor(target.key)
    named = store.target(since)
    if named.library != target.library:
        raise UserError(
            f"--since {since} is a build of {named.library}, but the target is a build of {target.library}",
            f"name an earlier build of {target.library}; `nightfuzz history` lists builds",
        )
    if since == target.key:
        raise UserError(
            f"--since {since} is the target itself", "name an earlier build; `nightfuzz history` lists builds"
        )
    return since


def _dependants(store: Store, changes: Changes, seeds: Sequence[Seed]) -> set[str]:
    """Return unchanged seeds that would bring other records: they call a changed api, or name a new one.

    A new api is named by its full name, or by its last part if no api had that part before.
    """

    def lasts(names: Iterable[str]) -> set[str]:
        return {name.rpartition(".")[2] for name in names}

    found = store.seeds_mentioning(changes.since, {change.before for change in changes.of("moved")})
    full = {change.api for change in changes.of("added", "moved")}
    words = lasts(full) - lasts(api.name for api in store.apis(changes.since)) if full else set()
    named = (full & {*_DOTTED.findall(seed.code)} or words & {*_LOOKED_UP.findall(seed.code)} for seed in seeds)
    return found | {seed.digest for seed, names in zip(seeds, named, strict=True) if names}


def recheck(session: Session, report: TraceReport, deadline: float | None = None) -> None:
    """Re-run invocations that have no result yet, until the deadline.

    An invocation that was valid on the earlier build and fails is run once more, by fresh workers.
    """
    store, retraced = session.store, report.retraced
    if not retraced.since:
        validate(session, report, deadline)
        return

    def twins() -> list[Twin]:
        return [twin for twin in store.twins(session.target.key, retraced.since) if twin.before]

    waiting = {twin.id for twin in twins() if twin.valid is None}
    validate(session, report, deadline)
    lost = {twin.id for twin in twins() if twin.id in waiting and twin.valid is False}
    if lost and not session.stopped():
        store.mark_unchecked(session.target.key, lost)
        report.checked -= len(lost)
        validate(session, report, deadline)
    ran = [twin.valid for twin in twins() if twin.id in waiting and twin.valid is not None]
    retraced.rechecked += len(ran)
    retraced.lost += ran.count(False)


def check_calls(session: Session, end: float | None) -> None:
    """Run recorded calls again that no trace has checked, in a part of the time until the clock says `end`.

    A trace leaves such calls when it is interrupted, or when its time is over.
    """
    waiting = len(session.store.bodies(session.target.key, unchecked=True))
    if not waiting:
        return
    session.watch.note(f"{waiting:,} recorded calls are not checked yet: they run again before the fuzzing")
    report, now = TraceReport(), session.clock()
    recheck(session, report, None if end is None else now + (end - now) * CHECK_SHARE)
    left = f"; {report.waiting:,} wait for the next run; this run does not fuzz them" if report.waiting else ""
    session.watch.note(f"{report.valid:,} of {report.checked:,} recorded calls are valid{left}")


def changed_apis(store: Store, target: str) -> set[str]:
    """Return apis that are new, changed, or refuse calls that they took, since the target of the carry-over."""
    since = store.since(target)
    if not since:
        return set()
    lost = {twin.api for twin in store.twins(target, since) if twin.before and twin.valid is False}
    return changes_between(store, since, target).changed_apis | lost


def validate(session: Session, report: TraceReport, deadline: float | None = None) -> None:
    """Re-run all invocations that have no result yet and record whether they are valid.

    The developers' error inputs are no part of the figures, but for those that wait. The deadline is in seconds of the
    session's clock. Invocations that are not reached by then keep no result, and the next call runs them.
    """
    rows = session.store.bodies(session.target.key, unchecked=True)
    report.waiting = len(rows)
    if not rows or session.is_over(deadline):
        return
    session.watch.phase("checking recorded calls", len(rows), session.left(deadline))
    with scratch() as folder:
        plan = folder / "plan.jsonl"
        make_plan(session, plan, rows, seed=0, space=NO_SPACE)
        with Zygote(session.target.python, session.target.library, "fuzz", plan, session.stopped) as zygote:
            listener = _Validation(session, rows)
            pool = Pool(zygote, session.workers, Limits(timeout=VALIDATION_TIMEOUT))
            pool.run(listener, lambda: session.is_over(deadline), listener.tick)
    listener.save()
    report.checked += listener.checked
    report.valid += listener.valid
    report.waiting = len(rows) - listener.done


def deadly_calls(session: Session, patterns: Sequence[str]) -> Iterator[tuple[TestCase, Outcome]]:
    """Yield the recorded calls that a signal ended when they were checked, with how they ended.

    Such a call is not valid, so no mutant of it is made.

    Args:
        patterns: of the apis; empty for all.
    """
    store, target = session.store, session.target.key
    asked = asked_apis(store.apis(target), patterns) if patterns else None
    for body, reason in store.deadly_calls(target):
        call = decode_invocation(json.loads(body))
        if asked is None or call.api in asked:
            kind, _, rest = reason.partition(" ")
            name, _, said = rest.partition(": ")
            yield TestCase(call, 0), Outcome(kind, name, said)


def _reason(outcome: Outcome) -> str:
    """Return an outcome as one text, which `deadly_calls` reads."""
    return f"{outcome.kind} {outcome.name}: {outcome.text[:200]}"


def _portions(count: int) -> Iterator[tuple[int, int]]:
    """Yield ranges that cover `count` items, the first one short."""
    first, size = 0, FIRST
    while first < count:
        yield first, min(first + size, count)
        first, size = first + size, THEN


class _Validation:
    """Leases every api's invocations once, in portions; a death is the result of the invocation it happened in."""

    def __init__(self, session: Session, rows: list[UndecodedInvocation]) -> None:
        self.session = session
        self.ids: dict[str, list[int]] = {}
        for row in rows:
            self.ids.setdefault(row.api, []).append(row.id)
        ranges = [(*each, api) for api, ids in self.ids.items() for each in _portions(len(ids))]
        ranges.sort(key=lambda each: each[0], reverse=True)
        self.waiting = [Lease(n, api, first, last, log=True) for n, (first, last, api) in enumerate(ranges, 1)]
        self.next_number = len(self.waiting) + 1
        self.error_inputs = {row.id for row in rows if row.expected == "exception"}
        self.results: list[tuple[int, str, str]] = []
        self.shown: dict[int, int] = {}  # digests of outcome classes by id
        self.done = self.checked = self.valid = 0

    def next_lease(self) -> Lease | None:
        return self.waiting.pop() if self.waiting else None

    def message(self, lease: Lease, report: Report | None) -> None:
        match report:
            case LeaseDone():
                self._again(lease, report.next)
            case OutcomeReport(index, outcome, shown):
                self._record(lease, index, outcome, shown)

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        self._record(lease, index, outcome)
        self._again(lease, index + 1)

    def _again(self, lease: Lease, first: int) -> None:
        if first < lease.last:
            self.waiting.append(Lease(self.next_number, lease.api, max(first, lease.first), lease.last, log=True))
            self.next_number += 1

    def _record(self, lease: Lease, index: int, outcome: Outcome, shown: int = 0) -> None:
        numbers, valid = self.ids[lease.api], outcome.kind == "ok"
        if not 0 <= index < len(numbers):
            return
        self.done += 1
        if numbers[index] not in self.error_inputs:
            self.checked += 1
            self.valid += valid
        reason = "" if valid else _reason(outcome)
        self.results.append((numbers[index], outcome.kind, reason))
        self.shown[numbers[index]] = shown

    def tick(self) -> None:
        """Save now and then, so that an interruption loses little."""
        self.session.watch.advance(self.done, valid=self.valid)
        if len(self.results) > 2000:
            self.save()

    def save(self) -> None:
        """Commit results so far."""
        self.session.store.set_validity(self.session.target.key, self.results, self.shown)
        self.results.clear()
        self.shown.clear()
