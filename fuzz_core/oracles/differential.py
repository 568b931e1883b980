"""Wrong-computation bugs: modes that mean the same must agree (FreeFuzz, section 3.4, and modes beyond devices)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from zlib import crc32

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.rng import derive
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes

# What share of the test cases each mode executes: the dearer, the fewer. Devices that are not named have a quarter.
SHARES = {
    "strided": 0.2,
    "out": 0.1,
    "inplace": 0.3,
    "meta": 0.2,
    "fake": 0.05,
    "vmap": 0.1,
    "backward": 0.03,
    "grad-forward": 0.01,
    "grad-numerical": 0.005,
    "grad-second": 0.005,
    "compile": 0.0005,
    "onednn-off": 0.02,
    "threads": 0.002,
    "function": 0.02,
    "xla": 0.002,
    "fused": 0.05,
}
DEVICE_SHARE = 0.25
# Modes that other oracles ask for: references are compared with nothing here.
REFERENCES = ("cpu", "cpu-fp64", "cpu-fp64-nudged", "cpu-fp64-nudged-back", "grad", "grad-grad", "function-known")
KINDS = {
    "meta": "wrong-metadata",
    "fake": "wrong-metadata",
    "grad-forward": "wrong-gradient",
    "grad-numerical": "wrong-gradient",
    "grad-second": "wrong-gradient",
    "training": "wrong-gradient",
}
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

    def __init__(self, shares: Mapping[str, float] = SHARES) -> None:
        self.shares = shares

    def plan(self, test: TestCase, modes: Sequence[str]) -> Sequence[str]:
        """The modes whose share the test case is in."""
        if len(modes) < 2:
            return ()
        drawn = derive(test.seed, self.name)
        return [mode for mode in modes if mode not in REFERENCES and self._is_in(drawn, mode)]

    def _is_in(self, drawn: int, mode: str) -> bool:
        """Another draw for each mode out of one number, whatever other modes there are."""
        mixed = (drawn * _factor(mode)) >> 7 & GRAIN - 1
        return mixed < self.shares.get(mode, DEVICE_SHARE) * GRAIN

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """A mode may refuse what another accepts, as devices do with dtypes, unless the text says otherwise."""
        for mode, outcome in outcomes.items():
            if outcome.text.startswith(REFUSES) or (outcome.text.startswith(ACCEPTS) and not outcome.name):
                return Verdict(self.name, "inconsistent", f"{mode}: {outcome.text}")
            if outcome.kind == "ok" and outcome.text and not outcome.name:
                return Verdict(self.name, KINDS.get(mode, "wrong-result"), f"{mode}: {outcome.text}")
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
            Example({"meta": Outcome("ok", text="shape is (1,), expected (2,)")}, "wrong-metadata"),
            Example({"cpu": Outcome("ok"), "cuda": Outcome("exception", "RuntimeError", "not implemented")}, "clean"),
        )


@cache
def _factor(mode: str) -> int:
    """An odd number of its own for each mode."""
    return crc32(mode.encode()) << 1 | 1
