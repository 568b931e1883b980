"""Derivatives, computed in different ways: projections on fixed directions, in double precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import tree_flatten, tree_unflatten

from fuzz_core.adapters import derivatives
from fuzz_core.adapters.building import Change
from fuzz_core.adapters.pytorch.modes.precision import Widened
from fuzz_core.adapters.pytorch.modes.promised import Promised, hides_from_gradients, restricts_gradients
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import TestCase

COARSE = 0.25
LARGEST = 1e6
_NONE = torch.zeros((), dtype=torch.float64)

Tensors = Sequence[torch.Tensor]
Scalar = Callable[..., torch.Tensor]


def direction(like: torch.Tensor, turn: float) -> torch.Tensor:
    """Numbers in [-1, 1] that depend on the place alone."""
    places = torch.arange(like.numel(), dtype=torch.float64).view(like.shape)
    return torch.cos(turn + 1.7 * places)


class Gradient(Promised):
    """The common part: the call as a scalar function of its floating-point tensors."""

    against = ""
    relation = ""

    def change(self) -> Change:
        """See `Changed`."""
        return Widened()

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point tensor, and an api that means to be differentiated."""
        there = any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))
        if not (there and super().applies(test)):
            return False
        function = self.function(test)
        return not (hides_from_gradients(function) or restricts_gradients(function))

    def run(self, test: TestCase) -> Any:
        """See `Mode`: a number for each tensor, that is, one derivative along a direction."""
        self.seed = test.seed
        scalar, points = self._scalar(test)
        return [float(number) for number in self.derivatives(scalar, points)]

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """One for each point."""
        raise NotImplementedError

    def _scalar(self, test: TestCase) -> tuple[Scalar, Tensors]:
        function, args, keywords = self.builder.parts(test.invocation)
        leaves, spec = tree_flatten((args, keywords))
        places = [place for place, leaf in enumerate(leaves) if _differentiable(leaf)]
        if not places:
            raise BuildError("nothing to differentiate by")

        def scalar(*points: torch.Tensor) -> torch.Tensor:
            self.adapter.reset(self.seed)
            for place, point in zip(places, points, strict=True):
                leaves[place] = point.clone()
            again, named = tree_unflatten(leaves, spec)
            return _projected(self.builder.timed(function, again, named))

        points = [leaves[place].detach() for place in places]
        if any(point.numel() and not point.abs().max() < LARGEST for point in points):
            raise BuildError("badly scaled")
        return scalar, points


def _differentiable(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64 and leaf.layout is torch.strided


def _projected(result: Any) -> torch.Tensor:
    parts = [leaf for leaf in tree_flatten(result)[0] if _differentiable(leaf)]
    if not parts:
        raise BuildError("nothing to differentiate")
    return torch.stack([(direction(part, 0.3) * part).sum() for part in parts]).sum()


def backward(scalar: Scalar, points: Tensors, again: bool = False) -> list[torch.Tensor]:
    """Reverse derivatives along `direction`, by each point. Raises BuildError where there are none."""
    leaves = [point if point.requires_grad else point.clone().requires_grad_() for point in points]
    value = scalar(*leaves)
    if not value.requires_grad:
        raise BuildError("no derivative")
    found = torch.autograd.grad(value, leaves, create_graph=again, allow_unused=True)
    return [_NONE if grad is None else (direction(grad, 0.9) * grad).sum() for grad in found]


def quotient(scalar: Scalar, points: Tensors, place: int) -> float:
    """The difference quotient along `direction`, see `derivatives`; of what is flat it is 0."""
    return derivatives.quotient(lambda step: _moved(scalar, points, place, step), coarse=COARSE) or 0.0


def _moved(scalar: Scalar, points: Tensors, place: int, step: float) -> float:
    each = list(points)
    each[place] = points[place] + step * direction(points[place], 0.9)
    return float(scalar(*each).detach())


class Reverse(Gradient):
    """Backward mode; compared with nothing by itself."""

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """See `Gradient`."""
        return backward(scalar, points)


class Forward(Gradient):
    """Forward mode must agree with backward mode."""

    against = "grad"
    relation = "gradient"

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """See `Gradient`."""
        return [_forward(scalar, points, place) for place in range(len(points))]


def _forward(scalar: Scalar, points: Tensors, place: int) -> Any:
    with forward_ad.dual_level():
        each = list(points)
        each[place] = forward_ad.make_dual(points[place], direction(points[place], 0.9))
        tangent = forward_ad.unpack_dual(scalar(*each)).tangent
        return 0.0 if tangent is None else tangent


class Numerical(Gradient):
    """Backward mode must agree with difference quotients, where a function is smooth."""

    against = "grad"
    relation = "gradient"

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """See `Gradient`. Raises BuildError at kinks, jumps and steps, and where rounding drowns the quotient.

        Nor is a number that is drawn a function of what it is drawn by, although PyTorch has a derivative of it.
        """
        here, self.seed = float(scalar(*points)), self.seed + 1
        if float(scalar(*points)) != here:
            raise BuildError("random")
        return [quotient(scalar, points, place) for place in range(len(points))]


class SecondReverse(Gradient):
    """Backward mode over backward mode; compared with nothing by itself."""

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """See `Gradient`."""
        return backward(_slope(scalar), points)


class SecondNumerical(Gradient):
    """Backward mode over backward mode must agree with difference quotients of backward mode."""

    against = "grad-grad"
    relation = "gradient"

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """See `Gradient`."""
        return [quotient(_slope(scalar), points, place) for place in range(len(points))]


def _slope(scalar: Scalar) -> Scalar:
    """The sum of a function's derivatives along the directions, itself a function of the points."""

    def slope(*points: torch.Tensor) -> torch.Tensor:
        again = any(point.requires_grad for point in points)
        return torch.stack(backward(scalar, points, again)).sum()

    return slope
