"""Fuzzing schedule: which api comes next, for how long and under which timeout."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fuzz_core.adapters.dialect import load_plugin
from fuzz_core.campaign.finding_groups import HANG
from fuzz_core.campaign.sweep import SweepSchedule
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.rng import Rng
from fuzz_core.oracles.kinds import kind_of

MAX_SLICE = 0.25
MIN_SLICE = 0.02
MAX_TESTS = 2000
COUNTED_TESTS = 50
# A new or changed api gets about four leases on credit before its own results must pay for them.
HEAD_START = 3.0
# An api that has shown one fault is five times as likely as others to show another.
FINDING_REWARD = 5.0
# Recent slices of an api count most: each further slice takes a fifth off the sum of the earlier ones.
DISCOUNT = 0.8
# Expected findings of a slice of an api whose recent slices had none.
PRIOR = 0.1
FAIR_PERIOD = 4
MOST_SHARE = 0.05
UNCAPPED_SLICES = 40.0
# An examination takes about as long as so many starts of the library: one interpreter, and forks that take little.
STARTS_PER_EXAMINATION = 2


class Ranking:
    """Apis waiting for their turn: the one that has cost least so far is next, so that slow ones pay for themselves.

    One that was taken is out until it is given back. Ties go to the api that comes first.
    """

    by_tests = False

    def __init__(self, apis: Sequence[str]) -> None:
        self.apis = list(apis)
        self.place = {api: place for place, api in enumerate(apis)}
        self.cost = np.zeros(len(apis))
        self.free = np.ones(len(apis), dtype=bool)

    def take(self) -> str | None:
        """Return the api whose turn it is; None if all are out."""
        place = int(np.argmin(np.where(self.free, self._keys(), np.inf)))
        if not self.free[place]:
            return None
        self.free[place] = False
        return self.apis[place]

    def _keys(self) -> NDArray[np.float64]:
        """Return a number for each api: of the free apis, the one with the least number is next."""
        return self.cost

    def give(self, api: str, slices: float, tests: int, reward: float) -> None:
        """Put an api back into the ranking, with the cost of its turn.

        Args:
            slices: the time of the turn, in slices.
            tests: how many tests ran.
            reward: how much new behaviour they showed.
        """
        self.cost[self.place[api]] += tests if self.by_tests else slices
        self.free[self.place[api]] = True

    def resume(self, api: str, slices: float, tests: int) -> None:
        """Add the cost of an api's turns in earlier rounds and runs."""
        self.cost[self.place[api]] += tests if self.by_tests else slices

    def encourage(self, api: str, reward: float) -> None:
        """Note that a test has found new behaviour near an api; this ranking counts cost alone."""


class Uniform(Ranking):
    """Ranking by the number of tests so far, without their cost: FreeFuzz gives every api as many mutants."""

    by_tests = True


class BanditRanking(Ranking):
    """Ranking by the rate of new behaviour lately; every fourth turn goes to the api that has cost least.

    A discounted bandit: the rate is new outcome classes, operators and findings per slice. Every api has a first turn
    before any has two; no api takes more than a twentieth of all slices by its rate.
    """

    def __init__(self, apis: Sequence[str]) -> None:
        super().__init__(apis)
        # Rewards and costs of each api's recent slices.
        self.gain, self.recent = np.zeros(len(apis)), np.zeros(len(apis))
        self.total = 0.0
        self.turns = 0

    def _keys(self) -> NDArray[np.float64]:
        """See `Ranking`."""
        self.turns += 1
        within = self.free & (self.cost <= max(UNCAPPED_SLICES, MOST_SHARE * self.total))
        if self.turns % FAIR_PERIOD == 0 or not within.any():
            return self.cost
        rate = (self.gain + PRIOR) / (self.recent + 1.0)
        return np.where(within, np.where(self.cost == 0, -np.inf, -rate), np.inf)

    def resume(self, api: str, slices: float, tests: int) -> None:
        """See `Ranking`."""
        super().resume(api, slices, tests)
        self.total += slices

    def give(self, api: str, slices: float, tests: int, reward: float) -> None:
        """See `Ranking`."""
        super().give(api, slices, tests, reward)
        self.gain[self.place[api]] *= DISCOUNT
        self.recent[self.place[api]] = self.recent[self.place[api]] * DISCOUNT + slices
        self.total += slices
        self.encourage(api, reward)

    def encourage(self, api: str, reward: float) -> None:
        """See `Ranking`."""
        self.gain[self.place[api]] += reward


RANKINGS: dict[str, str] = {
    "bandit": "fuzz_core.campaign.scheduler:BanditRanking",
    "fair": "fuzz_core.campaign.scheduler:Ranking",
    "uniform": "fuzz_core.campaign.scheduler:Uniform",
}


def ranking_of(name: str) -> Callable[[Sequence[str]], Ranking]:
    """Return the maker of a ranking; it gets the apis in the order that breaks ties.

    Raises:
        UserError: an unknown name.
    """
    made: Callable[[Sequence[str]], Ranking] = load_plugin(RANKINGS, name, "schedule")
    return made


class Timeouts:
    """Timeouts of tests from the history of their api: many times its longest test, at most `most` seconds.

    An api with fewer than KNOWN_AFTER known tests has a third of `most`. A short timeout reports no false hangs: the
    examination gives every test the full timeout.
    """

    FACTOR = 20.0
    LEAST_SECONDS = 0.5
    KNOWN_AFTER = 100
    # Most apis that hang do so early: with the full timeout they took a sixth of a run.
    UNKNOWN_SHARE = 1 / 3

    def __init__(self, most: float) -> None:
        self.most = most
        self.tests: dict[str, int] = {}
        self.longest: dict[str, float] = {}

    def learn(self, api: str, tests: int, longest: float) -> None:
        """Count tests of the api that ended by themselves, the longest of them after so many seconds."""
        self.tests[api] = self.tests.get(api, 0) + tests
        self.longest[api] = max(self.longest.get(api, 0.0), longest)

    def of(self, api: str) -> float:
        """Return the seconds that each of the next tests of the api may take."""
        known = self.tests.get(api, 0) >= self.KNOWN_AFTER
        least = self.LEAST_SECONDS if known else max(self.LEAST_SECONDS, self.most * self.UNKNOWN_SHARE)
        return min(self.most, max(least, self.FACTOR * self.longest.get(api, 0.0)))


class ExaminationBacklog:
    """Seconds that the examination of all pending findings would take.

    A finding that waits for the next night is worth less than a confirmed one. Most findings come in the first minutes
    of a run. So a fuzz ends early if the backlog fills its remaining time.

    Args:
        start_up: seconds until a script of the library is at its call.
        workers: examinations at a time.
        end: clock time by which every examination is to be done.
        kept: seconds that are kept for all hangs together.
    """

    def __init__(self, start_up: float, workers: int, end: float, kept: float = math.inf) -> None:
        self.unit = start_up * STARTS_PER_EXAMINATION / workers
        self.end = end
        self.kept = kept
        self.seconds = self.hanging = 0.0

    def add(self, kinds: Iterable[str]) -> None:
        """Count findings of new signatures, by the kinds of their verdicts."""
        for kind in kinds:
            cost = self.unit * kind_of(kind).expense
            if kind == HANG:
                self.hanging += cost
            else:
                self.seconds += cost

    def is_full(self, now: float) -> bool:
        """Return whether no time would be left for further findings."""
        return now + self.seconds + min(self.hanging, self.kept) >= self.end


class Scheduler:
    """Makes leases in the order of a ranking; ties have an order drawn from the seed.

    If `slice_seconds` is a number, a lease ends when its slice does (a nightly time-box). If it is None, no decision
    depends on the clock: `budget` tests are handed out in all, and a slice is COUNTED_TESTS tests.

    Args:
        counts: traced invocations of each api.
        first: apis that have their first lease before all others, and a head start of credit in a ranking with credit.
        timeouts: timeouts from the history of each api; None for the pool's own timeout.
        spent: tests and seconds that each api has had in earlier rounds and runs.
    """

    # The sweep, whose leases come before all others.
    sweep: SweepSchedule | None = None

    def __init__(
        self,
        counts: Mapping[str, int],
        seed: int,
        clock: Callable[[], float],
        slice_seconds: float | None = None,
        budget: int | None = None,
        ranking: str = "bandit",
        first: Collection[str] = (),
        timeouts: Timeouts | None = None,
        spent: Mapping[str, tuple[int, float]] | None = None,
    ) -> None:
        rng = Rng(seed)
        drawn = {api: rng.random() for api in sorted(counts)}
        self.order = sorted(drawn, key=lambda api: (api not in first, drawn[api]))
        self.ranking = ranking_of(ranking)(self.order)
        for api, (tests, seconds) in (spent or {}).items():
            if api in drawn:
                self.ranking.resume(
                    api, tests / COUNTED_TESTS if slice_seconds is None else seconds / slice_seconds, tests
                )
        for api in sorted(drawn.keys() & first):
            self.ranking.encourage(api, HEAD_START)
        # The first tests of an api are its invocations unmutated: tracing has re-run those already.
        self.position = dict(counts)
        self.timeouts = timeouts
        self.clock = clock
        self.slice = slice_seconds
        self.budget = budget
        self.numbers = 0
        self.rewards: defaultdict[str, float] = defaultdict(float)
        self.begun: Counter[str] = Counter()
        self.rest: list[Lease] = []

    def begin_sweep(self, sweep: SweepSchedule) -> None:
        """Hand out the leases of a sweep before all others; its budget is a part of the scheduler's."""
        self.sweep = sweep
        if self.budget is not None and sweep.budget is not None:
            self.budget -= sweep.budget

    def next(self) -> Lease | None:
        """Return the next lease, or None when the budget is handed out (or all apis are under way)."""
        if self.sweep is not None:
            if (swept := self.sweep.next()) is not None:
                return self._numbered(swept)
            if self.budget is not None and self.sweep.budget and self.sweep.is_over:
                self.budget, self.sweep.budget = self.budget + self.sweep.budget, 0
        if self.rest:
            return self._numbered(self.rest.pop(0))
        if self.budget is not None and self.budget <= 0:
            return None
        api = self.ranking.take()
        if api is None:
            return None
        tests = MAX_TESTS if self.slice is not None else min(COUNTED_TESTS, self.budget or COUNTED_TESTS)
        if self.budget is not None:
            self.budget -= tests
        return self._numbered(Lease(0, api, self.position[api], self.position[api] + tests))

    def _numbered(self, lease: Lease) -> Lease:
        self.numbers += 1
        lease.number = self.numbers
        # The cells of an api are made anew for each lease, so a lease of the sweep is long.
        lease.until = None if self.slice is None else self.clock() + (MAX_SLICE if lease.sweep else self.slice)
        lease.timeout = None if self.timeouts is None else self.timeouts.of(lease.api)
        return lease

    def credit(self, api: str, reward: float) -> None:
        """Note that a test of the api, whose lease is under way, has shown new behaviour."""
        self.rewards[api] += reward

    def done(self, lease: Lease, following: int, seconds: float, executed: int = 0, longest: float = 0.0) -> None:
        """Take a lease back.

        If its slice is not over, the lease is exhausted, and pays for all of the slice.

        Args:
            following: the first test that was not run.
            seconds: seconds that the lease took.
            executed: tests that were run, duplicates left out.
            longest: seconds that the longest of them took.
        """
        if self.timeouts is not None:
            self.timeouts.learn(lease.api, executed, longest)
        if self.sweep is not None and lease.sweep:
            self.sweep.ended(lease, following)
            return
        if self.slice is not None and following < lease.last:
            seconds = max(seconds, self.slice)
        self._ended(lease, following, following - lease.first, seconds)

    def died(self, lease: Lease, index: int, seconds: float) -> None:
        """Take back a lease whose worker died in test `index`: the remaining tests are leased again.

        A counted run leases them immediately. A death counts there as a whole slice of tests, since it may have been a
        hang.
        """
        if self.sweep is not None and lease.sweep:
            self.sweep.ended(lease, index + 1)
            return
        self._ended(lease, index + 1, index + 1 - lease.first + COUNTED_TESTS, seconds)

    def _ended(self, lease: Lease, following: int, tests: int, seconds: float) -> None:
        api = lease.api
        self.position[api] = following
        if self.slice is None and following < lease.last:
            self.begun[api] += tests
            self.rest.append(Lease(0, api, following, lease.last))
            return
        tests += self.begun.pop(api, 0)
        slices = tests / COUNTED_TESTS if self.slice is None else seconds / self.slice
        self.ranking.give(api, slices, tests, self.rewards.pop(api, 0.0))


def slice_for(seconds: float, workers: int, apis: int) -> float:
    """Return a slice such that every api gets several leases in the time-box, between 20 and 250 ms."""
    return min(MAX_SLICE, max(MIN_SLICE, seconds * workers / max(apis, 1) / 4))
