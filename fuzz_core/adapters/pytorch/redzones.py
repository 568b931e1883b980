"""PyTorch's calls between redzones: memory around each tensor argument that no correct call reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from fuzz_core.adapters.pytorch.checks import BETWEEN, NUMBERS
from fuzz_core.adapters.pytorch.modes import Promised, alike
from fuzz_core.ir.values import Tensor


@cache
def between() -> Callable[[torch.Tensor, int], torch.Tensor]:
    """Return the function of the scripts that puts a tensor between equal numbers."""
    names: dict[str, Any] = {"torch": torch}
    exec(BETWEEN, names)
    made: Callable[[torch.Tensor, int], torch.Tensor] = names["between"]
    return made


class Redzone(Promised):
    """A result must not depend on what lies in memory around its arguments.

    Strides, alignment, and the size of the storage are those of the plain call. An index that is too large may reach
    another element of the same tensor, which this mode does not see. The weights of a module stay where it has them.
    """

    number = NUMBERS[1]
    unless = re.compile(r"\baddress\b|\bpointer\b")

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        if not isinstance(live, torch.Tensor) or live.layout is not torch.strided:
            return live
        return alike(between()(live.detach(), self.number), live)


class RedzoneZeros(Redzone):
    """The call that `Redzone` is compared with."""

    number = NUMBERS[0]
