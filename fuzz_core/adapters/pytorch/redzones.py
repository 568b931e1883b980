"""PyTorch's calls between redzones: memory around each tensor argument that no correct call reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from fuzz_core.adapters.pytorch.checks import BETWEEN
from fuzz_core.adapters.pytorch.dialect import spaced
from fuzz_core.adapters.pytorch.modes import STORAGE, Promised, alike, layout_function
from fuzz_core.ir.values import Tensor


@cache
def between() -> Callable[[torch.Tensor, bool], torch.Tensor]:
    """Return the function of the scripts that puts a tensor between large numbers or zeros."""
    names: dict[str, Any] = {"torch": torch}
    exec(BETWEEN, names)
    made: Callable[[torch.Tensor, bool], torch.Tensor] = names["between"]
    return made


class Redzone(Promised):
    """A result must not depend on the memory around its arguments.

    Strides, alignment, and the size of the storage are those of the plain call. An index that is too large may reach an
    element of the same tensor, which `Gaps` shows. The weights of a module stay in their place.
    """

    large = True
    unless = re.compile(r"\baddress\b|\bpointer\b")

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        if not isinstance(live, torch.Tensor) or live.layout is not torch.strided:
            return live
        return alike(between()(live.detach(), self.large), live)


class RedzoneZeros(Redzone):
    """The call that `Redzone` is compared with."""

    large = False


class Gaps(Promised):
    """An index that is too large along a dimension reaches infinity, and no other element of the tensor.

    A kernel that takes every argument for a contiguous one reaches the gaps, too.
    """

    fill = "torch.inf"
    unless = STORAGE

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        expression = spaced(described, self.fill)
        if not expression or not isinstance(live, torch.Tensor) or live.layout is not torch.strided:
            return live
        return alike(layout_function(expression)(live.detach()), live)


class GapsZeros(Gaps):
    """The call that `Gaps` is compared with."""

    fill = "0"
