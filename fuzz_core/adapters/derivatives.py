"""Derivatives along fixed directions, in every library alike: difference quotients, where a function is smooth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuzz_core.adapters.compare import DERIVATIVES
from fuzz_core.ir.errors import BuildError

# That of double precision.
STEP = 1e-6
# One that only double precision sees, and how many roundings of the result it must be worth to be seen for sure.
FINE, NOISE = 1e-12, 64
EPSILON = 2.0**-52


def direction(shape: Sequence[int], turn: float) -> Any:
    """Numbers in [-1, 1] that depend on the place alone."""
    return np.cos(turn + 1.7 * np.arange(np.prod(shape, dtype=int), dtype=np.float64)).reshape(shape)


def step_direction(shape: Sequence[int]) -> Any:
    """The direction that a tensor moves in.

    Symmetric for square matrices: those that stand for symmetric ones are read by half, and have derivatives by both.
    """
    along = direction(shape, 0.9)
    square = len(shape) > 1 and shape[-1] == shape[-2]
    return along + np.swapaxes(along, -1, -2) if square else along


def quotient(moved: Callable[[float], float], largest: float = 0.0, coarse: float = 0.0) -> float | None:
    """The symmetric difference quotient of a function of how far a tensor is moved, whatever the step and side.

    largest: the tensor's largest magnitude. coarse: a step that tells whether a flat function takes steps; 0 for none.
    None where the function is flat: what takes steps has the slope of the line that it stands for, by design.
    Raises BuildError where rounding drowns the quotient, at kinks and jumps, and where a part is computed in lower
    precision.
    """
    here = moved(0.0)
    ends = {step: moved(step) for step in (STEP, -STEP, 8 * STEP, -8 * STEP, *((coarse, -coarse) if coarse else ()))}
    found = (ends[STEP] - ends[-STEP]) / (2 * STEP)
    near = DERIVATIVES.absolute + DERIVATIVES.relative * abs(found)
    rounding = max(map(abs, (here, *ends.values()))) * EPSILON / STEP
    if largest * EPSILON > STEP * DERIVATIVES.relative or rounding > near:
        raise BuildError("drowned by rounding")
    sides = (ends[8 * STEP] - here) / (8 * STEP), (here - ends[-8 * STEP]) / (8 * STEP)
    if not all(abs(side - found) <= near for side in sides):
        raise BuildError("not smooth here")
    if coarse and found == 0.0 and ends[coarse] != ends[-coarse]:
        raise BuildError("takes steps")
    still = moved(FINE) == here == moved(-FINE)
    if still and abs(found) * FINE > NOISE * EPSILON * abs(here):
        raise BuildError("takes steps")
    return found or None
