"""Dense arrays as descriptions, small ones with their elements, large ones with their range, and back; and strides.

For a tensor with strides, `simplest` returns the shortest spelling as a view of a row-major one: `.t()`, `.expand(2,
3)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import copysign, prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import elements, pack
from fuzz_core.ir.errors import BuildError, Undescribable
from fuzz_core.ir.values import Fill, Tensor

MAX_ELEMENTS = 1 << 22
# Views may have more elements than memory holds: reading these would copy all of them.
MAX_READ_BYTES = 1 << 31
MAX_ENTRIES = 4096

Live = TypeVar("Live")


def masters(make: Callable[[Tensor], Live], entries: int = MAX_ENTRIES) -> Callable[[Tensor], Live]:
    """Return `make` with a cache of the `entries` descriptions used last.

    An exception of `make` is passed on and not cached. The returned object is the master itself: the caller copies it,
    because a test may write into its arguments.
    """
    # Descriptions that differ in the sign of a zero are equal, their elements are not.
    kept = lru_cache(entries)(lambda tensor, low, special: make(tensor))

    def master(tensor: Tensor) -> Live:
        fill = tensor.fill
        return kept(tensor, copysign(1.0, fill.low), 0.0 if fill.special is None else copysign(1.0, fill.special))

    return master


KEPT_FLOATS = 64
KEPT_INTEGERS = 1024
MAX_COPIED = 1024
# The dtypes of numpy itself, by name.
NUMPY_DTYPES: Mapping[str, Any] = {
    name: np.dtype(dtype.storage) for name, dtype in DTYPES.items() if name == dtype.storage
}


def check_size(count: int) -> None:
    """Raise BuildError above MAX_ELEMENTS."""
    if count > MAX_ELEMENTS:
        raise BuildError(f"{count} elements are more than {MAX_ELEMENTS}")


def check_readable(size: int) -> None:
    """Raise Undescribable for an array of more than MAX_READ_BYTES bytes."""
    if size > MAX_READ_BYTES:
        raise Undescribable(f"array of {size} bytes")


class Arrays:
    """Maker of arrays with exactly the elements of `fuzz_core.ir.elements`, row-major, whichever strides are described.

    An array of container `ndarray` stays an array, in the storage type of its dtype, whether or not the library has
    that dtype.

    Args:
        dtypes: by name, the numpy dtype of an array that becomes a tensor of the library.
    """

    def __init__(self, dtypes: Mapping[str, Any] = NUMPY_DTYPES) -> None:
        self.dtypes = dtypes
        self.master = masters(self._drawn)

    def of(self, tensor: Tensor) -> Any:
        """Return a new array.

        Raises:
            BuildError: more than MAX_ELEMENTS elements, or a dtype that numpy lacks.
        """
        return self.master(tensor).copy() if tensor.size <= MAX_COPIED else self._drawn(tensor)

    def _drawn(self, tensor: Tensor) -> Any:
        check_size(tensor.size)
        if tensor.container != "ndarray" and tensor.dtype not in self.dtypes:
            raise BuildError(f"no dtype {tensor.dtype} in this target")
        array = elements(tensor).reshape(tensor.shape)
        if tensor.container == "ndarray" or array.dtype == self.dtypes[tensor.dtype]:
            return array
        with np.errstate(all="ignore"):
            return array.astype(self.dtypes[tensor.dtype])


def describe_array(array: Any, container: str) -> Tensor:
    """Return a dense numpy array as a Tensor.

    Raises:
        Undescribable: dtypes outside the table (objects, records), and as `check_readable`.
    """
    check_readable(array.nbytes)
    name = array.dtype.name
    if array.dtype.kind in "OSU":
        name = "string"
        if not all(isinstance(item, str | bytes) for item in array.ravel()[:KEPT_INTEGERS]):
            raise Undescribable("numpy array of objects")
        array = array.astype(object)
    if name not in DTYPES:
        raise Undescribable(f"numpy array of {name}")
    return Tensor(name, tuple(int(n) for n in array.shape), fill_of(array, DTYPES[name].kind), container)


def fill_of(array: Any, kind: str) -> Fill:
    """Return the fill of an array: a small one keeps its elements, a large one its range."""
    if array.size == 0:
        return Fill()
    if kind == "string":
        return Fill("values", data=pack(array.ravel()[:KEPT_INTEGERS]))
    if array.size <= (KEPT_FLOATS if kind in ("float", "complex") else KEPT_INTEGERS):
        return Fill("values", data=pack(array))
    # The range as a uniform draw; NaN or infinity among many numbers becomes `special`.
    numbers = array.view(array.real.dtype) if kind == "complex" else array
    if numbers.dtype.kind != "f":
        return Fill("uniform", float(numbers.min()), float(numbers.max()))
    finite = numbers[np.isfinite(numbers)]
    if finite.size == 0:
        return Fill("constant", float(numbers.reshape(-1)[0]))
    special = None if finite.size == numbers.size else float(numbers[~np.isfinite(numbers)][0])
    return Fill("uniform", float(finite.min()), float(finite.max()), special=special)


class View(NamedTuple):
    """A row-major tensor and what is written after it."""

    base: Tensor
    suffix: str


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of a row-major tensor."""
    return tuple(prod(max(n, 1) for n in shape[i + 1 :]) for i in range(len(shape)))


def span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return how many elements of a buffer the strides reach over."""
    return 0 if 0 in shape else 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))


def overlaps(tensor: Tensor) -> bool:
    """Return whether elements may share a place in memory."""
    strides = tensor.strides
    if strides is None or 0 in tensor.shape:
        return False
    reached = 0
    for step, n in sorted(zip(strides, tensor.shape, strict=True)):
        if n > 1 and step <= reached:
            return True
        reached += (n - 1) * step
    return False


def simplest(tensor: Tensor) -> View | None:
    """Return the shortest true form; None if the tensor is row-major (or empty: then strides are not kept)."""
    if tensor.strides is None or tensor.size == 0 or tensor.strides == row_major(tensor.shape):
        return None
    for form in (_permuted, _stepped, _expanded):
        found = form(tensor.shape, tensor.strides)
        if found is not None:
            return View(_base(tensor, found[0]), found[1])
    reach = span(tensor.shape, tensor.strides)
    return View(_base(tensor, (reach,)), f".as_strided({tensor.shape}, {tensor.strides})")


def _base(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    fill = tensor.fill
    if fill.kind == "values":
        fill = fill._replace(data=pack(buffer(tensor, prod(shape))))
    return tensor._replace(shape=shape, strides=None, fill=fill, requires_grad=False, container="tensor")


def buffer(tensor: Tensor, count: int) -> NDArray[Any]:
    """Return the elements at the places that the strides give, with zeros in the gaps."""
    assert tensor.strides is not None
    flat = elements(tensor)
    offsets = np.zeros(1, np.int64)
    for n, step in zip(tensor.shape, tensor.strides, strict=True):
        offsets = (offsets[:, None] + np.arange(n) * step).reshape(-1)
    made = np.zeros(count, flat.dtype)
    made[offsets] = flat
    return made


Form = tuple[tuple[int, ...], str] | None


def _permuted(shape: tuple[int, ...], strides: tuple[int, ...]) -> Form:
    """Return a row-major tensor with its dimensions in another order."""
    rank = len(shape)
    order = sorted(range(rank), key=lambda i: (-strides[i], shape[i] != 1, i))
    base = tuple(shape[i] for i in order)
    if row_major(base) != tuple(strides[i] for i in order):
        return None
    moved = tuple(order.index(i) for i in range(rank))
    swapped = [i for i in range(rank) if moved[i] != i]
    if rank == 2:
        return base, ".t()"
    if swapped == [rank - 2, rank - 1]:
        return base, ".mT"
    if len(swapped) == 2:
        return base, f".transpose({swapped[0]}, {swapped[1]})"
    return base, f".permute({', '.join(map(str, moved))})"


def _stepped(shape: tuple[int, ...], strides: tuple[int, ...]) -> Form:
    """Return a row-major tensor with every k-th row, every k-th element, or the first elements of each row."""
    inner = row_major(shape)
    step = strides[-1]
    if len(shape) == 1:
        return ((span(shape, strides),), f"[::{step}]") if step > 1 else None
    if strides[0] % max(inner[0], 1) == 0 and strides[0] > inner[0] and strides[1:] == inner[1:]:
        step = strides[0] // inner[0]
        return ((1 + (shape[0] - 1) * step, *shape[1:]), f"[::{step}]")
    row = strides[-2]
    widened = (*shape[:-1], row)
    if row < 1 or row_major(widened)[:-1] != strides[:-1]:
        return None
    if step == 1 and row > shape[-1]:
        return widened, f"[..., :{shape[-1]}]"
    return (widened, f"[..., ::{step}]") if step > 1 and -(-row // step) == shape[-1] else None


def _expanded(shape: tuple[int, ...], strides: tuple[int, ...]) -> Form:
    """Return a row-major tensor repeated along dimensions of stride 0."""
    repeated = [step == 0 and n > 1 for n, step in zip(shape, strides, strict=True)]
    base = tuple(1 if again else n for n, again in zip(shape, repeated, strict=True))
    kept = [step for again, step in zip(repeated, strides, strict=True) if not again]
    if not any(repeated) or kept != [s for s, again in zip(row_major(base), repeated, strict=True) if not again]:
        return None
    leading = next(i for i, again in enumerate([*repeated, False]) if not again)
    return base[leading:], f".expand({', '.join(map(str, shape))})"
