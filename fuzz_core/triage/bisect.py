"""Which build to try next, so that few tries say between which two builds a bug came, or went.

Nothing is run here: builds are numbers, from the oldest at 0, and what is known of some is a mapping. Where no good
build is named, the search strides back from the bad one: by the largest power of two that fits, then to the oldest, so
that the whole takes no more tries than halving alone. Then it halves. A build that cannot tell is passed by: its
nearest neighbour takes its place, or one further off where several cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

Status = Literal["good", "bad", "broken"]
Known = Mapping[int, Status]
N = TypeVar("N", int, int | None)

WRONG_GOOD = 0.01
MOST_RUNS = 50


class Answer(NamedTuple):
    """The two builds that the change lies between; `between`: the builds there, none of which can tell.

    bad, good: None where none is known. Searching for what broke, `bad` is the first bad and `good` the last good one;
    searching for what fixed, `bad` is the last bad and `good` the first fixed one.
    """

    bad: int | None
    good: int | None
    between: tuple[int, ...] = ()


@dataclass(frozen=True)
class Search:
    """`count` builds, one of which is known to be bad, and perhaps one that is good.

    fixed: search forward for what fixed the bug instead of backward for what broke it.
    """

    count: int
    bad: int
    good: int | None = None
    fixed: bool = False

    def next(self, known: Known) -> int | None:
        """The build to try; None where the search is over, also where an end is not what it was said to be."""
        return self._turn(_next(self._turned(known), self._turn(self.bad), self._turn(self.good)))

    def ahead(self, known: Known, width: int) -> list[int]:
        """The build to try, and those that may come next, whatever it shows: at most `width`, likely ones first."""
        found: list[int] = []
        guesses: list[dict[int, Status]] = [dict(known)]
        for guess in guesses:
            build = self.next(guess)
            if build is None or len(guesses) > 4 * width:
                continue
            found += [build] * (build not in found)
            guesses += [{**guess, build: "bad"}, {**guess, build: "good"}]
        return found[:width]

    def answer(self, known: Known) -> Answer:
        """What is known of where the change lies."""
        turned, bad = self._turned(known), self._turn(self.bad)
        if turned.get(bad) != "bad":
            return Answer(None, None)
        good, first = _ends(turned, bad)
        # With no good build, what lies before the first bad one cannot tell or was not tried: that is no range.
        between = () if good is None else tuple(sorted(self._turn(each) for each in range(good + 1, first)))
        return Answer(self._turn(first), self._turn(good), between)

    def _turn(self, build: N) -> N:
        """What fixed a bug is what broke it when time runs backward; None as it is."""
        return build if build is None or not self.fixed else self.count - 1 - build

    def _turned(self, known: Known) -> dict[int, Status]:
        return {self._turn(build): status for build, status in known.items()}


def _next(known: Known, bad: int, good: int | None) -> int | None:
    for end, status in ((bad, "bad"), (good, "good")):
        if end is not None and end not in known:
            return end
        if end is not None and known[end] != status:
            return None
    last, first = _ends(known, bad)
    return _backward(known, bad, first) if last is None else _halved(known, last, first)


def _ends(known: Known, bad: int) -> tuple[int | None, int]:
    """The newest good build before the bad one, and the oldest bad one after that."""
    last = max((each for each in known if each < bad and known[each] == "good"), default=None)
    oldest = -1 if last is None else last
    return last, min(each for each in known if oldest < each <= bad and known[each] == "bad")


def _halved(known: Known, low: int, high: int) -> int | None:
    """The unknown build that splits the others most evenly; where several cannot tell, also well away from those."""
    unknown = [each for each in range(low + 1, high) if each not in known]
    broken = [each for each in range(low + 1, high) if each in known]

    def worth(rank: int) -> float:
        split = min(rank, len(unknown) - 1 - rank) + 1
        distance = min((abs(unknown[rank] - each) for each in broken), default=1)
        return split * distance / (distance + max(len(broken) - 1, 0))

    return unknown[max(range(len(unknown)), key=worth)] if unknown else None


def _backward(known: Known, bad: int, first: int) -> int | None:
    """With no good build yet: the next stride; where the oldest cannot tell, the border of those that can."""
    strides = (bad - (1 << (bad.bit_length() - 1)), 0) if bad else ()
    found = next((each for each in strides if each < first and each not in known), None)
    if found is not None or first == 0:
        return found
    silent = max(each for each in known if each < first)
    within = _halved(known, silent, first)
    return within if within is not None else _beyond(known, first)


def _beyond(known: Known, first: int) -> int | None:
    """Behind one build that cannot tell there may be others that can: a look at greater and greater distances."""
    distances = (1 << power for power in range(1, first.bit_length()))
    return next((first - each for each in distances if first - each not in known), None)


def miss(hits: int, runs: int, silent: int) -> float:
    """The probability that a build which has the bug shows nothing in `silent` runs.

    The rate is known only from `hits` of `runs` on builds that have it: all rates are weighed by how well they fit
    that (the beta-binomial distribution, every rate being equally likely before).
    """
    probability = 1.0
    for run in range(silent):
        probability *= (runs - hits + 1 + run) / (runs + 2 + run)
    return probability


def runs_needed(hits: int, runs: int, wrong: float = WRONG_GOOD, most: int = MOST_RUNS) -> int:
    """How many silent runs, at most `most`, make a build good with a probability below `wrong` that it is not."""
    return next((each for each in range(1, most) if miss(hits, runs, each) < wrong), most)
