"""The same call in double precision, on exactly the same numbers: what other modes are judged by."""

from __future__ import annotations

from typing import Any

import torch

from fuzz_core.adapters.building import Change
from fuzz_core.adapters.modes import Changed
from fuzz_core.adapters.pytorch.tensors import TORCH_DTYPES
from fuzz_core.ir.dtypes import widened
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Ref, Tensor, TestCase

_WIDE = {dtype: TORCH_DTYPES[widened(name)] for name, dtype in TORCH_DTYPES.items() if widened(name) != name}
_NAMES = {str(narrow).removeprefix("torch."): str(wide).removeprefix("torch.") for narrow, wide in _WIDE.items()}


class Widened:
    """Tensors, modules and dtypes as doubles. noise: largest relative change of an element, in its dtype's epsilons."""

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        if not isinstance(live, torch.Tensor) or not (live.dtype in _WIDE or (self.noise and _rounds(live))):
            return live
        made = live.detach().to(_WIDE.get(live.dtype, live.dtype))
        if self.noise:
            made = self._nudged(made, live.dtype)
        if isinstance(live, torch.nn.Parameter):
            return torch.nn.Parameter(made, requires_grad=live.requires_grad)
        return made.requires_grad_(live.requires_grad)

    def _nudged(self, made: torch.Tensor, narrow: torch.dtype) -> torch.Tensor:
        """Every element a little off, by an amount that depends on where it stands: equal ones differ afterwards.

        Zeros too, by as much as the largest element.
        """
        places = torch.arange(made.numel(), dtype=torch.float64).view(made.shape)
        share = self.noise * torch.finfo(narrow).eps * torch.cos(1 + 2.4 * places)
        largest = made.abs().nan_to_num(0.0, posinf=0.0).max() if made.numel() else 0.0
        return torch.where(made == 0, share * (largest or 1.0), made * (1 + share))

    def instance(self, live: Any) -> Any:
        """See `Change`: parameters were drawn in the precision that they have in the plain call."""
        return live.double() if isinstance(live, torch.nn.Module) else live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        if ref.kind == "dtype":
            return Ref("dtype", _NAMES.get(ref.name, ref.name))
        plain = ref.name.removeprefix("torch.")
        return Ref("name", f"torch.{_NAMES[plain]}") if ref.kind == "name" and plain in _NAMES else ref


def _rounds(live: torch.Tensor) -> bool:
    return live.dtype in (torch.float64, torch.complex128)


class Precise(Changed):
    """Double precision. Compared with the plain result in this alone: whether that is a number where this is one."""

    relation = "finite"
    noise = 0.0

    def change(self) -> Change:
        """See `Changed`."""
        return Widened(self.noise)

    def applies(self, test: TestCase) -> bool:
        """Where there is a tensor of a narrower floating-point dtype."""
        return any(tensor.dtype in _NAMES for tensor in tensors_of(test.invocation))


class Nudged(Precise):
    """Double precision on numbers that differ from the test case's by a few roundings: how much that changes.

    Compared with nothing by itself.
    """

    against = ""
    relation = ""
    noise = 4.0


class NudgedBack(Nudged):
    """As much off in the other direction: what a nudge leaves as it was, a tie for one, the opposite one changes."""

    noise = -4.0
