"""Guidances that choose the next operator of a graph (section 4.1.2): baselines, tabular learners, a bandit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log, sqrt
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.rng import Rng

# An operator and its successor; the first operator of a path follows "".
Pair = tuple[str, str]
Key = TypeVar("Key", str, Pair)
# The values of operators, by the operator before.
QTable = defaultdict[str, dict[str, float]]
# SelectAction of algorithm 1: the share of random choices, and the number of operators that are good enough.
EPSILON, TOP = 0.2, 5
# Q-learning: the rate of learning, and the weight of the value of the next choice.
RATE, DISCOUNT = 0.3, 0.9
# The genetic guidance: how many of the best graphs stay in the population, and how often a gene mutates.
POPULATION, MUTATED = 32, 0.2
OPERATOR_TRIALS = 4.0


class Guidance(ABC):
    """A policy that chooses operator by operator, and learns how much reward the finished graph brought."""

    # The worth of a finding whose signature was seen before in this run, as a share of a new finding's worth.
    again = 1.0

    def __init__(self, rng: Rng) -> None:
        self.rng = rng

    @abstractmethod
    def choose(self, before: str, names: Sequence[str]) -> str:
        """Choose one of the operators that may follow `before`, which is empty at the beginning of a path."""

    @abstractmethod
    def learn_reward(self, chosen: Sequence[Pair], reward: float) -> None:
        """Learn the reward of a graph with these choices, in order (equation 3); negative for a repeated graph."""

    def learn_rewards(self, chosen: Sequence[Pair], rewards: Sequence[float]) -> None:
        """Learn the reward of each of the choices by itself (algorithm 1, line 9), or the highest as the graph's."""
        self.learn_reward(chosen, max(rewards, default=0.0))


class Alike(Guidance):
    """The random guidance of CRADLE and MUFFIN: every choice is equally likely."""

    def choose(self, before: str, names: Sequence[str]) -> str:
        """Return any of the operators."""
        return self.rng.choice(names)

    def learn_reward(self, chosen: Sequence[Pair], reward: float) -> None:
        """Ignore the reward."""


class Epsilon(Guidance):
    """SelectAction of algorithm 1: random with probability EPSILON, otherwise by value.

    Half of the choices by value are the best operator, and half are one of the TOP best. The reward of a graph counts
    for each of its choices.
    """

    def choose(self, before: str, names: Sequence[str]) -> str:
        """Choose as the class says; operators of equal value are equally likely."""
        if self.rng.chance(EPSILON):
            return self.rng.choice(names)
        ranked = sorted(_shuffled(names, self.rng), key=lambda name: -self.value(before, name))
        return ranked[0] if self.rng.chance(0.5) else self.rng.choice(ranked[:TOP])

    @abstractmethod
    def value(self, before: str, name: str) -> float:
        """Return the expected value of an operator after another."""

    def learn_reward(self, chosen: Sequence[Pair], reward: float) -> None:
        """See `Guidance`."""
        self.learn_rewards(chosen, [reward] * len(chosen))

    @abstractmethod
    def learn_rewards(self, chosen: Sequence[Pair], rewards: Sequence[float]) -> None:
        """See `Guidance`."""


class QLearning(Epsilon):
    """A table of values, learnt from a graph's end to its beginning."""

    def __init__(self, rng: Rng) -> None:
        super().__init__(rng)
        self.values: QTable = defaultdict(dict)

    def value(self, before: str, name: str) -> float:
        """Return the value in the table, 0 if there is none yet."""
        return self.values[before].get(name, 0.0)

    def learn_rewards(self, chosen: Sequence[Pair], rewards: Sequence[float]) -> None:
        """Move the value of every choice towards its reward and the discounted value of the best successor."""
        own, other = self.tables()
        for (before, name), reward in reversed(list(zip(chosen, rewards, strict=True))):
            best = max(own[name], key=own[name].__getitem__, default="")
            target = reward + DISCOUNT * other[name].get(best, 0.0)
            known = own[before].get(name, 0.0)
            own[before][name] = known + RATE * (target - known)

    def tables(self) -> tuple[QTable, QTable]:
        """Return the table that is updated and chooses the best successor, and the table that gives its value."""
        return self.values, self.values


class DoubleQ(QLearning):
    """Two tables: the first chooses the best successor, the second gives its value (DDQN's idea, without a network)."""

    def __init__(self, rng: Rng) -> None:
        super().__init__(rng)
        self.others: QTable = defaultdict(dict)

    def value(self, before: str, name: str) -> float:
        """Return the mean of both tables."""
        return (super().value(before, name) + self.others[before].get(name, 0.0)) / 2

    def tables(self) -> tuple[QTable, QTable]:
        """Return the two tables, in an order chosen by chance."""
        return (self.values, self.others) if self.rng.chance(0.5) else (self.others, self.values)


class Mcmc(Guidance):
    """LEMON's guidance: an operator replaces the last one by Metropolis and Hastings, by rank of mean reward.

    The lowest of n ranks is accepted by (1 - 3/n)^n, about a twentieth (Chen et al., Classfuzz, PLDI 2016).
    """

    def __init__(self, rng: Rng) -> None:
        super().__init__(rng)
        self.worth: defaultdict[str, float] = defaultdict(float)
        self.times: Counter[str] = Counter()
        self.last = ""

    def choose(self, before: str, names: Sequence[str]) -> str:
        """Propose operators until one is accepted; a proposal that ranks no lower than the last is always accepted."""
        ranked = sorted({*names, self.last}, key=lambda name: (-self.worth[name] / (1 + self.times[name]), name))
        place = {name: number for number, name in enumerate(ranked)}
        kept = max(0.1, 1 - 3 / len(ranked))
        proposed = self.rng.choice(names)
        while not self.rng.chance(min(1.0, kept ** (place[proposed] - place[self.last]))):
            proposed = self.rng.choice(names)
        self.last = proposed
        return proposed

    def learn_reward(self, chosen: Sequence[Pair], reward: float) -> None:
        """Add the graph's reward to each of its operators; negative rewards count as 0."""
        for _, name in chosen:
            self.times[name] += 1
            self.worth[name] += max(0.0, reward)


class Genetic(Guidance):
    """AUDEE's guidance: the next graph follows a child of two of the best graphs so far."""

    def __init__(self, rng: Rng) -> None:
        super().__init__(rng)
        self.population: list[tuple[float, list[str]]] = []
        self.plan: list[str] = []

    def choose(self, before: str, names: Sequence[str]) -> str:
        """Return the next gene of the child if it fits here and does not mutate; otherwise any operator."""
        gene = self.plan.pop(0) if self.plan else ""
        return gene if gene in names and not self.rng.chance(MUTATED) else self.rng.choice(names)

    def learn_reward(self, chosen: Sequence[Pair], reward: float) -> None:
        """Add the graph to the population, and crosses two of its members at one point for the next graph."""
        self.population.append((reward, [name for _, name in chosen]))
        self.population = sorted(self.population, key=lambda each: -each[0])[:POPULATION]
        one, other = (self.rng.choice(self.population)[1] for _ in range(2))
        self.plan = one[: self.rng.between(0, len(one))] + other[self.rng.between(0, len(other)) :]


class PairBandit(Guidance):
    """An upper confidence bound for each pair of operators: its mean reward, plus more for fewer trials."""

    width = 1.0  # weight of the bonus for few trials

    def __init__(self, rng: Rng) -> None:
        super().__init__(rng)
        self.worth: defaultdict[Pair, float] = defaultdict(float)
        self.times: Counter[Pair] = Counter()
        self.total = 0

    def choose(self, before: str, names: Sequence[str]) -> str:
        """Return an operator with the highest bound; equal bounds are equally likely."""
        return max(_shuffled(names, self.rng), key=lambda name: self._bound((before, name)))

    def learn_reward(self, chosen: Sequence[Pair], reward: float) -> None:
        """Update the mean reward of each pair."""
        for pair in chosen:
            self.total += 1
            _average(self.worth, self.times, pair, reward)

    def _bound(self, pair: Pair) -> float:
        return self.worth[pair] + self.width * sqrt(log(2 + self.total) / (1 + self.times[pair]))


class NoveltyBandit(PairBandit):
    """A bandit that is rewarded only for new signatures and explores by operator, because pairs are too many to try.

    The value of a pair is a mean of its own rewards and its operator's, which counts as OPERATOR_TRIALS trials.
    """

    again = 0.0
    width = 0.5

    def __init__(self, rng: Rng) -> None:
        super().__init__(rng)
        self.each: defaultdict[str, float] = defaultdict(float)
        self.tried: Counter[str] = Counter()

    def learn_reward(self, chosen: Sequence[Pair], reward: float) -> None:
        """Update the mean rewards of the pairs and of each operator."""
        super().learn_reward(chosen, reward)
        for _, name in chosen:
            _average(self.each, self.tried, name, reward)

    def saved(self) -> dict[str, NDArray[Any]]:
        """Return the counts and mean rewards of each tried operator and pair, so that a later run can go on."""
        return {
            "pairs": np.array(list(self.times), np.str_).reshape(-1, 2),
            "times": np.array(list(self.times.values()), np.int64),
            "worth": np.array([self.worth[each] for each in self.times]),
            "names": np.array(list(self.tried), np.str_),
            "tried": np.array(list(self.tried.values()), np.int64),
            "each": np.array([self.each[each] for each in self.tried]),
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> bool:
        """Restore what was learnt before.

        Returns:
            False if an array is missing or sizes do not fit.
        """
        try:
            pairs = [(before, name) for before, name in saved["pairs"].tolist()]
            names = saved["names"].tolist()
            self.times = Counter(dict(zip(pairs, saved["times"].tolist(), strict=True)))
            self.worth.update(zip(pairs, saved["worth"].tolist(), strict=True))
            self.tried = Counter(dict(zip(names, saved["tried"].tolist(), strict=True)))
            self.each.update(zip(names, saved["each"].tolist(), strict=True))
        except (KeyError, ValueError):
            return False
        self.total = self.times.total()
        return True

    def _bound(self, pair: Pair) -> float:
        times, own = self.times[pair], self.each[pair[1]]
        mean = (times * self.worth[pair] + OPERATOR_TRIALS * own) / (times + OPERATOR_TRIALS)
        return mean + self.width * sqrt(log(2 + self.total) / (1 + self.tried[pair[1]]))


class Noting:
    """A guidance that notes its choices for the graph under construction."""

    def __init__(self, guidance: Guidance) -> None:
        self.guidance = guidance
        self.chosen: list[Pair] = []

    def __call__(self, before: str, names: Sequence[str]) -> str:
        """See `generation.Guide`."""
        name = self.guidance.choose(before, names)
        self.chosen.append((before, name))
        return name

    def taken(self) -> list[Pair]:
        """Return the choices since the last call: the next graph begins."""
        chosen, self.chosen = self.chosen, []
        return chosen


def _average(means: defaultdict[Key, float], times: Counter[Key], key: Key, reward: float) -> None:
    """Let a mean take in a reward; negative rewards count as 0."""
    times[key] += 1
    means[key] += (max(0.0, reward) - means[key]) / times[key]


def _shuffled(names: Sequence[str], rng: Rng) -> list[str]:
    left = list(names)
    return [left.pop(rng.below(len(left))) for _ in range(len(left))]
