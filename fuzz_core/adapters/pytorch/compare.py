"""What PyTorch's leaves are to the comparer, and its own rule of when two are close."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._comparison import default_tolerances

from fuzz_core.adapters.compare import Array, Comparer, Leaf, Pair, named
from fuzz_core.ir.dtypes import Tolerance

MAX_TEXT = 500
_ATTRIBUTE = re.compile(r"attribute '(\w+)'")


class TorchComparer(Comparer):
    """Compares as `torch.testing.assert_close` does with its default tolerances."""

    strict = True

    def leaf(self, value: Any) -> Leaf | None:
        """Tensors, and numbers, which have no shape or dtype to foresee. Quantised tensors have data."""
        if isinstance(value, torch.Tensor):
            strided = value.layout is torch.strided
            leaf = _leaf(value, None if value.is_quantized or not strided else lambda: _elements(value))
            return leaf._replace(strides=tuple(value.stride()) if strided else None, vague=value.is_quantized)
        if isinstance(value, bool | int | float | complex):
            number = super().leaf(value)
            return number and number._replace(vague=True)
        return None

    def said(self, what: str, expected: Any, actual: Any) -> str:
        """What differs in the first line, in the second how."""
        return f"another {what}\n{actual}, expected {expected}"

    def slope(self, place: int, expected: float, actual: float) -> str:
        """See `Comparer`."""
        return f"another derivative\nby tensor {place}: {actual}, expected {expected}"

    def close(self, first: Any, second: Any, place: tuple[Any, ...] = ()) -> str:
        """By `torch.testing.assert_close`; objects that it cannot compare are equal where their types are."""
        try:
            torch.testing.assert_close(second, first, equal_nan=True, check_device=False, check_stride=False)
        except AssertionError as error:
            return _worded(str(error), place)
        except TypeError as error:
            if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
                return f"not comparable\n{error}"[:MAX_TEXT]
            one, other = self.kinds(first, second)
            return self.said("type of result", one, other) if one != other else ""
        except (ValueError, RuntimeError):
            return ""
        return ""

    def structure(self, reference: Any, other: Any, pair: Pair, relation: str) -> str:
        """In the words of `assert_close`, where it is asked and has any."""
        asked = relation in ("values", "behaviour")
        return (asked and self.close(pair.first, pair.second, pair.place)) or self.apart(pair)

    def whole(self, result: Any) -> bool:
        """See `Adapter.whole`, of tensors."""
        tensors = (value for value in self.leaves(result) if isinstance(value, torch.Tensor))
        return any(not (tensor.is_floating_point() or tensor.is_complex()) for tensor in tensors)


def _worded(text: str, place: tuple[Any, ...]) -> str:
    """What differs in the first line, in the second by how much."""
    attribute = _ATTRIBUTE.search(text)
    head = f"another {attribute.group(1)}" if attribute else "other values"
    where = f" The failure occurred for item {named(place)}" if place else ""
    return f"{head}\n{' '.join((text + where).split())}"[:MAX_TEXT]


def _leaf(tensor: torch.Tensor, elements: Callable[[], Array] | None) -> Leaf:
    dtype = tensor.dtype
    kind = "f" if dtype.is_floating_point else "c" if dtype.is_complex else "b" if dtype is torch.bool else "i"
    largest = float(torch.finfo(dtype).max) if kind in "fc" else 0.0
    tolerance = Tolerance(*default_tolerances(dtype))
    return Leaf(tuple(tensor.shape), str(dtype), kind, largest, tolerance, elements)


def _elements(tensor: torch.Tensor) -> Array:
    wide = tensor.detach().resolve_conj().resolve_neg().cpu()
    if tensor.dtype.is_complex:
        wide = wide.to(torch.complex128)
    elif tensor.dtype.is_floating_point:
        wide = wide.to(torch.float64)
    array: Array = wide.numpy()
    return array


COMPARER = TorchComparer(lambda value: None)
