"""An oracle for two builds: an outcome worse than the baseline's is a regression, another difference a change."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Outcomes, VerdictExample, oracle_of

BASELINE = "baseline"
# The names of an outcome that say which of two results is right, by double precision.
WORSE, BETTER = "worse", "better"
SLOWER = "takes ten times as long"
# Outcomes that do not show how the library behaves: a build lacks the call, memory ran out, or the process was killed
# from outside.
SILENT = ("skipped", "oom", "exit")
# A package that only one of the two environments has.
MISSING = ("ImportError", "ModuleNotFoundError")


class Versions:
    """The test case has another outcome on the target than on the baseline.

    The text of the target's outcome is the difference of its result from the baseline's. An empty text means that the
    results agree. The outcome's name says which of the two is right (`worse`, `better`), or why the difference is no
    change.
    """

    name = "versions"
    share = 1.0

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """Return the first mode and the baseline, if there is one."""
        return (BASELINE, modes[0]) if BASELINE in modes else ()

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """Return the verdict: new crashes, hangs and wrong results are regressions, and their absence is a fix."""
        if len(outcomes) < 2:
            return Verdict(self.name, "clean")
        before = outcomes[BASELINE]
        after = next(outcome for mode, outcome in outcomes.items() if mode != BASELINE)
        kind = self._kind(before, after, dialect)
        return Verdict(self.name, kind, f"{BASELINE}: {_said(before, after)}" if kind != "clean" else "")

    def _kind(self, before: Outcome, after: Outcome, dialect: Dialect) -> str:
        if any(outcome.kind in SILENT or outcome.name in MISSING for outcome in (before, after)):
            return "clean"
        failed, fails = (_fails(outcome, dialect) for outcome in (before, after))
        if failed != fails:
            return "regression" if fails else "fixed"
        if fails or (before.kind, before.name) == (after.kind, after.name) == ("exception", before.name):
            return "clean"
        if before.kind == after.kind == "ok":
            return _kind_of_difference(after)
        return "changed"

    def examples(self, dialect: Dialect) -> Sequence[VerdictExample]:
        """Return an example of each kind, and of clean pairs."""
        fine, refused = Outcome("ok"), Outcome("exception", "ValueError", "a negative size")
        other = "other values\n[1.] before, now [2.]"
        return tuple(
            VerdictExample({BASELINE: before, "cpu": after}, kind)
            for before, after, kind in (
                (fine, fine, "clean"),
                (fine, Outcome("signal", "SIGSEGV"), "regression"),
                (refused, Outcome("signal", "SIGABRT", "Check failed: rank == 2"), "regression"),
                (Outcome("timeout", "5 s"), fine, "fixed"),
                (Outcome("signal", "SIGSEGV"), Outcome("signal", "SIGABRT"), "clean"),
                (fine, Outcome("ok", WORSE, other), "regression"),
                (fine, Outcome("ok", BETTER, other), "fixed"),
                (fine, Outcome("ok", "", other), "changed"),
                (fine, Outcome("ok", "random", other), "clean"),
                (fine, Outcome("ok", "", SLOWER), "regression"),
                (fine, refused, "changed"),
                (refused, fine, "changed"),
                (refused, refused._replace(text="negative"), "clean"),
                (refused, refused._replace(name="TypeError"), "changed"),
                (fine, Outcome("oom", "MemoryError"), "clean"),
                (fine, Outcome("skipped", "BuildError"), "clean"),
                (fine, Outcome("exception", "ImportError", "could not import PIL"), "clean"),
            )
        )


def _fails(outcome: Outcome, dialect: Dialect) -> bool:
    return not oracle_of("crash").judge({"cpu": outcome}, dialect).clean


def _kind_of_difference(after: Outcome) -> str:
    if not after.text:
        return "clean"
    if after.name == WORSE or (after.text.startswith(SLOWER) and not after.name):
        return "regression"
    if after.name:
        return "fixed" if after.name == BETTER else "clean"
    return "changed"


def _said(before: Outcome, after: Outcome) -> str:
    if after.kind == before.kind == "ok":
        return after.text
    return f"{_shown(before)} before, now {_shown(after)}"


def _shown(outcome: Outcome) -> str:
    if outcome.kind == "ok":
        return "accepted"
    return f"{outcome.name}: {outcome.text.strip().partition(chr(10))[0][:200]}".rstrip(": ")
