"""What makes numpy a library that can be fuzzed: the shortest of all adapters."""

from __future__ import annotations

from fuzz_core.adapters import base, dialect
from fuzz_core.adapters.base import Examples
from fuzz_core.ir.values import Invocation, Tensor


class Adapter(base.Adapter):
    """Tensors are arrays."""

    library = "numpy"
    modules = ("numpy.linalg", "numpy.fft")

    def examples(self) -> Examples:
        """A function, its random numbers and its switch."""
        call = Invocation("numpy.linalg.norm", (Tensor("float32", (2, 3)),))
        return Examples((call,), "np.random.rand(3)", "np.seterr(all='raise')")


class Dialect(dialect.Dialect):
    """An array is written as it is everywhere."""

    library = "numpy"
