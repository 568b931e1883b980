"""Memory that a call does not give back: told by repeating one test case."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes


class Leak:
    """Every repetition of a call leaves memory behind.

    Asked for suspects alone: tests of a lease during which the worker's memory has grown. The text of the outcome of a
    repeated mode says by how much; empty means that memory settles.
    """

    name = "leak"
    share = 0.0

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The first mode, repeated."""
        return [f"{mode}*" for mode in modes[:1]]

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """Any growth is a leak: what is too little to be one is not in the text."""
        for mode, outcome in outcomes.items():
            if outcome.kind == "ok" and outcome.text:
                return Verdict(self.name, "leak", f"{mode}: {outcome.text}")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """Memory that settles, memory that grows, and a call that fails."""
        return (
            Example({"cpu*": Outcome("ok")}, "clean"),
            Example({"cpu*": Outcome("ok", text="every call leaves 4096 bytes")}, "leak"),
            Example({"cpu*": Outcome("exception", "ValueError", "expected a positive size")}, "clean"),
        )
