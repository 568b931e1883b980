"""fakelib as text."""

from __future__ import annotations

import re

from fuzz_core.adapters import dialect


class Dialect(dialect.Dialect):
    """Tensors are numpy arrays."""

    library = "fakelib"
    imports = ("import numpy as np", "import fakelib")
    internal_error = re.compile(r"INTERNAL ASSERT FAILED|SystemError: ")
    poisons = re.compile(r"device is lost")
