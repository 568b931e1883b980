"""Documented bounds: a value that the documentation rules out must not be accepted silently."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.documented import MODE
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes

REFUSES = "RuledOut"


class Bounds:
    """A call that the documentation rules out is taken without a word, see `adapters.documented`."""

    name = "bounds"
    share = 1.0

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The first mode and the documentation, where there is any."""
        return [modes[0], MODE] if MODE in modes else ()

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """The detail names the argument, its value and the documentation's words."""
        documented = outcomes.get(MODE, Outcome("skipped"))
        taken = any(outcome.kind == "ok" for mode, outcome in outcomes.items() if mode != MODE)
        if taken and (documented.kind, documented.name) == ("exception", REFUSES):
            return Verdict(self.name, "bounds", f"{MODE}: {documented.text}")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """Taken although ruled out, refused as documented, not ruled out, and ruled out where nobody looks."""
        ruled = Outcome("exception", REFUSES, 'p = 2.0, documented: "must be in [0, 1]" (docstring)')
        refused = Outcome("exception", "ValueError", "p must be in [0, 1]")
        return (
            Example({"cpu": Outcome("ok"), MODE: ruled}, "bounds"),
            Example({"cpu": refused, MODE: Outcome("skipped", "nothing to compare")}, "clean"),
            Example({"cpu": Outcome("ok"), MODE: Outcome("skipped", "nothing to compare")}, "clean"),
            Example({"cpu": Outcome("ok"), MODE: Outcome("skipped", "BuildError", "p is ignored here")}, "clean"),
        )
