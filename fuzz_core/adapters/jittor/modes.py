"""Ways to execute a test case with Jittor: operators compiled together, double precision, derivatives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

import jittor
import numpy as np

from fuzz_core.adapters import doubles
from fuzz_core.adapters.doubles import Points, Scalar
from fuzz_core.adapters.jittor.dialect import identity
from fuzz_core.adapters.modes import Builder, Mode
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import numbers_of
from fuzz_core.ir.values import Tensor, TestCase

# A documented gradient may differ from the function's own derivative, as when it passes a clip.
_GRADIENT = re.compile(r"\bgradients?\b", re.IGNORECASE)


class Fused(Mode):
    """Mode in which operators compute the arguments too: a result must not depend on the operators compiled with it.

    The arguments are not computed yet when the call begins. Jittor compiles their operators into the operator that
    takes them.

    Jittor compiles all operators with `-Ofast`, which promises no result for NaN or infinity. Calls with such arguments
    or results are not compared.
    """

    seed = 0

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: every Var as the identity that the test case's seed chooses, of the Var itself.

        Raises:
            BuildError: an element is not finite.
        """
        if not isinstance(live, jittor.Var):
            return live
        if not np.isfinite(live.numpy()).all():
            raise BuildError("NaN or infinity in an argument")
        for shape, places in identity(tuple(live.shape), self.seed):
            live = live.reindex(list(shape), list(places))
        return live

    def applies(self, test: TestCase) -> bool:
        """See `Mode`; every number must be finite, too."""
        return super().applies(test) and all(isfinite(abs(n)) for n in numbers_of(test.invocation))

    def run(self, test: TestCase) -> Any:
        """See `Mode`.

        Raises:
            BuildError: neither this result nor the plain one is finite.
        """
        self.seed = test.seed
        result = super().run(test)
        if not self._finite(result):
            self.adapter.reset(test.seed)
            if not self._finite(Builder(self.adapter, self.device).call(test.invocation)):
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
        """Return whether Jittor differentiates the call.

        The call has a floating-point Var and calls a function or module, and its documentation names no gradient.
        """
        then = test.invocation.then
        called = then is None or then.method == "__call__"
        text = getattr(self.builder.found(test.invocation.api), "__doc__", None) or ""
        return called and super().applies(test) and not _GRADIENT.search(text)

    def is_double(self, leaf: Any) -> bool:
        """See `doubles.Gradient`."""
        return isinstance(leaf, jittor.Var) and leaf.dtype == "float64"

    def parts(self, result: Any) -> Sequence[Any]:
        """Return the parts of a result, without Vars that have no elements: an empty Var has no sum."""
        return [leaf for leaf in super().parts(result) if not isinstance(leaf, jittor.Var) or leaf.numel()]

    def slopes(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `doubles.Gradient`.

        All-zero derivatives count as None, because Jittor gives zeros without a gradient.
        """
        slopes = [slope.numpy() for slope in jittor.grad(scalar(*points), list(points))]
        return [(self.along(slope.shape) * slope).sum() if slope.any() else None for slope in slopes]
