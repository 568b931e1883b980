"""Scripts that end with an assertion: an element of the result must have its expected value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# The first words of the assertions, by which the runner of a script recognises them.
RESULT = "other libraries agree on another result"
GRADIENT = "other libraries agree on another gradient"
REWRITTEN = "written in another way, it gives another result"
COMPILED = "it gives another result than where it is compiled"
ALONE = "in a batch, it gives another result than for each row alone"
SAID = frozenset([RESULT, GRADIENT, REWRITTEN, COMPILED, ALONE])

_EXACTLY = "found == expected"


class Expected(NamedTuple):
    """The expected element or shape that an assertion compares with."""

    at: tuple[int, ...]  # the index of the element
    value: float  # the expected value
    bound: float  # the allowed absolute difference from the value
    witnesses: str  # a comment that names the sources of the expected value
    shape: tuple[int, ...] | None = None  # the expected shape, if the shape is wrong and no element


def printing(program: Sequence[str], array: str) -> str:
    """Return a script for a crash or an error.

    The last line prints an array, so that a lazy library computes it.
    """
    return "\n".join([*program, "", f"print({array})", ""])


def asserting(program: Sequence[str], array: str, said: str, expected: Expected) -> str:
    """Return the script that asserts the expected value.

    Args:
        array: the expression of a numpy array of the program's.
        said: one of SAID.
    """
    if expected.shape is not None:
        found, value, holds = f"{array}.shape", repr(expected.shape), _EXACTLY
    else:
        place = f"[{', '.join(map(str, expected.at))}]" if expected.at else ""
        found = f"float({array}{place})"
        value = repr(expected.value) if abs(expected.value) < float("inf") else f"float('{expected.value}')"
        holds = f"{_EXACTLY} or abs(found - expected) <= {expected.bound!r}"
    check = f'assert {holds}, f"{said}: {{expected!r}}, here {{found!r}}"'
    return "\n".join([*program, "", f"found = {found}", f"# {expected.witnesses}", f"expected = {value}", check, ""])


def is_of_shape(script: str) -> bool:
    """Return whether the script asserts a shape: other data cannot give a wrong shape by chance, unlike an element."""
    return f"\nassert {_EXACTLY}, " in script
