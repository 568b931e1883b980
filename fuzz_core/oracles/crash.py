"""Crash bugs (FreeFuzz, section 3.4): a meaningful exception about invalid input is no finding."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes


class Crash:
    """The process died by a signal, hung, lost its device, or an exception says itself that it is an internal error."""

    name = "crash"
    share = 1.0

    def plan(self, test: TestCase, modes: Sequence[str]) -> Sequence[str]:
        """The first mode alone; a death in another mode is seen all the same."""
        return modes[:1]

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """The worst outcome decides."""
        for mode, outcome in outcomes.items():
            kind = _kind(outcome, dialect)
            if kind:
                return Verdict(self.name, kind, f"{mode}: {outcome.name}")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """One per kind of outcome."""
        return (
            Example({"cpu": Outcome("ok")}, "clean"),
            Example({"cpu": Outcome("exception", "ValueError", "expected a positive size")}, "clean"),
            Example({"cpu": Outcome("exception", "SystemError", "returned NULL without setting")}, "internal-error"),
            Example({"cpu": Outcome("signal", "SIGSEGV")}, "crash"),
            Example({"cpu": Outcome("signal", "SIGABRT", "Check failed: rank == 2")}, "crash"),
            Example({"cpu": Outcome("signal", "SIGKILL")}, "clean"),
            Example({"cpu": Outcome("timeout", "5 s")}, "hang"),
            Example({"cpu": Outcome("oom", "MemoryError")}, "clean"),
        )


def _kind(outcome: Outcome, dialect: Dialect) -> str:
    if outcome.kind == "timeout":
        return "hang"
    text = f"{outcome.name}: {outcome.text}"
    if dialect.out_of_memory.search(text):
        return ""
    if outcome.kind == "signal":
        # SIGKILL comes from the kernel's out-of-memory killer or from us, never from the library.
        return "" if outcome.name == "SIGKILL" else "crash"
    if outcome.kind == "exception" and dialect.internal_error.search(text):
        return "internal-error"
    if outcome.kind == "exception" and dialect.poisons.search(text):
        return "crash"
    return ""
