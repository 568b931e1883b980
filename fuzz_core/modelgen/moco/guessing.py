"""How a layer that nobody has seen work may be called: guesses, for trees to try out. Pure: randomness is injected."""

from __future__ import annotations

from collections.abc import Iterator

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.moco.calls import parameters
from fuzz_core.modelgen.moco.candidates import some
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.legality import legal

FLOAT, INDEX = "float32", "int64"
# Every size is the same: whatever of its axes a number has to agree with, it does.
SIZE = 4
SHAPES = tuple((SIZE,) * rank for rank in (3, 2, 4, 5, 1))
# An image, a text, a sound: they come alone.
ALONE: tuple[tuple[int, ...], ...] = ((SIZE, SIZE, SIZE, 3), (SIZE, 1), (SIZE, 512))
# {0}: of one shape and dtype, {1}: indices of that shape. What comes in a list behind it are the states of a cell.
FORMS = (
    ("[{0}, {0}]",),
    ("{0}",),
    ("{0}", "{0}"),
    ("{0}", "[{0}, {0}]"),
    ("{0}", "[{0}]"),
    ("{0}", "{1}"),
    ("{0}", "{0}", "{0}"),
)
# After each failure so many guesses more are thought of.
MORE = 5


def guessed_inputs(facts: Facts, rng: Rng, failed: int = 0) -> tuple[str, ...]:
    """What a layer may be called with, as `Facts.takes`, one of the likeliest guesses; the more of them have failed, of
    the more it is one. They are of the ranks and types that are known, where any are."""
    every = list(guesses(facts))
    return rng.choice(every[: MORE * (1 + failed)] or [(f"({SHAPES[0]}, {FLOAT!r})",)])


def guesses(facts: Facts) -> Iterator[tuple[str, ...]]:
    """All of them, the likeliest first."""
    ranks = facts.ranks or {len(shape) for shape in (*SHAPES, *ALONE)}
    for dtype in facts.dtypes or (FLOAT, INDEX):
        for shape in ALONE:
            if len(shape) in ranks:
                yield (f"({shape}, {dtype!r})",)
        for shape in SHAPES:
            kinds = [f"({shape}, {each!r})" for each in (dtype, INDEX)]
            if len(shape) in ranks:
                yield from (tuple(each.format(*kinds) for each in form) for form in FORMS)


def guessed_arguments(facts: Facts) -> dict[str, str]:
    """For parameters that are required: a size where one may be, else what was seen, else a size all the same."""
    found: dict[str, str] = {}
    for parameter in parameters(facts):
        if parameter.required:
            sized = parameter.dtype == "int" and legal(parameter, SIZE)
            found[parameter.name] = str(SIZE) if sized else some(parameter) or str(SIZE)
    return found
