"""The schedule of the sweep: which cells of which api are next. The results of cells on their way into the state."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from fuzz_core.campaign.bench import CRASH, PLAIN
from fuzz_core.campaign.pairs import PairSchedule
from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store import cells as results
from fuzz_core.store.cells import CellRow, Effort
from fuzz_core.worker.observers import VARIABLE
from fuzz_core.worker.plan import SWEPT, Plan

# The most cells of a lease whose end no clock decides.
COUNTED_CELLS = 50
SAVE_SECONDS = 2.0
MAX_REASON = 200
# A class burns time if its cells took so many seconds together, and on average so many seconds and so many times as
# long as all cells: on a busy machine every call takes long.
BURNT_SECONDS, SLOW_SECONDS, SLOW_FACTOR = 1.0, 0.05, 10
# Postponed cells get this share of the time that the sweep has left. Most of them hang. The next run goes on.
LATE_SHARE = 0.1
# One slow cell speaks for its class in its own api. For further apis so many slow cells have to speak.
LEAST_SLOW = 3
_ALL = ("", "", "")
_RESULTS = {
    "ok": results.VALID,
    "exception": results.REFUSED,
    "timeout": results.HUNG,
    "oom": results.MEMORY,
    "exit": results.EXITED,
    "skipped": results.UNREACHABLE,
}


def result_of(outcome: Outcome, session: Session) -> str:
    """Return the result of a cell by the outcome of its test, one of CELL_RESULTS."""
    if outcome.kind == "timeout" or CRASH.judge({PLAIN: outcome}, session.dialect).clean:
        return _RESULTS.get(outcome.kind, results.EXITED)
    return results.CRASHED


class CellLog:
    """Results of cells, and tests and seconds of apis, that are not in the state yet.

    A kill loses two seconds of them.

    Attributes:
        spent: tests and seconds beside the sweep, by api.
        tried: cells that have got their result in this run.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.rows: list[CellRow] = []
        self.sizes: dict[str, tuple[int, int]] = {}
        self.pairs: dict[str, tuple[int, int]] = {}  # all tests of pairs, and those that have been run
        self.spent: defaultdict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        self.saved = session.clock()
        self.tried = 0

    def count(self, lease: Lease, tests: int, seconds: float) -> None:
        """Add the tests of a lease, unless the lease is a part of the sweep."""
        if not lease.sweep:
            before, took = self.spent[lease.api]
            self.spent[lease.api] = before + tests, took + seconds

    def save(self, at_once: bool = False) -> None:
        """Commit what is not in the state yet, at intervals."""
        if at_once or self.session.clock() - self.saved >= SAVE_SECONDS:
            efforts = [
                Effort(api, *self.sizes.get(api, (0, 0)), *self.spent.get(api, (0, 0.0)), *self.pairs.get(api, (0, 0)))
                for api in sorted(self.sizes.keys() | self.spent.keys() | self.pairs.keys())
            ]
            if self.rows or efforts:
                self.session.store.save_cells(self.session.target.key, self.rows, efforts)
            self.rows, self.sizes, self.pairs = [], {}, {}
            self.spent.clear()
            self.saved = self.session.clock()


class ClassCosts:
    """Seconds of cells by class: of one api, of arguments with one name, and of all.

    Args:
        shared: whether the cells of an api count for further apis. A run that does not depend on the clock shares none:
            then the decision does not depend on the order in which workers end their leases.
    """

    def __init__(self, shared: bool) -> None:
        self.shared = shared
        self.seconds: defaultdict[tuple[str, str, str], float] = defaultdict(float)
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.slow: Counter[tuple[str, str, str]] = Counter()

    def _keys(self, api: str, argument: str, name: str) -> Sequence[tuple[str, str, str]]:
        of_api = (api, "", name)
        return (of_api, ("", argument.partition("[")[0], name), ("", "", name)) if self.shared else (of_api,)

    def learn(self, api: str, argument: str, name: str, seconds: float) -> None:
        """Count a cell that took so many seconds."""
        for key in (*self._keys(api, argument, name), _ALL):
            self.seconds[key] += seconds
            self.counts[key] += 1
            self.slow[key] += seconds >= self._slow()

    def _slow(self) -> float:
        """Return the seconds from which on a cell is slow."""
        usual = self.seconds[_ALL] / self.counts[_ALL] if self.shared and self.counts[_ALL] else 0.0
        return max(SLOW_SECONDS, min(SLOW_FACTOR * usual, BURNT_SECONDS))

    def reason(self, api: str, argument: str, name: str) -> str:
        """Return why a cell is to be postponed; empty if its class does not burn time."""
        for key in self._keys(api, argument, name):
            spent, count = self.seconds[key], self.counts[key]
            enough = self.slow[key] >= (1 if key[0] else LEAST_SLOW)
            if enough and spent >= BURNT_SECONDS and spent >= count * self._slow():
                where = f"of {key[0]}" if key[0] else f"for {key[1]!r}" if key[1] else "of all apis"
                return f"{count} cells {where} took {spent / count:.2f} s on average"
        return ""


@dataclass
class ApiSweep:
    """The cells of an api that are left, by their place in `plan.cells`."""

    names: Sequence[tuple[str, str]]  # argument and class of every cell
    pending: set[int]
    late: set[int] = field(default_factory=set)  # cells that are postponed to the end of the sweep


class SweepSchedule:
    """The maker of leases of cells.

    Every api has its first lease before any has its second.

    Postponed cells come last. A cell that a lease has not reached stays pending, and a cell with a result is never
    handed out again.

    Args:
        apis: the order of the apis.
        until: time of the session's clock at which the sweep pauses; None for no limit.
        budget: the most cells in all; None for no limit. With a budget no decision depends on the clock.
    """

    def __init__(
        self,
        session: Session,
        plan: Plan,
        log: CellLog,
        apis: Iterable[str],
        until: float | None = None,
        budget: int | None = None,
    ) -> None:
        self.session = session
        self.plan = plan
        self.log = log
        self.until = until
        self.budget = budget
        self.costs = ClassCosts(shared=budget is None)
        self.known: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
        for row in session.store.cells(session.target.key):
            self.known[row.api][row.argument, row.name] = row.result
            if row.result != results.POSTPONED:
                self.costs.learn(row.api, row.argument, row.name, float(row.result == results.HUNG))
        efforts = session.store.efforts(session.target.key)
        self.sizes = {each.api: (each.calls, each.cells) for each in efforts}
        complete, every = self._complete(efforts), list(apis)
        self.total = len(every)
        self.waiting = deque(api for api in every if api not in complete)
        self.ending: deque[str] = deque()
        self.left: dict[str, ApiSweep] = {}
        self.recorded: Counter[int] = Counter()  # results by lease
        self.rest: list[Lease] = []
        self.running = 0
        self.under_way: set[str] = set()  # apis with a lease of cells
        self.late = False  # whether postponed cells have their turn
        self.late_until: float | None = None  # time of the clock at which their turn ends, if it has begun
        self.singles_end = False  # whether every cell has its result, so that pairs have their turn
        self.pairs = PairSchedule(session, plan, log, apis)

    def _complete(self, efforts: Iterable[Effort]) -> set[str]:
        """Return the apis of which every cell has a result, by the calls that the plan has."""
        return {
            each.api
            for each in efforts
            if each.cells
            and each.calls == self.plan.count(each.api)
            and sum(result != results.POSTPONED for result in self.known[each.api].values()) >= each.cells
        }

    def next(self) -> Lease | None:
        """Return the next lease of cells; None if no cell is to be handed out now."""
        lease = self._next()
        self.running += lease is not None
        if lease is not None and not lease.rows:
            self.under_way.add(lease.api)
        return lease

    def _next(self) -> Lease | None:
        if self.rest:
            return self.rest.pop(0)
        if self.budget is not None and self.budget <= 0:
            return None
        if self.until is not None and self.session.clock() >= self.until:
            return None
        while self.waiting:
            if (lease := self._lease(self.waiting.popleft(), late=False)) is not None:
                return lease
        # Postponed cells wait until no other cell is waiting or under way.
        if not (self.late or self.running):
            self.late = True
            self.late_until = self._end_of_late()
        if self.late_until is not None and self.session.clock() >= self.late_until:
            # The cells stay postponed in the state.
            self.ending.clear()
        while self.ending and self.late:
            if (lease := self._lease(self.ending.popleft(), late=True)) is not None:
                return lease
        # Pairs wait until every cell has its result.
        if self.singles_end or not (self.running or self.waiting or self.ending):
            self.singles_end = True
            return self._pairs()
        return None

    def _end_of_late(self) -> float | None:
        """Return the time of the clock at which the turn of postponed cells ends, if it begins now."""
        now = self.session.clock()
        return None if self.until is None else now + (self.until - now) * LATE_SHARE

    def _pairs(self) -> Lease | None:
        most = COUNTED_CELLS if self.budget is None else min(COUNTED_CELLS, self.budget)
        if (lease := self.pairs.next(most)) is not None and self.budget is not None:
            self.budget -= len(lease.rows)
        return lease

    def _lease(self, api: str, late: bool) -> Lease | None:
        """Return a lease of an api; None if none of its cells can be handed out."""
        left = self.left.get(api) or self._begin(api)
        if not late:
            self._postpone(api, left)
        wanted = sorted(left.late if late else left.pending)
        if self.budget is not None:
            wanted = wanted[: min(COUNTED_CELLS, self.budget)]
            self.budget -= len(wanted)
        if not wanted:
            return None
        skip = sorted(set(range(wanted[0], wanted[-1])) - set(wanted))
        first, last = SWEPT + wanted[0], SWEPT + wanted[-1] + 1
        return Lease(0, api, first, last, log=True, sweep=True, skip=[SWEPT + place for place in skip])

    def _begin(self, api: str) -> ApiSweep:
        names = [(cell.argument, cell.name) for cell in self.plan.cells(api)]
        self.log.sizes[api] = self.plan.count(api), len(names)
        if self.sizes.get(api) != self.log.sizes[api]:
            # The pairs of other cells begin anew, as in the state.
            self.pairs.done.pop(api, None)
        known = self.known.pop(api, {})
        pending = {place for place, name in enumerate(names) if known.get(name, results.POSTPONED) == results.POSTPONED}
        late = {place for place in pending if names[place] in known}
        left = self.left[api] = ApiSweep(names, pending - late, late)
        if late:
            self.ending.append(api)
        return left

    def _postpone(self, api: str, left: ApiSweep) -> None:
        for place in sorted(left.pending):
            if reason := self.costs.reason(api, *left.names[place]):
                if not left.late:
                    self.ending.append(api)
                left.pending.discard(place)
                left.late.add(place)
                self.log.rows.append(CellRow(api, *left.names[place], results.POSTPONED, reason))

    def record(self, lease: Lease, index: int, outcome: Outcome, shown: int = 0) -> None:
        """Take the outcome of a cell, with the digest of its outcome class.

        An index that is no pending cell of a lease of the sweep is ignored.
        """
        left, place = self.left.get(lease.api), index - SWEPT
        if left is None or not (place in left.pending or place in left.late):
            return
        self.log.tried += 1
        left.pending.discard(place)
        left.late.discard(place)
        self.recorded[lease.number] += 1
        result = result_of(outcome, self.session)
        reason = VARIABLE.sub("…", outcome.text)[:MAX_REASON] if result == results.UNREACHABLE else ""
        self.log.rows.append(CellRow(lease.api, *left.names[place], result, reason, shown))
        # A run that no clock decides on knows hangs alone.
        seconds = outcome.seconds if self.budget is None else float(outcome.kind == "timeout")
        self.costs.learn(lease.api, *left.names[place], seconds)

    def ended(self, lease: Lease, following: int) -> None:
        """Take a lease back; `following` is the first test that was not run."""
        self.running -= 1
        self.under_way.discard(lease.api)
        if self.budget is not None and following < lease.last:
            self.rest.append(replace(lease, first=following))
            return
        if lease.rows:
            self.pairs.ended(lease, following)
            return
        left = self.left[lease.api]
        # A lease without a result would be handed out for ever.
        if self.recorded.pop(lease.number, 0):
            if left.pending:
                self.waiting.append(lease.api)
            elif left.late and lease.api not in self.ending:
                self.ending.append(lease.api)
        if not left.pending and not left.late:
            self.left[lease.api] = ApiSweep((), set())

    @property
    def swept(self) -> int:
        """How many of the `total` apis have no cell left that waits or is under way."""
        rest = (lease.api for lease in self.rest if not lease.rows)
        return self.total - len({*self.waiting, *self.ending, *self.under_way, *rest})

    @property
    def is_over(self) -> bool:
        """Whether every cell has a result, or no other cell can be handed out in this run."""
        return not (self.waiting or self.ending or self.rest or self.running or self.pairs.waiting)
