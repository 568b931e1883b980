"""Wrong-computation bugs: modes that mean the same must agree (FreeFuzz, section 3.4, and modes beyond devices)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from zlib import crc32

from fuzz_core.adapters.dialect import DEVICE, Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.rng import derive
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes

# How the text of an outcome begins where one of two modes alone refuses the call.
ACCEPTS, REFUSES = "accepts what ", "refuses what "
GRAIN = 1 << 20


class Differential:
    """Two modes returned, and their results differ beyond the library's default tolerances.

    The text of an `ok` outcome says how its result differs from that of the mode it is compared with, its name why that
    is no fault (`worker.excuses`); empty means that it agrees.
    """

    name = "differential"
    share = 1.0

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The modes beyond the first whose share the test case is in."""
        drawn = derive(test.seed, self.name)
        return [mode for mode in modes[1:] if _grain(drawn, mode) < self.share_of(mode, dialect) * GRAIN]

    def share_of(self, mode: str, dialect: Dialect) -> float:
        """What share of the test cases a mode executes."""
        return dialect.modes.get(mode, DEVICE).share

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """A mode may refuse what another accepts, as devices do with dtypes, unless the text says otherwise."""
        for mode, outcome in outcomes.items():
            if outcome.text.startswith(REFUSES) or (outcome.text.startswith(ACCEPTS) and not outcome.name):
                return Verdict(self.name, "inconsistent", f"{mode}: {outcome.text}")
            if outcome.kind == "ok" and outcome.text and not outcome.name:
                spec = dialect.programs.get(mode) or dialect.modes.get(mode, DEVICE)
                return Verdict(self.name, spec.kind, f"{mode}: {outcome.text}")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """Agreement, disagreement, one that is explained, and an exception on one side."""
        differs = "Mismatched elements: 1 / 4"
        return (
            Example({"cpu": Outcome("ok"), "cuda": Outcome("ok")}, "clean"),
            Example({"cpu": Outcome("ok"), "cuda": Outcome("ok", text=differs)}, "wrong-result"),
            Example({"strided": Outcome("ok", "random", text=differs)}, "clean"),
            Example({"compile": Outcome("ok", text=f"{ACCEPTS}cpu refuses: ValueError: no")}, "inconsistent"),
            Example({"compile": Outcome("exception", "TypeError", f"{REFUSES}cpu accepts: no")}, "inconsistent"),
            Example({"compile": Outcome("ok", "random", f"{ACCEPTS}cpu refuses: ValueError: no")}, "clean"),
            *(Example({mode: Outcome("ok", text=differs)}, spec.kind) for mode, spec in dialect.modes.items()),
            Example({"cpu": Outcome("ok"), "cuda": Outcome("exception", "RuntimeError", "not implemented")}, "clean"),
        )


def _grain(drawn: int, mode: str) -> int:
    """Another draw for each mode out of one number, whatever other modes there are: by an odd number of its own."""
    return (drawn * _factor(mode)) >> 7 & GRAIN - 1


@cache
def _factor(mode: str) -> int:
    return crc32(mode.encode()) << 1 | 1
