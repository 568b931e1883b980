"""Which api next: three ways to spend a time-box. Costs come in slices, rewards in new outcome classes."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Protocol

from fuzz_core.adapters.dialect import load_plugin

# What an api showed lately counts most: each further slice takes a fifth off what was before.
DISCOUNT = 0.8
# What an api that shows nothing any more is still expected to show in a slice.
PRIOR = 0.1
FAIR_PERIOD = 4
MOST_SHARE = 0.05
UNCAPPED_SLICES = 40.0
STALE_FACTOR = 8

Entry = tuple[float, int, str]


class Ranking(Protocol):
    """Apis waiting for their turn. One that was taken is out until it is given back."""

    def take(self) -> str | None:
        """The api whose turn it is; None where all are out."""

    def give(self, api: str, slices: float, tests: int, reward: float) -> None:
        """An api comes back: what its turn cost, in slices of time, how many tests it ran, and what they brought."""

    def encourage(self, api: str, reward: float) -> None:
        """Something was found near an api."""


class Fair:
    """The api that has cost least so far, so that slow apis and hangs pay for themselves."""

    def __init__(self, apis: Sequence[str]) -> None:
        self.order = {api: place for place, api in enumerate(apis)}
        self.cost = dict.fromkeys(apis, 0.0)
        self.heap = [(0.0, place, api) for place, api in enumerate(apis)]

    def take(self) -> str | None:
        """See `Ranking`."""
        return heapq.heappop(self.heap)[2] if self.heap else None

    def give(self, api: str, slices: float, tests: int, reward: float) -> None:
        """See `Ranking`."""
        self.cost[api] += slices
        heapq.heappush(self.heap, (self.cost[api], self.order[api], api))

    def encourage(self, api: str, reward: float) -> None:
        """Cost alone counts."""


class Uniform(Fair):
    """The api that has had fewest tests so far, whatever they cost: FreeFuzz gives every api as many mutants."""

    def give(self, api: str, slices: float, tests: int, reward: float) -> None:
        """See `Ranking`."""
        super().give(api, float(tests), tests, reward)


class Bandit:
    """The api with the highest rate of news lately, and every fourth turn the one that has cost least.

    A discounted bandit: the rate is new outcome classes, operators and findings per slice. Every api has a first turn
    before any has two; none takes more than a twentieth of all slices.
    """

    def __init__(self, apis: Sequence[str]) -> None:
        self.order = {api: place for place, api in enumerate(apis)}
        self.free = set(apis)
        self.cost = dict.fromkeys(apis, 0.0)
        self.recent = dict.fromkeys(apis, (0.0, 0.0))
        self.total = 0.0
        self.turns = 0
        self._rebuild()

    def take(self) -> str | None:
        """See `Ranking`."""
        self.turns += 1
        fair = self.turns % FAIR_PERIOD == 0
        api = (None if fair else self._pop(self.best)) or self._pop(self.least)
        if api is not None:
            self.free.discard(api)
        return api

    def _pop(self, heap: list[Entry]) -> str | None:
        """The first entry that is up to date, free and, by news, within its share of the budget."""
        kept = []
        found = None
        while heap and found is None:
            entry = heapq.heappop(heap)
            key, _, api = entry
            if api not in self.free or key != (self.cost[api] if heap is self.least else self._score(api)):
                continue
            if heap is self.best and self.cost[api] > max(UNCAPPED_SLICES, MOST_SHARE * self.total):
                kept.append(entry)
                continue
            found = api
        for entry in kept:
            heapq.heappush(heap, entry)
        return found

    def _score(self, api: str) -> float:
        if not self.cost[api]:
            return float("-inf")
        gain, cost = self.recent[api]
        return -(gain + PRIOR) / (cost + 1.0)

    def give(self, api: str, slices: float, tests: int, reward: float) -> None:
        """See `Ranking`."""
        gain, cost = self.recent[api]
        self.recent[api] = (gain * DISCOUNT + reward, cost * DISCOUNT + slices)
        self.cost[api] += slices
        self.total += slices
        self.free.add(api)
        heapq.heappush(self.best, self._by_news(api))
        heapq.heappush(self.least, self._by_cost(api))
        if len(self.best) + len(self.least) > STALE_FACTOR * len(self.cost):
            self._rebuild()

    def encourage(self, api: str, reward: float) -> None:
        """See `Ranking`."""
        if api not in self.recent:
            return
        gain, cost = self.recent[api]
        self.recent[api] = (gain + reward, cost)
        if api in self.free:
            heapq.heappush(self.best, self._by_news(api))

    def _by_news(self, api: str) -> Entry:
        return self._score(api), self.order[api], api

    def _by_cost(self, api: str) -> Entry:
        return self.cost[api], self.order[api], api

    def _rebuild(self) -> None:
        """Without what is out of date: in a long run that would outgrow everything else."""
        self.best = sorted(map(self._by_news, self.free))
        self.least = sorted(map(self._by_cost, self.free))


RANKINGS: dict[str, str] = {
    "bandit": "fuzz_core.campaign.ranking:Bandit",
    "fair": "fuzz_core.campaign.ranking:Fair",
    "uniform": "fuzz_core.campaign.ranking:Uniform",
}


def check_ranking(name: str) -> None:
    """Raises UserError for an unknown name."""
    load_plugin(RANKINGS, name, "schedule")


def ranking_of(name: str, apis: Sequence[str]) -> Ranking:
    """A ranking by name over apis in the order that breaks ties. Raises UserError for an unknown name."""
    made: Ranking = load_plugin(RANKINGS, name, "schedule")(apis)
    return made
