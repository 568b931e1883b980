"""Ways to execute a test case with Jittor: operators compiled together, double precision, derivatives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

import jittor
import numpy as np

from fuzz_core.adapters import doubles
from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.doubles import Points, Scalar
from fuzz_core.adapters.jittor.dialect import identity
from fuzz_core.adapters.modes import Builder, Clock, Mode
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import numbers_of
from fuzz_core.ir.values import Tensor, TestCase

# What is documented of a gradient may be that it is another one than the function's own, as where it passes a clip.
_GRADIENT = re.compile(r"\bgradients?\b", re.IGNORECASE)


class Fused(Mode):
    """A result must not depend on what an operator is compiled together with.

    Arguments are yet to be computed, by operators that Jittor compiles into the one that takes them.

    Jittor has all operators compiled with `-Ofast`, by which no result is promised where NaN or infinity is among the
    arguments or results: there nothing is compared.
    """

    seed = 0

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock) -> None:
        super().__init__(adapter, spec, clock)
        self.plain = Builder(adapter, self.device, clock)

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: every Var as the identity that the test case's seed chooses, of the Var itself.

        Raises BuildError where an element is not finite.
        """
        if not isinstance(live, jittor.Var):
            return live
        if not np.isfinite(live.numpy()).all():
            raise BuildError("NaN or infinity in an argument")
        for shape, places in identity(tuple(live.shape), self.seed):
            live = live.reindex(list(shape), list(places))
        return live

    def applies(self, test: TestCase) -> bool:
        """See `Mode`; and where every number is finite."""
        return super().applies(test) and all(isfinite(abs(n)) for n in numbers_of(test.invocation))

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Raises BuildError where neither this result nor the plain one is finite."""
        self.seed = test.seed
        result = super().run(test)
        if not self._finite(result):
            self.adapter.reset(test.seed)
            if not self._finite(self.plain.call(test.invocation)):
                raise BuildError("NaN or infinity in the results")
        return result

    def _finite(self, result: Any) -> bool:
        leaves = self.adapter.comparer.arrays(result)
        return all(leaf is None or leaf.dtype.kind not in "fc" or np.isfinite(leaf).all() for leaf in leaves)


class Doubled(doubles.Doubled):
    """Modules with the parameters that they have in the plain call, as doubles."""

    def instance(self, live: Any) -> Any:
        """See `Mode`."""
        return live.float64() if isinstance(live, jittor.Module) else live


class Precise(Doubled, doubles.Precise):
    """See `doubles.Precise`."""


class Gradient(Doubled, doubles.Gradient):
    """The common part."""

    largest = 1e6

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point Var, a function or a module that is called, and no word of its gradient."""
        then = test.invocation.then
        called = then is None or then.method == "__call__"
        text = getattr(self.builder.found(test.invocation.api), "__doc__", None) or ""
        return called and super().applies(test) and not _GRADIENT.search(text)

    def is_double(self, leaf: Any) -> bool:
        """See `doubles.Gradient`."""
        return isinstance(leaf, jittor.Var) and leaf.dtype == "float64"

    def parts(self, result: Any) -> Sequence[Any]:
        """Without those that have no elements: they have no sum."""
        return [leaf for leaf in super().parts(result) if not isinstance(leaf, jittor.Var) or leaf.numel()]

    def live(self, array: Any) -> Any:
        """See `doubles.Gradient`."""
        return jittor.array(array, "float64")

    def slopes(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `doubles.Gradient`. Nought everywhere is what Jittor gives where there is none: it tells nothing."""
        slopes = [slope.numpy() for slope in jittor.grad(scalar(*points), list(points))]
        return [(self.along(slope.shape) * slope).sum() if slope.any() else None for slope in slopes]


class Reverse(Gradient):
    """Backward mode; compared with nothing by itself."""

    derivatives = Gradient.slopes


class Numerical(Gradient):
    """Backward mode must agree with difference quotients, where a function is smooth."""

    derivatives = Gradient.quotients
