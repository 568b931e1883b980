"""Derivatives, computed in different ways: projections on fixed directions, in double precision."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jittor
import numpy as np

from fuzz_core.adapters.derivatives import direction, quotient, step_direction
from fuzz_core.adapters.jittor.modes.precision import Doubled
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import TestCase

# What is worse scaled has no quotient that says anything.
LARGEST = 1e6
# What is documented of a gradient may be that it is another one than the function's own, as where it passes a clip.
_GRADIENT = re.compile(r"\bgradients?\b", re.IGNORECASE)

Vars = Sequence[Any]
Scalar = Callable[..., Any]


class Gradient(Doubled):
    """The common part: the call as a scalar function of its floating-point Vars."""

    against = ""
    relation = ""

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point Var, a function or a module that is called, and no word of its gradient."""
        floating = any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))
        then = test.invocation.then
        return floating and (then is None or then.method == "__call__") and not self._documented(test.invocation.api)

    def _documented(self, api: str) -> bool:
        try:
            text = getattr(self.builder.resolve(api), "__doc__", None) or ""
        except BuildError:
            return False
        return _GRADIENT.search(text) is not None

    def run(self, test: TestCase) -> Any:
        """See `Mode`: a number for each Var, one derivative along a direction; None where Jittor has none."""
        function, args, keywords = self.builder.parts(test.invocation)
        points = [leaf for leaf in _leaves((args, keywords)) if _differentiable(leaf)]
        if not points:
            raise BuildError("nothing to differentiate by")
        if any(point.numel() and not np.abs(point.numpy()).max() < LARGEST for point in points):
            raise BuildError("badly scaled")

        def scalar(moved: Vars, more: int = 0) -> Any:
            self.adapter.reset(test.seed + more)
            place = {id(point): each for point, each in zip(points, moved, strict=True)}
            again, named = _replaced((args, keywords), place)
            return _projected(self.builder.timed(function, again, named))

        return self.derivatives(scalar, points)

    def derivatives(self, scalar: Scalar, points: Vars) -> list[float | None]:
        """One for each point."""
        raise NotImplementedError


class Reverse(Gradient):
    """Backward mode; compared with nothing by itself."""

    def derivatives(self, scalar: Scalar, points: Vars) -> list[float | None]:
        """See `Gradient`. Nought everywhere is what Jittor gives where it has no derivative: it tells nothing."""
        slopes = jittor.grad(scalar(points), list(points))
        return [_along(slope.numpy()) for slope in slopes]


class Numerical(Gradient):
    """Backward mode must agree with difference quotients, where a function is smooth."""

    against = "grad"
    relation = "gradient"

    def derivatives(self, scalar: Scalar, points: Vars) -> list[float | None]:
        """See `Gradient`. Raises BuildError where numbers are drawn, and where there is no quotient, see `quotient`."""
        if float(scalar(points).item()) != float(scalar(points, 1).item()):
            raise BuildError("random")
        return [_quotient(scalar, points, place) for place in range(len(points))]


def _along(slope: Any) -> float | None:
    return float((step_direction(slope.shape) * slope).sum()) if slope.any() else None


def _quotient(scalar: Scalar, points: Vars, place: int) -> float | None:
    array = points[place].numpy()
    along = step_direction(array.shape)

    def moved(step: float) -> float:
        each = [*points[:place], jittor.array(array + step * along, "float64"), *points[place + 1 :]]
        return float(scalar(each).item())

    return quotient(moved, np.abs(array).max(initial=0.0))


def _differentiable(leaf: Any) -> bool:
    return isinstance(leaf, jittor.Var) and leaf.dtype == "float64"


def _projected(result: Any) -> Any:
    parts = [leaf for leaf in _leaves(result) if _differentiable(leaf) and leaf.numel()]
    if not parts:
        raise BuildError("nothing to differentiate")
    sums = [(jittor.array(direction(tuple(part.shape), 0.3), "float64") * part).sum() for part in parts]
    # Without a number to begin with: with one that is whole, a Var of one double becomes single.
    return sum(sums[1:], sums[0])


def _leaves(value: Any) -> Iterator[Any]:
    """The parts of nested arguments or results, from left to right."""
    if isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def _replaced(value: Any, others: Mapping[int, Any]) -> Any:
    """The same with a copy of another Var for each of these, by identity: a call may write into what it is given."""
    if isinstance(value, dict):
        return {key: _replaced(item, others) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(item, others) for item in value)
    return others[id(value)].clone() if id(value) in others else value
