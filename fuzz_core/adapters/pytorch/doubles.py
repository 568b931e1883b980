"""PyTorch in double precision: the same call, and its derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from fuzz_core.adapters import doubles
from fuzz_core.adapters.doubles import Points, Scalar, direction
from fuzz_core.adapters.pytorch.modes import Promised, alike, hides_from_gradients, restricts_gradients
from fuzz_core.adapters.pytorch.tensors import numbers
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Tensor, TestCase

_NONE = torch.zeros((), dtype=torch.float64)


class Doubled(doubles.Doubled):
    """Tensors and modules as doubles; a result of less precision is taken as it is."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: arrays of numpy's stay as they are."""
        return super().tensor(live, described) if isinstance(live, torch.Tensor) else live

    def instance(self, live: Any) -> Any:
        """See `Mode`: parameters were drawn in the precision that they have in the plain call."""
        return live.double() if isinstance(live, torch.nn.Module) else live

    def numbers(self, live: Any, described: Tensor) -> Any:
        """See `doubles.Doubled`."""
        return numbers(live)

    def made(self, array: Any, live: Any, described: Tensor) -> Any:
        """See `doubles.Doubled`."""
        return alike(torch.from_numpy(array), live)


class Gradient(Promised, Doubled, doubles.Gradient):
    """The common part."""

    largest = 1e6
    coarse = 0.25
    flat = 0.0

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point tensor, and an api that means to be differentiated."""
        if not super().applies(test):
            return False
        function = self.builder.found(test.invocation.api)
        return not (hides_from_gradients(function) or restricts_gradients(function))

    def is_double(self, leaf: Any) -> bool:
        """See `doubles.Gradient`."""
        return isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64 and leaf.layout is torch.strided

    def point(self, leaf: Any) -> Any:
        """See `doubles.Gradient`."""
        return leaf.detach()

    def live(self, array: Any) -> Any:
        """See `doubles.Gradient`."""
        return torch.from_numpy(array)

    def along(self, shape: Sequence[int]) -> Any:
        """See `doubles.Gradient`: what stands for symmetric matrices is not differentiated."""
        return direction(shape, 0.9)

    def slopes(self, scalar: Scalar, points: Points, again: bool = False) -> list[Any]:
        """See `doubles.Gradient`; of what has none it is 0. Raises BuildError where there are none."""
        leaves = [point if point.requires_grad else point.clone().requires_grad_() for point in points]
        value = scalar(*leaves)
        if not value.requires_grad:
            raise BuildError("no derivative")
        found = torch.autograd.grad(value, leaves, create_graph=again, allow_unused=True)
        return [_NONE if grad is None else (self.live(self.along(grad.shape)) * grad).sum() for grad in found]

    def slope(self, scalar: Scalar) -> Scalar:
        """The sum of a function's derivatives along the directions, itself a function of the points."""

        def slope(*points: torch.Tensor) -> torch.Tensor:
            again = any(point.requires_grad for point in points)
            return torch.stack(self.slopes(scalar, points, again)).sum()

        return slope


class Reverse(Gradient):
    """Backward mode; compared with nothing by itself."""

    derivatives = Gradient.slopes


class Forward(Gradient):
    """Forward mode must agree with backward mode."""

    def derivatives(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `doubles.Gradient`."""
        return [self.tangent(scalar, points, place) for place in range(len(points))]

    def tangent(self, scalar: Scalar, points: Points, place: int) -> Any:
        """The derivative by one of the points."""
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(points[place], self.live(self.along(points[place].shape)))
            tangent = forward_ad.unpack_dual(scalar(*points[:place], dual, *points[place + 1 :])).tangent
            return _NONE if tangent is None else tangent


class Numerical(Gradient):
    """Backward mode must agree with difference quotients, where a function is smooth."""

    derivatives = Gradient.quotients


class SecondReverse(Gradient):
    """Backward mode over backward mode; compared with nothing by itself."""

    def derivatives(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `doubles.Gradient`."""
        return self.slopes(self.slope(scalar), points)


class SecondNumerical(Gradient):
    """Backward mode over backward mode must agree with difference quotients of backward mode."""

    def derivatives(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `doubles.Gradient`."""
        return [self.quotient(self.slope(scalar), points, place) for place in range(len(points))]
