"""Choice of the next build to try, so that few tries show between which two builds a bug appeared or was fixed.

This module runs no build. Builds are numbers, from 0 for the oldest, and a mapping holds the status of each tried
build. If no good build is named, the search first strides back from the bad one. The first stride is the largest power
of two that fits, the second ends at the oldest build. So the whole search takes no more tries than halving alone. After
the strides, the search halves the range. A build that cannot decide is skipped: its nearest neighbour takes its place,
or a build further away if several cannot decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

Status = Literal["good", "bad", "broken"]
StatusByBuild = Mapping[int, Status]
N = TypeVar("N", int, int | None)

WRONG_GOOD = 0.01
MOST_RUNS = 50


class Answer(NamedTuple):
    """The two builds that the change lies between."""

    # None if no such build is known. A search for the break gives the first bad and the last good build. A search for
    # the fix gives the last bad and the first fixed build.
    bad: int | None
    good: int | None
    between: tuple[int, ...] = ()  # the builds between the two, none of which can decide


@dataclass(frozen=True)
class BuildSearch:
    """A search among `count` builds, one of which is known to be bad, and perhaps one that is good."""

    count: int
    bad: int
    good: int | None = None
    fixed: bool = False  # search forward for the fix instead of backward for the break

    def next(self, known: StatusByBuild) -> int | None:
        """Return the build to try; None if the search is over, or if an end is not bad or good as named."""
        return self._turn(_next(self._turned(known), self._turn(self.bad), self._turn(self.good)))

    def ahead(self, known: StatusByBuild, width: int) -> list[int]:
        """Return the build to try and the builds that may come next: at most `width`, likely ones first."""
        found: list[int] = []
        guesses: list[dict[int, Status]] = [dict(known)]
        for guess in guesses:
            build = self.next(guess)
            if build is None or len(guesses) > 4 * width:
                continue
            found += [build] * (build not in found)
            guesses += [{**guess, build: "bad"}, {**guess, build: "good"}]
        return found[:width]

    def answer(self, known: StatusByBuild) -> Answer:
        """Return the two builds that the change lies between, as far as they are known."""
        turned, bad = self._turned(known), self._turn(self.bad)
        if turned.get(bad) != "bad":
            return Answer(None, None)
        good, first = _ends(turned, bad)
        # If no good build is known, the builds before the first bad one cannot decide or were not tried: that is no
        # range.
        between = () if good is None else tuple(sorted(self._turn(each) for each in range(good + 1, first)))
        return Answer(self._turn(first), self._turn(good), between)

    def _turn(self, build: N) -> N:
        """Mirror the number of a build in a search for a fix: backward in time, a fix is a break.

        None stays None.
        """
        return build if build is None or not self.fixed else self.count - 1 - build

    def _turned(self, known: StatusByBuild) -> dict[int, Status]:
        return {self._turn(build): status for build, status in known.items()}


def _next(known: StatusByBuild, bad: int, good: int | None) -> int | None:
    for end, status in ((bad, "bad"), (good, "good")):
        if end is not None and end not in known:
            return end
        if end is not None and known[end] != status:
            return None
    last, first = _ends(known, bad)
    return _backward(known, bad, first) if last is None else _halved(known, last, first)


def _ends(known: StatusByBuild, bad: int) -> tuple[int | None, int]:
    """Return the newest good build before the bad one, and the oldest bad one after that."""
    last = max((each for each in known if each < bad and known[each] == "good"), default=None)
    oldest = -1 if last is None else last
    return last, min(each for each in known if oldest < each <= bad and known[each] == "bad")


def _halved(known: StatusByBuild, low: int, high: int) -> int | None:
    """Return the unknown build that splits the range most evenly.

    If several builds cannot decide, the choice also keeps away from them.
    """
    unknown = [each for each in range(low + 1, high) if each not in known]
    broken = [each for each in range(low + 1, high) if each in known]

    def worth(rank: int) -> float:
        split = min(rank, len(unknown) - 1 - rank) + 1
        distance = min((abs(unknown[rank] - each) for each in broken), default=1)
        return split * distance / (distance + max(len(broken) - 1, 0))

    return unknown[max(range(len(unknown)), key=worth)] if unknown else None


def _backward(known: StatusByBuild, bad: int, first: int) -> int | None:
    """Return the build to try while no good build is known.

    The search strides back. If the oldest build cannot decide, it looks for the border of the builds that can.
    """
    strides = (bad - (1 << (bad.bit_length() - 1)), 0) if bad else ()
    found = next((each for each in strides if each < first and each not in known), None)
    if found is not None or first == 0:
        return found
    silent = max(each for each in known if each < first)
    within = _halved(known, silent, first)
    return within if within is not None else _beyond(known, first)


def _beyond(known: StatusByBuild, first: int) -> int | None:
    """Return a build beyond those that cannot decide, at greater and greater distances."""
    distances = (1 << power for power in range(1, first.bit_length()))
    return next((first - each for each in distances if first - each not in known), None)


def miss_probability(hits: int, runs: int, silent: int) -> float:
    """Return the probability that a build which has the bug does not show it in `silent` runs.

    The rate is known only from `hits` of `runs` on builds with the bug. So all rates are weighed by how well they fit
    these runs (the beta-binomial distribution, every rate being equally likely before).
    """
    probability = 1.0
    for run in range(silent):
        probability *= (runs - hits + 1 + run) / (runs + 2 + run)
    return probability


def runs_needed(hits: int, runs: int, wrong: float = WRONG_GOOD, most: int = MOST_RUNS) -> int:
    """Return the silent runs, `most` at most, after which a build is bad with a probability below `wrong`."""
    return next((each for each in range(1, most) if miss_probability(hits, runs, each) < wrong), most)
