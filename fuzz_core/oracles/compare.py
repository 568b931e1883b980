"""Wrong-computation bugs: modes that mean the same must agree (FreeFuzz, section 3.4, and modes beyond devices)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from zlib import crc32

from fuzz_core.adapters import quotes
from fuzz_core.adapters.dialect import DEVICE, DOUBLE, Dialect
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.rng import derive
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import EachMode, Example, each
from fuzz_core.oracles.kinds import ACCEPTS, REFUSES

GRAIN = 1 << 20


class Differential(EachMode):
    """Two modes returned, and their results differ beyond the library's default tolerances.

    The text of an `ok` outcome says how its result differs from that of the mode it is compared with, its name why that
    is no fault (`worker.excuses`); empty means that it agrees.
    """

    name = "differential"

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The modes beyond the first whose share the test case is in."""
        drawn = derive(test.seed, self.name)
        return [mode for mode in modes[1:] if _grain(drawn, mode) < self.share_of(mode, dialect) * GRAIN]

    def share_of(self, mode: str, dialect: Dialect) -> float:
        """What share of the test cases a mode executes."""
        return dialect.modes.get(mode, DEVICE).share

    def kind(self, mode: str, outcome: Outcome, dialect: Dialect) -> str:
        """A mode may refuse what another accepts, as devices do with dtypes, unless the text says otherwise."""
        if outcome.text.startswith(REFUSES) or (outcome.text.startswith(ACCEPTS) and not outcome.name):
            return "inconsistent"
        spec = dialect.programs.get(mode) or dialect.modes.get(mode, DEVICE)
        return spec.kind if super().kind(mode, outcome, dialect) else ""

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """Agreement, disagreement, one that is explained, and an exception on one side."""
        fine, differs = Outcome("ok"), Outcome("ok", text="Mismatched elements: 1 / 4")
        accepts = Outcome("ok", text=f"{ACCEPTS}cpu refuses: ValueError: no")
        refuses = Outcome("exception", "TypeError", f"{REFUSES}cpu accepts: no")
        return (
            Example({"cpu": fine, "cuda": fine}, "clean"),
            Example({"cpu": fine, "cuda": differs}, "wrong-result"),
            Example({"cpu": fine, "cuda": Outcome("exception", "RuntimeError", "not implemented")}, "clean"),
            *each("strided", [(differs._replace(name="random"), "clean")]),
            *each("compile", [(accepts, "inconsistent"), (accepts._replace(name="random"), "clean")]),
            *each("compile", [(refuses, "inconsistent")]),
            *(Example({mode: differs}, spec.kind) for mode, spec in dialect.modes.items()),
        )


def _grain(drawn: int, mode: str) -> int:
    """Another draw for each mode out of one number, whatever other modes there are: by an odd number of its own."""
    return (drawn * _factor(mode)) >> 7 & GRAIN - 1


@cache
def _factor(mode: str) -> int:
    return crc32(mode.encode()) << 1 | 1


class Nonfinite(EachMode):
    """NaN or infinity out of finite, well-scaled input, where double precision has a number that would fit.

    The reference mode's outcome says in its text where it is finite and the plain result is not, see `worker.excuses`
    for what explains a difference.
    """

    name = "nonfinite"
    share = 0.05

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The reference mode, where there is one."""
        return [DOUBLE] if DOUBLE in modes else ()

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """A reference that is finite too, one that is finite alone, and one where the input explains it."""
        alone = Outcome("ok", text="not finite in 1 of 4 elements")
        unsupported = Outcome("exception", "RuntimeError", "not implemented")
        excused = alone._replace(name="badly scaled")
        return each(DOUBLE, [(Outcome("ok"), "clean"), (alone, self.name), (excused, "clean"), (unsupported, "clean")])


class Bounds(EachMode):
    """A call that the documentation rules out is taken without a word, see `adapters.documented`.

    That mode is asked only where the call returns.
    """

    name = "bounds"

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The documentation, where there is any."""
        return [quotes.MODE] if quotes.MODE in modes else ()

    def kind(self, mode: str, outcome: Outcome, dialect: Dialect) -> str:
        """The text names the argument, its value and the documentation's words."""
        return self.name if (outcome.kind, outcome.name) == ("exception", quotes.RuledOut.__name__) else ""

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """Ruled out, not ruled out or refused as documented, and ruled out where nobody looks."""
        ruled = Outcome("exception", quotes.RuledOut.__name__, 'p = 2.0, documented: "must be in [0, 1]"')
        nothing = Outcome("skipped", "nothing to compare")
        ignored = Outcome("skipped", "BuildError", "p is ignored here")
        return each(quotes.MODE, [(ruled, self.name), (nothing, "clean"), (ignored, "clean")])
