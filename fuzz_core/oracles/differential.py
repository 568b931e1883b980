"""Wrong-computation bugs: modes that mean the same must agree (FreeFuzz, section 3.4, and modes beyond devices)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.rng import derive
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes

# What share of the test cases each mode executes: the dearer, the fewer. Devices that are not named have a quarter.
SHARES = {"strided": 0.1}
DEVICE_SHARE = 0.25
# Modes that other oracles ask for: references are compared with nothing here.
REFERENCES = ("cpu", "cpu-fp64", "cpu-fp64-nudged")
KINDS = {"meta": "wrong-metadata"}
GRAIN = 1 << 20


class Differential:
    """Two modes returned, and their results differ beyond the library's default tolerances.

    The text of an `ok` outcome says how its result differs from that of the mode it is compared with, its name why that
    is no fault (`worker.doubts`); empty means that it agrees.
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
        return [mode for place, mode in enumerate(modes) if mode not in REFERENCES and self._is_in(drawn, place, mode)]

    def _is_in(self, drawn: int, place: int, mode: str) -> bool:
        """Another draw for each mode out of one number."""
        mixed = (drawn * (2 * place + 1)) >> 7 & GRAIN - 1
        return mixed < self.shares.get(mode, DEVICE_SHARE) * GRAIN

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """A mode that rejects what another accepts is no wrong result: devices support different dtypes."""
        for mode, outcome in outcomes.items():
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
            Example({"meta": Outcome("ok", text="shape is (1,), expected (2,)")}, "wrong-metadata"),
            Example({"cpu": Outcome("ok"), "cuda": Outcome("exception", "RuntimeError", "not implemented")}, "clean"),
        )
