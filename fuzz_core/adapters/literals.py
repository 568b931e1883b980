"""How scalars, elements and numpy arrays are written as Python source, as short as they can be without losing a bit.

Functions that need elements import what draws them: a process that reads deaths alone loads no numpy.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.values import Prim, Scalar, Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

INLINE_ELEMENTS = 32
_LARGE_INTEGER = 1 << 20


def literal(value: Scalar) -> str:
    """Return a Python expression for a scalar: `float('nan')`, `2**31 - 1`, `'text'`."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float('{value!r}')"
    if isinstance(value, complex):
        return _complex(literal(value.real), literal(value.imag), value)
    return repr(value)


def prim_literal(value: Prim) -> str:
    """Like `literal`, for a described scalar."""
    return "..." if value.type == "ellipsis" else literal(value.value)


def _integer(value: int) -> str:
    magnitude = abs(value)
    if magnitude < _LARGE_INTEGER:
        return repr(value)
    sign = "-" if value < 0 else ""
    for exponent, rest in (
        (magnitude.bit_length() - 1, 0),
        (magnitude.bit_length(), -1),
        (magnitude.bit_length() - 1, 1),
    ):
        if magnitude == (1 << exponent) + rest:
            tail = "" if rest == 0 else f" {'-' if (rest < 0) != (value < 0) else '+'} 1"
            return f"{sign}2**{exponent}{tail}"
    return hex(value) if magnitude >= 10**4000 else repr(value)


def _complex(real: str, imag: str, value: complex) -> str:
    plain = math.isfinite(value.real) and math.isfinite(value.imag)
    if not plain or "-0.0" in (real, imag):
        return f"complex({real}, {imag})"
    sign = "" if imag.startswith("-") else "+"
    shown = f"{imag.removesuffix('.0')}j"
    return shown if real == "0.0" and sign else f"{real.removesuffix('.0')}{sign}{shown}"


def element(value: Any, dtype: str) -> str:
    """Return an element of a tensor as text, with the fewest digits that restore it in its dtype."""
    kind = DTYPES[dtype].kind
    if kind == "bool":
        return repr(bool(value))
    if kind in ("int", "uint"):
        return _integer(int(value))
    if kind == "float":
        return _float(float(value), dtype)
    if kind == "complex":
        part = "float64" if dtype == "complex128" else "float32"
        return _complex(_float(value.real, part), _float(value.imag, part), complex(value))
    return repr(str(value))


def _float(value: float, dtype: str) -> str:
    wanted = _rounded(value, dtype)
    if not math.isfinite(wanted):
        return literal(wanted)
    for digits in range(1, 17):
        shorter = float(f"{wanted:.{digits}g}")
        if _rounded(shorter, dtype) == wanted:
            return repr(shorter)
    return repr(wanted)


def _rounded(value: float, dtype: str) -> float:
    if dtype == "bfloat16":
        (bits,) = struct.unpack("<I", struct.pack("<f", DTYPES[dtype].rounded(value)))
        return float(struct.unpack("<f", struct.pack("<I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))[0])
    return DTYPES[dtype].rounded(value)


def nested(flat: NDArray[Any], shape: tuple[int, ...], dtype: str) -> str:
    """Return elements as nested lists: `[[1, 2], [3, 4]]`; a bare element for shape ()."""
    if not shape:
        return element(flat[0], dtype)
    step = len(flat) // shape[0] if shape[0] else 0
    rows = (nested(flat[i * step : (i + 1) * step], shape[1:], dtype) for i in range(shape[0]))
    return f"[{', '.join(rows)}]"


def common_element(tensor: Tensor) -> str | None:
    """Return the one element that all are equal to, as source; None if they differ or there are none."""
    from fuzz_core.ir.elements import elements

    if tensor.size == 0:
        return None
    if inlined(tensor):
        flat = elements(tensor)
        first = element(flat[0], tensor.dtype)
        # For most tensors the second element decides.
        return first if all(element(value, tensor.dtype) == first for value in flat[1:]) else None
    fill = tensor.fill
    drawn = DTYPES[tensor.dtype].kind == "string" or (fill.kind == "uniform" and fill.low != fill.high)
    if drawn or has_special_elements(tensor):
        return None
    return element(elements(tensor, 1)[0], tensor.dtype)


def inlined(tensor: Tensor) -> bool:
    """Return whether its elements are written out one by one."""
    return tensor.fill.kind == "values" or tensor.size <= INLINE_ELEMENTS


def has_special_elements(tensor: Tensor) -> bool:
    """Return whether every third element is overwritten."""
    return tensor.fill.special is not None and DTYPES[tensor.dtype].floating


def scaled(base: str, low: float, high: float) -> str:
    """Draw from [0, 1) moved to [low, high]: `torch.rand(64) * 2 - 1`."""
    span = high - low
    product = base if span == 1 else f"{base} * {short_number(span)}"
    if low == 0:
        return product
    return f"{product} {'-' if low < 0 else '+'} {short_number(abs(low))}"


def short_number(value: float) -> str:
    """Return a float, written as an integer if that is exact: `2` for 2.0."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < _LARGE_INTEGER else literal(float(value))


def whole_range(tensor: Tensor) -> tuple[int, int]:
    """Return smallest and largest integer of a uniform draw of an integer or bool tensor.

    Either end of the draw may be the lower one.
    """
    from fuzz_core.ir.elements import elements

    ends = tensor._replace(shape=(1,), strides=None)
    made = (
        ends._replace(fill=tensor.fill._replace(kind="constant", low=v)) for v in (tensor.fill.low, tensor.fill.high)
    )
    low, high = sorted(int(elements(each)[0]) for each in made)
    return low, high


def sizes(shape: tuple[int, ...]) -> str:
    """Return a shape as a tuple: `(2, 3)`, `(3,)`, `()`."""
    return repr(tuple(shape))


_NAMED = dict.fromkeys(("0", "0.0", "0j", "False"), "zeros") | dict.fromkeys(("1", "1.0", "1+0j", "True"), "ones")


def short_expressions(
    tensor: Tensor,
    value: str | None,
    module: str,
    shape: str,
    filling: str,
    listing: str,
    empty: str = "empty",
    fill: str = "full",
) -> list[str]:
    """Return short expressions that make a tensor without elements, of equal elements or of few elements.

    The list is empty for any other tensor.

    Args:
        value: the element that all are equal to, as source; None if they differ.
        shape: the arguments of `zeros`, `ones` and the function `empty`.
        filling: the arguments of the function `fill`, with `{value}`.
        listing: the expression that lists all elements, with `{elements}`.
    """
    from fuzz_core.ir.elements import elements

    if not tensor.size:
        return [f"{module}.{empty}({shape})"]
    made = [f"{module}.{_NAMED[value]}({shape})"] if value in _NAMED else []
    if value is not None:
        made.append(f"{module}.{fill}({filling.replace('{value}', value)})")
    if inlined(tensor):
        made.append(listing.replace("{elements}", nested(elements(tensor), tensor.shape, tensor.dtype)))
    return made


def numpy_array(tensor: Tensor) -> str:
    """Return a numpy expression (`np.zeros((2, 3))`) for a tensor of container `ndarray`."""
    storage = DTYPES[tensor.dtype].storage
    tensor = tensor._replace(dtype="string" if storage == "object" else storage)
    shape = repr(tensor.shape[0]) if len(tensor.shape) == 1 else sizes(tensor.shape)
    dtype = {"float64": "", "bool": ", bool", "object": ", object"}.get(storage, f", np.{storage}")
    told = f"np.array({{elements}}{'' if storage in ('int64', 'bool', 'complex128') else dtype})"
    made = short_expressions(
        tensor, common_element(tensor), "np", f"{shape}{dtype}", f"{shape}, {{value}}{dtype}", told, "zeros"
    )
    # If two spellings are equally long, the one with elements is preferred to `np.full`.
    shortest = min(map(_qualified, made), key=lambda each: (len(each), each.startswith("np.full")), default="")
    return shortest or _numpy_draw(tensor, shape)


def _qualified(source: str) -> str:
    return (
        source.replace("float('nan')", "np.nan").replace("float('inf')", "np.inf").replace("float('-inf')", "-np.inf")
    )


def _numpy_draw(tensor: Tensor, shape: str) -> str:
    dtype = DTYPES[tensor.dtype]
    if has_special_elements(tensor):
        base = numpy_array(tensor._replace(fill=tensor.fill._replace(special=None)))
        where = f"np.arange({tensor.size}).reshape({shape}) % 3 == 0"
        return _qualified(f"np.where({where}, np.{dtype.storage}({literal(tensor.fill.special)}), {base})")
    if dtype.kind in ("int", "uint", "bool"):
        low, high = whole_range(tensor)
        return f"np.random.default_rng(0).integers({low}, {high}, {shape}, '{dtype.storage}', True)"
    if dtype.kind == "string":
        return f"np.random.default_rng(0).integers(0, 100, {shape}).astype(str).astype(object)"
    # numpy refuses a range whose first end is the higher one, or whose width overflows; half of it never does.
    ends = sorted((tensor.fill.low, tensor.fill.high))
    wide = math.isinf(ends[1] - ends[0])
    made = f"np.random.default_rng(0).uniform({', '.join(str(end / 2 if wide else end) for end in ends)}, {shape})"
    made = f"({made} * 2)" if wide else made
    return made if dtype.storage == "float64" else f"{made}.astype('{dtype.storage}')"
