"""Checks of scripts that time two equivalent calls: one takes many times as long."""

from __future__ import annotations

import re
from typing import NamedTuple

from fuzz_core.adapters.dialect import Dialect

# The two calls run in turns on one thread. The first turn, which may compile, is left out. Load of the machine only
# adds to a time, so the shortest processor times are compared. The factor is half the ratio of the oracle of costs.
# Times are those of the thread: under a limit of processor time the kernel counts the time of a process in steps of
# milliseconds.
TURNS, FACTOR = 8, 5
_DETAIL = re.compile(r"(?P<slow>[\w-]+)@: (?P=slow)@ takes \S+ s, (?P<fast>[\w-]+)@ takes \S+ s\Z")
_TIMED = """THREADother = {changed}

def changed():
BODY

def seconds(call):
    began = time.thread_time()
    call()
    return time.thread_time() - began

turns = [(seconds(changed), seconds(lambda: {expected})) for _ in range(TURNS)]
SLOW = map(min, zip(*turns[1:]))
print(told := f"expected at most FACTOR times the {fast:.1e} s REFERENCE, got {slow:.1e} s HOW")
assert slow <= FACTOR * fast, told"""


class CostPair(NamedTuple):
    """Two modes that do the same work, and the one that is not the plain call."""

    slow: str
    fast: str
    changed: str


def cost_pair(detail: str, dialect: Dialect) -> CostPair | None:
    """Return the modes of a verdict on costs; None if no script can time them (other precision, a call that writes)."""
    found = _DETAIL.match(detail)
    changed = next((mode for mode in found.groups() if mode in dialect.ways), "") if found else ""
    if found is None or not changed:
        return None
    before, _, _ = dialect.ways[changed].check.partition("{expected}")
    return CostPair(found["slow"], found["fast"], changed) if "{actual}" in before else None


def timing_check(pair: CostPair, dialect: Dialect) -> str:
    """Return the check of a comparison that times both calls, see `render_comparison`."""
    lines = dialect.ways[pair.changed].check.split("\n")
    last = next(place for place, line in enumerate(lines) if "{actual}" in line)
    body = "\n".join(f"    {line}" for line in lines[: last + 1])
    how, reference = dialect.modes[pair.changed].phrases
    order = ("slow, fast", how, reference) if pair.slow == pair.changed else ("fast, slow", reference, how)
    names = zip(("SLOW", "HOW", "REFERENCE"), order, strict=True)
    text = _TIMED.replace("THREAD", f"{dialect.one_thread}\n" * bool(dialect.one_thread))
    for name, value in (("TURNS", str(TURNS)), ("FACTOR", str(FACTOR)), *names, ("BODY", body)):
        text = text.replace(name, value)
    return text
