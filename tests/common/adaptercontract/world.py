"""A loaded library with both halves of its adapter, shared by the checks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.inventory import Listed
from fuzz_core.adapters.modes import Builder
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import pack
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Fill, Ref, Tensor
from fuzz_core.tracing.describe import Describer

# Problems that a check finds, one text each.
Problems = Iterator[str]


class World:
    """A library with its adapter, as a worker has it."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.adapter = adapter_of(library)
        self.dialect = dialect_of(library)
        self.early = [name for name in self.adapter.prefixes if name in sys.modules and name != "numpy"]
        threads = _threads()
        self.adapter.load()
        self.listed: list[Listed] = self.adapter.listed()
        self.started = _threads() - threads
        self.adapter.prepare()
        self.builder = Builder(self.adapter, self.adapter.enter("cpu"))
        self.describer = Describer(self.adapter, self.listed)
        self.examples = self.adapter.examples()
        # Names that scripts import.
        self.scope: dict[str, Any] = {}
        for statement in ("import numpy as np", *self.dialect.imports):
            exec(statement, self.scope)
        # Dtypes that the library's tensors can have.
        self.dtypes = [name for name in DTYPES if self.builds(Tensor(name, (1,)))]

    def builds(self, value: Tensor | Ref) -> bool:
        """Returns whether the library can build this value."""
        try:
            self.builder.build(value)
        except BuildError:
            return False
        return True

    def vector(self, *numbers: Any, dtype: str = "float32") -> Any:
        """Returns a live tensor of one dimension."""
        data = pack(np.array(numbers, DTYPES[dtype].storage))
        return self.builder.build(Tensor(dtype, (len(numbers),), Fill("values", data=data)))

    def written(self, source: str) -> Any:
        """Returns the value of an expression in a script."""
        return eval(source, dict(self.scope))

    def described(self, live: Any) -> Tensor:
        """Returns the description of a live tensor, after its elements are computed."""
        self.adapter.finish(live)
        found = self.describer.describe(live)
        assert isinstance(found, Tensor), found
        return found


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names are enough
