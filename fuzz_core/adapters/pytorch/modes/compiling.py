"""The same call, compiled."""

from __future__ import annotations

from typing import Any

import torch

from fuzz_core.adapters.pytorch.modes.promised import Promised
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import TestCase


class Compiled(Promised):
    """Traced and compiled without code generation; it must also be accepted and refused alike."""

    relation = "behaviour"
    dear = True

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Raises BuildError where nothing of it can be compiled."""
        function, args, keywords = self.builder.parts(test.invocation)
        torch._dynamo.reset()
        try:
            call = torch.compile(_calling(function), backend="aot_eager", dynamic=False)
            return self.builder.timed(call, args, keywords)
        except torch._dynamo.exc.Unsupported as error:
            raise BuildError(f"not to be compiled: {str(error)[:200]}") from error
        finally:
            torch._dynamo.reset()


def _calling(function: Any) -> Any:
    """A function of its own to compile: the compiler remembers by code."""
    return lambda *args, **keywords: function(*args, **keywords)
