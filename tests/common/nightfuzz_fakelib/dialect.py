"""fakelib as text."""

from __future__ import annotations

import re

from fuzz_core.adapters import spelling
from fuzz_core.adapters.dialect import Way
from fuzz_core.ir.values import Ref, Tensor

WAYS: dict[str, Way] = {}


class Dialect:
    """Tensors are numpy arrays."""

    library = "fakelib"
    distributions = ("fakelib",)
    imports = ("import numpy as np", "import fakelib")
    strided = False
    ways = WAYS
    internal_error = re.compile(r"INTERNAL ASSERT FAILED|SystemError: ")
    out_of_memory = re.compile(r"MemoryError|Unable to allocate")
    poisons = re.compile(r"device is lost")
    native_modules = re.compile(r"(?!)")

    def tensor(self, tensor: Tensor) -> str:
        """`np.zeros((2, 3))`."""
        return spelling.numpy_array(tensor)

    def ref(self, ref: Ref) -> str:
        """A dtype by its numpy name, anything else as it is."""
        return f"np.{ref.name}" if ref.kind == "dtype" else ref.name

    def seed(self, seed: int) -> str:
        """`np.random.seed(0)`."""
        return f"np.random.seed({seed & 0xFFFFFFFF})"
