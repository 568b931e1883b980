"""Arguments that are yet to be computed, by operators that Jittor compiles into the one that takes them."""

from __future__ import annotations

from math import isfinite
from typing import Any

import jittor
import numpy as np

from fuzz_core.adapters.building import Builder, Change
from fuzz_core.adapters.defaults import DefaultAdapter
from fuzz_core.adapters.jittor.ways import identity
from fuzz_core.adapters.modes import Changed, Clock
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import numbers_of
from fuzz_core.ir.values import Ref, Tensor, TestCase


class Pending:
    """Every Var as the identity that the test case's seed chooses, of the Var itself."""

    seed = 0

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`. Raises BuildError where an element is not finite."""
        if not isinstance(live, jittor.Var):
            return live
        if not np.isfinite(live.numpy()).all():
            raise BuildError("NaN or infinity in an argument")
        for shape, places in identity(tuple(live.shape), self.seed):
            live = live.reindex(list(shape), list(places))
        return live

    def instance(self, live: Any) -> Any:
        """See `Change`: its parameters stay as they are."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        return ref


class Fused(Changed):
    """A result must not depend on what an operator is compiled together with.

    Jittor has all operators compiled with `-Ofast`, by which no result is promised where NaN or infinity is among the
    arguments or results: there nothing is compared.
    """

    dear = True
    keeps_nan = False
    adapter: DefaultAdapter

    def __init__(self, adapter: DefaultAdapter, clock: Clock) -> None:
        super().__init__(adapter, clock)
        self.plain = Builder(adapter, self.device, clock)

    def change(self) -> Change:
        """See `Changed`."""
        self.pending = Pending()
        return self.pending

    def applies(self, test: TestCase) -> bool:
        """See `Changed`; and where every number is finite."""
        return super().applies(test) and all(isfinite(abs(n)) for n in numbers_of(test.invocation))

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Raises BuildError where neither this result nor the plain one is finite."""
        self.pending.seed = test.seed
        result = super().run(test)
        if not self._finite(result):
            self.adapter.reset(test.seed)
            if not self._finite(self.plain.call(test.invocation)):
                raise BuildError("NaN or infinity in the results")
        return result

    def _finite(self, result: Any) -> bool:
        leaves = self.adapter.comparer.arrays(result)
        return all(leaf is None or leaf.dtype.kind not in "fc" or np.isfinite(leaf).all() for leaf in leaves)
