"""Wrong-computation bugs (FreeFuzz, section 3.4): CPU, GPU with cuDNN and GPU without it must agree."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes


class Differential:
    """Two modes returned, and their results differ beyond the library's default tolerances.

    The text of an `ok` outcome says how its result differs from the first mode's; empty means that it agrees.
    """

    name = "differential"
    share = 0.25

    def plan(self, test: TestCase, modes: Sequence[str]) -> Sequence[str]:
        """All plain modes, where there is more than one."""
        plain = [mode for mode in modes if "@" not in mode]
        return plain if len(plain) > 1 else ()

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """A mode that rejects what another accepts is no wrong result: devices support different dtypes."""
        for mode, outcome in outcomes.items():
            if outcome.kind == "ok" and outcome.text:
                return Verdict(self.name, "wrong-result", f"{mode}: {outcome.text}")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """Agreement, disagreement, and an exception on one side."""
        return (
            Example({"cpu": Outcome("ok"), "cuda": Outcome("ok")}, "clean"),
            Example({"cpu": Outcome("ok"), "cuda": Outcome("ok", text="Mismatched elements: 1 / 4")}, "wrong-result"),
            Example({"cpu": Outcome("ok"), "cuda": Outcome("exception", "RuntimeError", "not implemented")}, "clean"),
        )
