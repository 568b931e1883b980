"""A library that is loaded, with both halves of its adapter, and what checks share."""

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

# What is wrong, one text each.
Problems = Iterator[str]


class World:
    """As a worker has it. dtypes: names of those that its tensors can have. scope: what scripts import."""

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
        self.scope: dict[str, Any] = {}
        for statement in ("import numpy as np", *self.dialect.imports):
            exec(statement, self.scope)
        self.dtypes = [name for name in DTYPES if self.builds(Tensor(name, (1,)))]

    def builds(self, value: Tensor | Ref) -> bool:
        """Whether there is such a thing."""
        try:
            self.builder.build(value)
        except BuildError:
            return False
        return True

    def vector(self, *numbers: Any, dtype: str = "float32") -> Any:
        """A live tensor of one dimension."""
        data = pack(np.array(numbers, DTYPES[dtype].storage))
        return self.builder.build(Tensor(dtype, (len(numbers),), Fill("values", data=data)))

    def written(self, source: str) -> Any:
        """What an expression of a script's makes."""
        return eval(source, dict(self.scope))

    def described(self, live: Any) -> Tensor:
        """The description of a live tensor, whose elements may only have been promised."""
        self.adapter.finish(live)
        found = self.describer.describe(live)
        assert isinstance(found, Tensor), found
        return found


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names are enough
