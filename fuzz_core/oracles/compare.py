"""Oracles of wrong results: equivalent modes must agree (FreeFuzz, section 3.4, and modes beyond devices)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from zlib import crc32

from fuzz_core.adapters import quotes
from fuzz_core.adapters.dialect import DEVICE, DOUBLE, Dialect
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.rng import derive
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import EachMode, VerdictExample, each
from fuzz_core.oracles.kinds import ACCEPTS, REFUSES

GRAIN = 1 << 20


class Differential(EachMode):
    """Two modes return results that differ beyond the library's default tolerances.

    The text of an `ok` outcome is the difference from the result of the mode that it is compared with. Its name is the
    excuse for the difference (`worker.excuses`). An empty text means that the results agree.
    """

    name = "differential"

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """Return the modes after the first one whose share includes the test case."""
        drawn = derive(test.seed, self.name)
        return [mode for mode in modes[1:] if _grain(drawn, mode) < self.share_of(mode, dialect) * GRAIN]

    def share_of(self, mode: str, dialect: Dialect) -> float:
        """Return the share of the test cases that a mode executes."""
        return dialect.modes.get(mode, DEVICE).share

    def kind(self, mode: str, outcome: Outcome, dialect: Dialect) -> str:
        """Return the kind.

        A mode may refuse a call (devices refuse some dtypes), unless the text objects.
        """
        if outcome.text.startswith(REFUSES) or (outcome.text.startswith(ACCEPTS) and not outcome.name):
            return "inconsistent"
        spec = dialect.programs.get(mode) or dialect.modes.get(mode, DEVICE)
        return spec.kind if super().kind(mode, outcome, dialect) else ""

    def examples(self, dialect: Dialect) -> Sequence[VerdictExample]:
        """Return examples: agreement, disagreement, an excused difference, and an exception in one mode."""
        fine, differs = Outcome("ok"), Outcome("ok", text="Mismatched elements: 1 / 4")
        accepts = Outcome("ok", text=f"{ACCEPTS}cpu refuses: ValueError: no")
        refuses = Outcome("exception", "TypeError", f"{REFUSES}cpu accepts: no")
        return (
            VerdictExample({"cpu": fine, "cuda": fine}, "clean"),
            VerdictExample({"cpu": fine, "cuda": differs}, "wrong-result"),
            VerdictExample({"cpu": fine, "cuda": Outcome("exception", "RuntimeError", "not implemented")}, "clean"),
            *each("strided", [(differs._replace(name="random"), "clean")]),
            *each("compile", [(accepts, "inconsistent"), (accepts._replace(name="random"), "clean")]),
            *each("compile", [(refuses, "inconsistent")]),
            *(VerdictExample({mode: differs}, spec.kind) for mode, spec in dialect.modes.items()),
        )


def _grain(drawn: int, mode: str) -> int:
    """Return a draw for each mode from one number: the mode's own odd factor keeps it independent of further modes."""
    return (drawn * _factor(mode)) >> 7 & GRAIN - 1


@cache
def _factor(mode: str) -> int:
    return crc32(mode.encode()) << 1 | 1


class Nonfinite(EachMode):
    """Finite, well-scaled input gives NaN or infinity, although double precision gives a number that fits the dtype.

    The reference mode's outcome says in its text where it is finite and the plain result is not, see `worker.excuses`
    for what explains a difference.
    """

    name = "nonfinite"
    share = 0.05

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """Return the reference mode, if there is one."""
        return [DOUBLE] if DOUBLE in modes else ()

    def examples(self, dialect: Dialect) -> Sequence[VerdictExample]:
        """Return examples: a finite result, a result that is finite only in the reference, an excuse, a refusal."""
        alone = Outcome("ok", text="not finite in 1 of 4 elements")
        unsupported = Outcome("exception", "RuntimeError", "not implemented")
        excused = alone._replace(name="badly scaled")
        return each(DOUBLE, [(Outcome("ok"), "clean"), (alone, self.name), (excused, "clean"), (unsupported, "clean")])


class BoundsOracle(EachMode):
    """The library accepts a call that its documentation rules out.

    The mode of the documentation (`adapters.documentation`) runs only if the call returns.
    """

    name = "bounds"

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """Return the mode of the documentation, if there is any."""
        return [quotes.MODE] if quotes.MODE in modes else ()

    def kind(self, mode: str, outcome: Outcome, dialect: Dialect) -> str:
        """Return the kind.

        The text names the argument, its value and the documentation's words.
        """
        return self.name if (outcome.kind, outcome.name) == ("exception", quotes.RuledOut.__name__) else ""

    def examples(self, dialect: Dialect) -> Sequence[VerdictExample]:
        """Return examples: a value ruled out, a value not ruled out, and a value that the call ignores."""
        ruled = Outcome("exception", quotes.RuledOut.__name__, 'p = 2.0, documented: "must be in [0, 1]"')
        nothing = Outcome("skipped", "nothing to compare")
        ignored = Outcome("skipped", "BuildError", "p is ignored here")
        return each(quotes.MODE, [(ruled, self.name), (nothing, "clean"), (ignored, "clean")])
