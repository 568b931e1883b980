"""Whether two results of PyTorch agree, by its own rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf, isclose, isnan
from typing import Any

import torch
from torch.testing._comparison import default_tolerances
from torch.utils._pytree import tree_flatten

MAX_TEXT = 500
_ATTRIBUTE = re.compile(r"attribute '(\w+)'")
RELATIVE, ABSOLUTE = 1e-3, 1e-5
# Beyond it an infinity is an overflow that another order of the same sum need not have.
OVERFLOW_SHARE = 0.25


def differences(reference: Any, other: Any, relation: str) -> str:
    """By relation (`adapters.modes`); empty where two results agree or cannot be compared."""
    if relation in ("values", "behaviour"):
        return _values(reference, other)
    if relation == "gradient":
        return _gradient(reference, other)
    compare = {"shape": _shape, "strides": _strides, "metadata": _metadata, "finite": _finite}[relation]
    pairs = zip(tensors(reference), tensors(other), strict=False)
    return next((text for a, b in pairs if (text := compare(a, b))), "")


def tensors(result: Any) -> Iterator[torch.Tensor]:
    """The tensors in a result, in order."""
    for leaf in tree_flatten(result)[0]:
        if isinstance(leaf, torch.Tensor):
            yield leaf


def _values(reference: Any, other: Any) -> str:
    """`torch.testing.assert_close` with its default tolerances; NaN equals NaN."""
    try:
        torch.testing.assert_close(other, reference, equal_nan=True, check_device=False, check_stride=False)
    except AssertionError as error:
        return _said(str(error))[:MAX_TEXT]
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        return ""
    return ""


def _said(text: str) -> str:
    """What differs in the first line, in the second by how much."""
    attribute = _ATTRIBUTE.search(text)
    head = f"another {attribute.group(1)}" if attribute else "other values"
    return f"{head}\n{' '.join(text.split())}"


def _gradient(expected: Sequence[float], actual: Sequence[float]) -> str:
    """Derivatives by the tolerances of `torch.autograd.gradcheck`; NaN equals NaN."""
    for place, (a, b) in enumerate(zip(expected, actual, strict=True)):
        if not isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE) and not (isnan(a) and isnan(b)):
            return f"another derivative\nby tensor {place}: {b}, expected {a}"
    return ""


def _shape(real: torch.Tensor, other: torch.Tensor) -> str:
    """Shape and dtype, of what is not quantised: there are no such tensors without elements."""
    if real.is_quantized:
        return ""
    for name, a, b in (("shape", real.shape, other.shape), ("dtype", real.dtype, other.dtype)):
        if a != b:
            return f"another {name}\n{_plain(b)}, expected {_plain(a)}"
    return ""


def _metadata(real: torch.Tensor, other: torch.Tensor) -> str:
    """Shape, dtype and strides."""
    return _shape(real, other) or _strides(real, other)


def _strides(real: torch.Tensor, other: torch.Tensor) -> str:
    """Strides of dimensions that have more than one element, of what is otherwise alike."""
    if real.layout is not torch.strided or other.layout is not torch.strided or not real.numel() or real.is_quantized:
        return ""
    pairs = zip(real.shape, real.stride(), other.stride(), strict=True) if real.shape == other.shape else ()
    if all(a == b for n, a, b in pairs if n > 1):
        return ""
    return f"another stride\n{tuple(other.stride())}, expected {tuple(real.stride())}"


def _plain(value: Any) -> str:
    return str(tuple(value)) if isinstance(value, torch.Size) else str(value)


def _finite(plain: torch.Tensor, reference: torch.Tensor) -> str:
    """Where the plain result is no number and the reference, which would fit into its dtype, is one."""
    if not _comparable(plain, reference) or not plain.dtype.is_floating_point:
        return ""
    fits = reference.isfinite() & (reference.abs() < torch.finfo(plain.dtype).max ** 0.5)
    wrong = fits & ~plain.isfinite()
    count = int(wrong.sum())
    return f"not finite in {count} of {plain.numel()} elements" if count else ""


def _comparable(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and a.layout is torch.strided is b.layout and not (a.is_quantized or b.is_quantized)


def error(reference: Any, other: Any) -> float:
    """See `Adapter.error`; 0 for results without numbers."""
    first, second = _numbers(reference), _numbers(other)
    if len(first) != len(second):
        return inf
    return max((_error(a, b) for a, b in zip(first, second, strict=True)), default=0.0)


def _numbers(result: Any) -> list[torch.Tensor]:
    found = []
    for leaf in tree_flatten(result)[0]:
        if isinstance(leaf, torch.Tensor):
            found.append(leaf.detach())
        elif isinstance(leaf, bool | int | float | complex):
            found.append(torch.tensor(leaf, dtype=None if isinstance(leaf, bool | int) else torch.float64))
    return found


def _error(reference: torch.Tensor, other: torch.Tensor) -> float:
    if not _comparable(reference, other):
        return inf if reference.shape != other.shape else 0.0
    if not (other.dtype.is_floating_point or other.dtype.is_complex):
        return 0.0 if torch.equal(reference.to(other.dtype), other) else inf
    relative, absolute = default_tolerances(other.dtype)
    wide = torch.complex128 if reference.dtype.is_complex or other.dtype.is_complex else torch.float64
    expected, actual = reference.resolve_conj().to(wide), other.resolve_conj().to(wide)
    overflow = (expected.abs() > _largest(other.dtype) * OVERFLOW_SHARE) & ~actual.isfinite()
    same = (expected == actual) | (expected.isnan() & actual.isnan()) | overflow
    units = (actual - expected).abs() / (absolute + relative * expected.abs())
    units = torch.where(same, 0.0, units.nan_to_num(nan=inf, posinf=inf))
    return float(units.max()) if units.numel() else 0.0


def _largest(dtype: torch.dtype) -> float:
    return float(torch.finfo(dtype).max)
