"""Double precision: the same call on the same numbers as doubles, and its derivatives along given directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.compare import DERIVATIVES
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.modes import Clock, Mode, of_leaves
from fuzz_core.ir.dtypes import DTYPES, double_of
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Prim, Ref, Tensor, TestCase


def nudged(array: Any, share: float, turn: int = 0) -> Any:
    """Return the array with every element changed by this share at most; equal elements differ afterwards.

    The change depends on the element's place. A zero changes by as much as the largest element.

    Args:
        turn: a number that changes the amounts, so that tensors of equal elements differ.
    """
    if not share:
        return array
    places = np.arange(array.size, dtype=np.float64).reshape(array.shape)
    shares = share * np.cos(1 + 2.4 * places + turn)
    largest = np.nan_to_num(np.abs(array), posinf=0.0).max(initial=0.0)
    return np.where(array == 0, shares * (largest or 1.0), array * (1 + shares))


def is_narrow(dtype: str) -> bool:
    """Return whether the dtype has a double that is another dtype."""
    return double_of(dtype) != dtype


class Doubled(Mode):
    """Mode that executes a call on doubles, and replaces the dtypes that the call names.

    The noise of its record is the largest relative change of an element, in its dtype's epsilons.

    Attributes:
        module: the first part of public names, by default the library's name.
    """

    module = ""

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock = perf_counter) -> None:
        super().__init__(adapter, spec, clock)
        self.turns = count()
        prim = self.builder.makers[Prim]
        self.builder.makers[Prim] = lambda value: prim(self._named(value))

    def applies(self, test: TestCase) -> bool:
        """Return whether an argument is a tensor of a floating-point dtype narrower than double."""
        return any(is_narrow(tensor.dtype) for tensor in tensors_of(test.invocation))

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        self.turns = count()
        return super().run(test)

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        dtype = DTYPES[described.dtype]
        # A tensor that is a double already is perturbed by the roundings of its own dtype.
        if not (is_narrow(dtype.name) or (self.spec.noise and dtype.floating)):
            return live
        wide = self.numbers(live, described).astype(double_of(dtype.name))
        array = nudged(wide, self.spec.noise * dtype.epsilon, next(self.turns))
        return array if described.container == "ndarray" else self.made(array, live, described)

    def ref(self, ref: Ref) -> Ref:
        """See `Mode`."""
        if ref.kind == "dtype":
            return Ref("dtype", double_of(ref.name))
        owner, _, plain = ref.name.rpartition(".")
        named = owner == (self.module or self.adapter.library)
        return Ref("name", f"{owner}.{double_of(plain)}") if named else ref

    def numbers(self, live: Any, described: Tensor) -> Any:
        """Return the elements of a tensor as an array of numpy's."""
        return self.adapter.arrays.of(described)

    def made(self, array: Any, live: Any, described: Tensor) -> Any:
        """Return a tensor of doubles, in place of the live one."""
        wide = described._replace(dtype=double_of(described.dtype))
        return self.adapter.tensor(array, wide, self.adapter.enter("cpu"))

    def _named(self, value: Prim) -> Prim:
        return Prim("str", double_of(str(value.value))) if value.type == "str" else value


class Precise(Doubled):
    """Mode of double precision.

    It is compared with the plain mode only by whether numbers are finite.
    """

    def run(self, test: TestCase) -> Any:
        """See `Mode`.

        Raises:
            BuildError: the result is no more precise than the plain one.
        """
        result = super().run(test)
        if any(map(is_narrow, self.dtypes(result))):
            raise BuildError("the result is no double")
        return result

    def dtypes(self, result: Any) -> Iterable[str]:
        """Return the names of the dtypes in a result."""
        return (leaf.dtype.name for leaf in self.adapter.comparer.arrays(result) if leaf is not None)


# Step of a difference quotient in double precision.
STEP = 1e-6
# A step that only double precision sees, and the number of roundings that its effect must be worth to be seen for sure.
FINE, NOISE = 1e-12, 64
EPSILON = 2.0**-52

Points = Sequence[Any]
Scalar = Callable[..., Any]


def direction(shape: Sequence[int], turn: float) -> Any:
    """Return numbers in [-1, 1] that depend on the place alone."""
    return np.cos(turn + 1.7 * np.arange(np.prod(shape, dtype=int), dtype=np.float64)).reshape(shape)


def step_direction(shape: Sequence[int]) -> Any:
    """Return the direction that a tensor moves in.

    The direction of a square matrix is symmetric. A function may read only half of a symmetric matrix and have
    derivatives by both halves.
    """
    along = direction(shape, 0.9)
    square = len(shape) > 1 and shape[-1] == shape[-2]
    return along + np.swapaxes(along, -1, -2) if square else along


def quotient(moved: Callable[[float], float], largest: float = 0.0, coarse: float = 0.0) -> float | None:
    """Return the symmetric difference quotient of a function of a tensor's displacement.

    The quotient must not depend on step and side. The result is None if the function is flat: a step function has by
    design the slope of the line that it approximates.

    Args:
        largest: the tensor's largest magnitude.
        coarse: a step that shows whether a flat function has steps; 0 for none.

    Raises:
        BuildError: rounding drowns the quotient, there is a kink or jump, or a part is computed in lower precision.
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


class Gradient(Doubled):
    """Mode that differentiates the call as a scalar function of its floating-point tensors."""

    number: type = float  # type of a derivative in the mode's result
    largest = 0.0  # bound of magnitudes whose quotient is still meaningful; 0 for none
    coarse = 0.0  # see `quotient`
    flat: float | None = None  # the derivative of a flat function; None if it shows no fault

    def applies(self, test: TestCase) -> bool:
        """Return whether an argument is a floating-point tensor."""
        return any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))

    def run(self, test: TestCase) -> Any:
        """See `Mode`: a number for each tensor, one derivative along a direction; None if there is no derivative."""
        call, points = of_leaves(*self.builder.parts(test.invocation), self.is_double)
        points = [self.point(each) for each in points]
        if not points:
            raise BuildError("nothing to differentiate by")
        if self.largest and not all(_size(point) < self.largest for point in points):
            raise BuildError("badly scaled")

        def scalar(*moved: Any, more: int = 0) -> Any:
            self.adapter.reset(test.seed + more)
            return self._projected(self.builder.timed(call, [self.copied(each) for each in moved], {}))

        return [None if each is None else self.number(each) for each in self.derivatives(scalar, points)]

    def _projected(self, result: Any) -> Any:
        parts = [leaf for leaf in self.parts(result) if self.is_double(leaf)]
        if not parts:
            raise BuildError("nothing to differentiate")
        sums = [self.total(self.live(direction(tuple(part.shape), 0.3)) * part) for part in parts]
        # The sum starts without a number: with a whole number, a Var of one double becomes single.
        return sum(sums[1:], sums[0])

    def derivatives(self, scalar: Scalar, points: Points) -> list[Any]:
        """Return one derivative for each point.

        A mode with `against` uses difference quotients, and all further modes use backward mode.
        """
        return self.quotients(scalar, points) if self.spec.against else self.slopes(scalar, points)

    def quotients(self, scalar: Scalar, points: Points) -> list[float | None]:
        """Return difference quotients, see `quotient`, if the call is a function of the points."""
        self.check(scalar, points)
        return [self.quotient(scalar, points, place) for place in range(len(points))]

    def quotient(self, scalar: Scalar, points: Points, place: int) -> float | None:
        """Return the difference quotient along `along`, by one of the points."""
        along = self.along(tuple(points[place].shape))
        found = quotient(
            lambda step: self.value_after_move(scalar, points, place, step * along), _size(points[place]), self.coarse
        )
        return self.flat if found is None else found

    def value_after_move(self, scalar: Scalar, points: Points, place: int, by: Any) -> float:
        """Return the function's value after one of the points is moved."""
        there = self.live(np.asarray(points[place].numpy() + by))
        return float(scalar(*points[:place], there, *points[place + 1 :]))

    def check(self, scalar: Scalar, points: Points) -> None:
        """Raise BuildError for a result that is drawn: it is no function of its arguments, despite any derivative."""
        if float(scalar(*points)) != float(scalar(*points, more=1)):
            raise BuildError("random")

    def along(self, shape: Sequence[int]) -> Any:
        """Return the direction that a tensor moves in."""
        return step_direction(shape)

    def parts(self, result: Any) -> Sequence[Any]:
        """Return the parts of a result."""
        return list(self.adapter.comparer.leaves(result))

    def point(self, leaf: Any) -> Any:
        """Return the point from which a tensor argument is moved."""
        return leaf

    def copied(self, point: Any) -> Any:
        """Return a copy of a point, which the call may write into."""
        return point.clone()

    def total(self, tensor: Any) -> Any:
        """Return the sum of a tensor's elements."""
        return tensor.sum()

    def is_double(self, leaf: Any) -> bool:
        """Return whether a leaf is a tensor of doubles."""
        raise NotImplementedError

    def live(self, array: Any) -> Any:
        """Return a tensor of an array of doubles."""
        return self.adapter.tensor(array, Tensor("float64", array.shape), self.adapter.enter("cpu"))

    def slopes(self, scalar: Scalar, points: Points) -> list[Any]:
        """Return backward derivatives along `along`, by each point; None if the library has none."""
        raise NotImplementedError


def _size(point: Any) -> float:
    return float(np.abs(point.numpy()).max(initial=0.0))
