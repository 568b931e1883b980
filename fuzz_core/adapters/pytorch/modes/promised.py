"""What PyTorch promises of an api, by its documentation and source."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

from fuzz_core.adapters.modes import Changed
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import TestCase

_STORAGE = re.compile(r"storage|as_strided|\bstride\(\)|contiguous|memory[ _](?:format|layout)|dim_order")


@cache
def documented(function: Any) -> bool:
    """Whether there is any text: of what is internal nothing is promised."""
    return bool(getattr(function, "__doc__", None))


@cache
def speaks_of_storage(function: Any) -> bool:
    """Whether a function's documentation says that its result may depend on how a tensor is stored."""
    return _STORAGE.search(getattr(function, "__doc__", None) or "") is not None


@cache
def hides_from_gradients(function: Any) -> bool:
    """Whether a function switches gradients off by itself, as initialisers do."""
    try:
        return "no_grad" in inspect.getsource(function)
    except (TypeError, OSError):
        return False


class Promised(Changed):
    """A mode of documented apis alone."""

    def applies(self, test: TestCase) -> bool:
        """See `Mode`: where there are tensors."""
        return super().applies(test) and documented(self.function(test))

    def function(self, test: TestCase) -> Any:
        """The api itself; None where this target has none."""
        try:
            return self.builder.resolve(test.invocation.api)
        except BuildError:
            return None
