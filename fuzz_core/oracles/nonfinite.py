"""NaN or infinity out of finite, well-scaled input, where double precision has a number that would fit."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes

REFERENCE = "cpu-fp64"


class Nonfinite:
    """The reference mode's outcome says in its text where it is finite and the plain result is not."""

    name = "nonfinite"
    share = 0.05

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The reference mode, where there is one."""
        return [REFERENCE] if REFERENCE in modes else ()

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """See `worker.excuses` for what explains a difference."""
        seen = outcomes.get(REFERENCE)
        if seen is not None and seen.kind == "ok" and seen.text and not seen.name:
            return Verdict(self.name, "nonfinite", f"{REFERENCE}: {seen.text}")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """A reference that is finite too, one that is finite alone, and one where the input explains it."""
        alone = "not finite in 1 of 4 elements"
        return (
            Example({REFERENCE: Outcome("ok")}, "clean"),
            Example({REFERENCE: Outcome("ok", text=alone)}, "nonfinite"),
            Example({REFERENCE: Outcome("ok", "badly scaled", text=alone)}, "clean"),
            Example({REFERENCE: Outcome("exception", "RuntimeError", "not implemented")}, "clean"),
        )
