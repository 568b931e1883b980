"""Leases: whose turn it is says the ranking, how much of it there is says the time-box or the number of tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from fuzz_core.campaign.foci import Foci
from fuzz_core.campaign.ranking import ranking_of
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.rng import Rng
from fuzz_core.mutation.focus import EVEN

MAX_SLICE = 0.25
MIN_SLICE = 0.02
MAX_TESTS = 2000
COUNTED_TESTS = 50
MAX_HINTS = 8
# What is new or changed gets about four turns on credit before its own news must pay for them.
HEAD_START = 3.0


class Schedule:
    """Leases in the order of a ranking; ties in an order drawn from the seed.

    With `slice_seconds`, a lease ends when its slice does (a nightly time-box). Without, nothing depends on the clock:
    `budget` tests are handed out in all, and a slice is 50 tests. foci: who chooses the kind of mutation of a lease;
    where there is nobody, all are mixed evenly. first: apis that have their first turn before all others, and a head
    start of credit where the ranking knows credit.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        seed: int,
        clock: Callable[[], float],
        slice_seconds: float | None = None,
        budget: int | None = None,
        ranking: str = "bandit",
        foci: Foci | None = None,
        first: Collection[str] = (),
    ) -> None:
        rng = Rng(seed)
        drawn = {api: rng.random() for api in sorted(counts)}
        self.ranking = ranking_of(ranking, sorted(drawn, key=lambda api: (api not in first, drawn[api])))
        for api in sorted(drawn.keys() & first):
            self.ranking.encourage(api, HEAD_START)
        # The first tests of an api are its invocations unmutated: tracing has re-run those already.
        self.position = dict(counts)
        self.foci = foci
        self.clock = clock
        self.slice = slice_seconds
        self.budget = budget
        self.numbers = 0
        self.rewards: defaultdict[str, float] = defaultdict(float)
        self.begun: Counter[str] = Counter()
        self.hints: defaultdict[str, list[str]] = defaultdict(list)
        self.rest: list[Lease] = []

    def next(self) -> Lease | None:
        """The next lease, or None when the budget is handed out (or all apis are under way)."""
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
        focus = self._focus(api)
        return self._numbered(Lease(0, api, self.position[api], self.position[api] + tests, focus=focus))

    def _focus(self, api: str) -> str:
        if self.hints.get(api):
            return self.hints[api].pop(0)
        return EVEN if self.foci is None else self.foci.choose()

    def _numbered(self, lease: Lease) -> Lease:
        self.numbers += 1
        lease.number = self.numbers
        lease.until = None if self.slice is None else self.clock() + self.slice
        return lease

    def credit(self, api: str, reward: float) -> None:
        """A test of the api, which is under way, has shown something new."""
        self.rewards[api] += reward

    def encourage(self, apis: Iterable[str], reward: float, rules: Sequence[str]) -> None:
        """Something was found near these apis, by these rules, of which their next turns favour one each."""
        for api in apis:
            self.ranking.encourage(api, reward)
            if self.foci is not None:
                self.hints[api] = [*self.hints[api], *self.foci.named(rules)][-MAX_HINTS:]

    def done(self, lease: Lease, following: int, seconds: float) -> None:
        """A lease came back: `following` is the first test that was not run.

        One that comes back before its slice is over has nothing new to give, and pays for all of the slice.
        """
        if self.slice is not None and following < lease.last:
            seconds = max(seconds, self.slice)
        self._ended(lease, following, following - lease.first, seconds)

    def died(self, lease: Lease, index: int, seconds: float) -> None:
        """A worker died in test `index` of the lease: the rest is leased again, in a counted run at once.

        There a death counts as a whole slice of tests, since it may have been a hang.
        """
        self._ended(lease, index + 1, index + 1 - lease.first + COUNTED_TESTS, seconds)

    def _ended(self, lease: Lease, following: int, tests: int, seconds: float) -> None:
        api = lease.api
        self.position[api] = following
        if self.slice is None and following < lease.last:
            self.begun[api] += tests
            self.rest.append(Lease(0, api, following, lease.last, focus=lease.focus))
            return
        tests += self.begun.pop(api, 0)
        slices = tests / COUNTED_TESTS if self.slice is None else seconds / self.slice
        reward = self.rewards.pop(api, 0.0)
        self.ranking.give(api, slices, tests, reward)
        if self.foci is not None:
            self.foci.learn(lease.focus, slices, reward)


def slice_for(seconds: float, workers: int, apis: int) -> float:
    """A slice such that every api gets several turns in the time-box, between 20 and 250 ms."""
    return min(MAX_SLICE, max(MIN_SLICE, seconds * workers / max(apis, 1) / 4))
