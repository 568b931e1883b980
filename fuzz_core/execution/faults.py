"""Faults of nightfuzz's own code in workers. A fault ends its process, is no finding, and must be reported.

A library can damage the memory of a process, so that any later line of Python fails. Work that ended by a fault runs
again in a fresh process. A fault that does not come again is damage.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fuzz_core.ir.outcome import Outcome
from fuzz_core.worker.journal import OWN_FAULT

_BEGIN = "Traceback (most recent call last):"
_FRAME = re.compile(r'^  File "[^"\n]*\b(?P<file>(?:fuzz_core|nightfuzz)[^"\n]*)", line (?P<line>\d+)', re.MULTILINE)


class Faults:
    """The faults of a command: how often each place in the code failed, and the traceback of its first fault.

    Args:
        say: gets the text of the first fault of each place as soon as its process has ended.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self.say = say
        self.counts: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()  # all faults by place, also those that count as damage
        self.traces: dict[str, str] = {}

    def add(self, outcome: Outcome, retried: bool = False) -> None:
        """Count a process's end if it is a fault of nightfuzz's own code.

        Args:
            retried: whether the work runs again. Then the first fault of its place may be damage, and does not count.
        """
        frames = list(_FRAME.finditer(outcome.text))
        if not is_own_fault(outcome) or not frames:
            return
        place = f"{frames[-1]['file']}:{frames[-1]['line']}"
        self.ends[place] += 1
        if retried and self.ends[place] == 1:
            return
        self.counts[place] = self.ends[place]
        if place not in self.traces:
            self.traces[place] = outcome.text[max(outcome.text.find(_BEGIN), 0) :].rstrip()
            self.say(f"a fault of nightfuzz at {place} ended a worker; the run goes on\n{self.traces[place]}")

    @property
    def damages(self) -> list[str]:
        """The places of faults that came once, in work that runs again."""
        return [place for place in self.ends if place not in self.counts]


def is_own_fault(outcome: Outcome) -> bool:
    """Return whether an exception of nightfuzz's own code has ended a process."""
    return (outcome.kind, outcome.name) == ("exit", str(OWN_FAULT))


_COLLECTING: list[Faults] = []


@contextmanager
def collected_faults(say: Callable[[str], object]) -> Iterator[Faults]:
    """Collect the faults of all processes that end within the context, in any thread.

    Args:
        say: see `Faults`.
    """
    faults = Faults(say)
    _COLLECTING.append(faults)
    try:
        yield faults
    finally:
        _COLLECTING.remove(faults)


def note_end(outcome: Outcome, retried: bool) -> None:
    """Report to the collectors of faults how a process has ended, see `Faults.add`."""
    for faults in _COLLECTING:
        faults.add(outcome, retried)
