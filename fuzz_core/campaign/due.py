"""What a fuzz leaves to be examined: it ends early where that would fill the rest of the time-box.

A finding that waits for the next night is worth less than a confirmed one, and most are found in a run's first minutes.
"""

from __future__ import annotations

from collections.abc import Iterable

from fuzz_core.oracles.kinds import kind_of


class Due:
    """Seconds that an examination of what is found would take.

    start_up: seconds until a script of the library is at its call. runs: of a script that confirms a finding. workers:
    examinations at a time. end: clock time by which all of it is to be done.
    """

    def __init__(self, start_up: float, runs: int, workers: int, end: float) -> None:
        self.unit = start_up * runs / workers
        self.end = end
        self.seconds = 0.0

    def add(self, kinds: Iterable[str]) -> None:
        """Findings of new signatures, by the kinds of their verdicts."""
        self.seconds += sum(self.unit * kind_of(kind).expense for kind in kinds)

    def fills(self, now: float) -> bool:
        """Whether there would be no time left for what is found from now on."""
        return now + self.seconds >= self.end
