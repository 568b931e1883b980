"""searchlib as a library that calls are searched for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fuzz_core.adapters import base, dialect
from fuzz_core.adapters.definitions import python_signatures
from fuzz_core.adapters.inventory import Listed
from fuzz_core.adapters.modes import Builder
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.signatures import ApiSignature
from fuzz_core.ir.values import Invocation, TestCase, prim

# No search finds this number.
PROMISED = 7_654_321


class Adapter(base.Adapter):
    """Tensors are numpy's arrays."""

    library = "searchlib"
    previews = True

    def listed(self) -> list[Listed]:
        """The functions and the class."""
        return [each for each in super().listed() if each.api.name.partition(".")[2] in self.root.__all__]

    def definitions(self, listed: Iterable[Listed]) -> Iterable[Constraint]:
        """Yields a bound that the library does not check."""
        yield Constraint("searchlib.grow", "count", "above", (1,), "count: int > 1", "annotation")

    def signatures(self, entry: Listed) -> list[ApiSignature]:
        """Returns signatures from Python's annotations."""
        then = self.then_methods(entry.found)[:1] if isinstance(entry.found, type) else ()
        return python_signatures(entry, "".join(then))

    def neighbours(self) -> Sequence[Callable[[TestCase], object]]:
        """The call, and the reverse of its result."""
        builder = Builder(self)
        return [lambda test: self.root.reverse(builder.call(test.invocation), 1_234_567)]

    def doubt(self, result: Any, named: Callable[[], Mapping[str, Any]]) -> str:
        """Reads a promise, which must be about the values that there are."""
        if not isinstance(result, self.root.Promise):
            return ""
        if result.count < 0:
            os.abort()
        return "" if result.count == PROMISED else f"there are {PROMISED} values"

    def amended(self, call: Invocation, doubt: str) -> Invocation | None:
        """Promises the number of values that there are."""
        return call._replace(args=(prim(PROMISED),)) if doubt.startswith("there are") else None

    def missing_requirement(self, message: str) -> str:
        """A wire."""
        return "needs a wire" if "no wire" in message else ""


class Dialect(dialect.Dialect):
    """Tensors are numpy arrays."""

    library = "searchlib"
    neighbours = True
    searched = True
    imports = ("import numpy as np", "import searchlib")
