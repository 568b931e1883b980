"""Re-running every new invocation unmutated: what does not run as it was traced is no valid seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.scratch import scratch
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.records import Body

VALIDATION_TIMEOUT = 10.0
# Every api has its first ones re-run before any has all: a time-box may end in between.
FIRST, THEN = 4, 64


class Counts(Protocol):
    """Where the figures go; the developers' error inputs are no part of them, but for those that wait."""

    checked: int
    valid: int
    waiting: int


def validate(session: Session, report: Counts, deadline: float | None = None) -> None:
    """Re-runs all invocations that have no result yet and records whether they are valid.

    What is not reached by the deadline (in seconds of the session's clock) has no result still: the next time, it has.
    """
    rows = session.store.bodies(session.target.key, unchecked=True)
    if not rows:
        return
    session.watch.phase("re-running invocations", len(rows))
    with scratch() as folder:
        plan = folder / "plan.jsonl"
        make_plan(session, plan, rows, seed=0, mutating=False)
        with Zygote(session.target.python, session.target.library, "fuzz", plan, session.stopped) as zygote:
            listener = _Validation(session, rows)
            pool = Pool(zygote, session.workers, Limits(timeout=VALIDATION_TIMEOUT))
            pool.run(listener, lambda: session.stopped() or _late(session, deadline), listener.tick)
    listener.save()
    report.checked += listener.checked
    report.valid += listener.valid
    report.waiting = len(rows) - listener.done


def _late(session: Session, deadline: float | None) -> bool:
    return deadline is not None and session.clock() > deadline


def _portions(count: int) -> Iterator[tuple[int, int]]:
    """Ranges that cover so many, the first one short."""
    first, size = 0, FIRST
    while first < count:
        yield first, min(first + size, count)
        first, size = first + size, THEN


class _Validation:
    """Leases every api's invocations once, in portions; a death is the result of the invocation it happened in."""

    def __init__(self, session: Session, rows: list[Body]) -> None:
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
        self.done = self.checked = self.valid = 0

    def next_lease(self) -> Lease | None:
        return self.waiting.pop() if self.waiting else None

    def message(self, lease: Lease, message: dict[str, Any]) -> None:
        following = message.get("next")
        if message.get("done") == lease.number and type(following) is int and following < lease.last:
            self._again(lease, following)
        if "ran" not in message:
            return
        try:
            outcome = Outcome.from_json(message.get("outcome"))
        except CodecError:
            return
        index = message["ran"]
        if type(index) is int and 0 <= index < len(self.ids[lease.api]):
            self._record(self.ids[lease.api][index], outcome)

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        if 0 <= index < len(self.ids[lease.api]):
            self._record(self.ids[lease.api][index], outcome)
        if index + 1 < lease.last:
            self._again(lease, index + 1)

    def _again(self, lease: Lease, first: int) -> None:
        self.waiting.append(Lease(self.next_number, lease.api, max(first, lease.first), lease.last, log=True))
        self.next_number += 1

    def _record(self, number: int, outcome: Outcome) -> None:
        valid = outcome.kind == "ok"
        self.done += 1
        if number not in self.error_inputs:
            self.checked += 1
            self.valid += valid
        reason = "" if valid else f"{outcome.kind} {outcome.name}: {outcome.text[:200]}"
        self.results.append((number, outcome.kind, reason))

    def tick(self) -> None:
        """Saves now and then, so that an interruption loses little."""
        self.session.watch.advance(self.done, valid=self.valid)
        if len(self.results) > 2000:
            self.save()

    def save(self) -> None:
        """Commits results so far."""
        self.session.store.set_validity(self.results)
        self.results.clear()
