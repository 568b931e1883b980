"""Simpler values in place of one value.

Small generators propose simpler values, and the search drives them.

A `yield` hands over a candidate and learns whether it was accepted; later candidates may build on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import MOST, elements, pack, period
from fuzz_core.ir.tree import children
from fuzz_core.ir.values import NONE, Fill, Invocation, Map, Prim, Ref, Seq, Tensor, Value, prim

Proposals: TypeAlias = Generator[Value, bool, None]
Simplifier: TypeAlias = Callable[[Value], Proposals]

EXACT = 1 << 16
LANDMARKS = tuple(sorted((1 << bits) + step for bits in (16, 24, 31, 32, 40, 52, 62, 63) for step in (-1, 0, 1)))
DEFAULTS = {"float": ("float32",), "int": ("int64",), "uint": ("int64",), "complex": ("float32", "complex64")}
_ELEMENTWISE = 16
_WRITTEN = 32
ZEROS, ONES = Fill("constant", 0.0, 0.0), Fill("constant", 1.0, 1.0)


def first_of(candidates: Iterable[Value]) -> Generator[Value, bool, bool]:
    """Propose candidates in turn until one is accepted.

    Returns:
        Whether one was.
    """
    for candidate in candidates:
        if (yield candidate):
            return True
    return False


def lowered(number: int, make: Callable[[int], Value]) -> Generator[Value, bool, int]:
    """Search the smallest accepted number above 1, by bisection; try half if the number cannot move by one.

    A large number goes to the smallest landmark instead. The exact number at which a bad index begins to crash differs
    from process to process, so a number just above it would not reproduce.

    Returns:
        The number that was accepted last.
    """
    if number > EXACT:
        for landmark in LANDMARKS:
            if landmark < number and (yield make(landmark)):
                return landmark
        return number
    if number <= 2:
        return number
    if not (yield make(number - 1)):
        return number // 2 if (yield make(number // 2)) else number
    low, high = 1, number - 1
    while high - low > 1:
        middle = (low + high) // 2
        if (yield make(middle)):
            high = middle
        else:
            low = middle
    return high


def drop_then(value: Value) -> Proposals:
    """Propose the construction alone, without the call on the instance."""
    if isinstance(value, Invocation) and value.then is not None:
        yield value._replace(then=None)


def fewer(which: str, kept: Callable[[tuple[Any, ...]], list[tuple[Any, ...]]]) -> Simplifier:
    """Return a simplifier that drops arguments of one sort: of the call, then of the call on the instance."""

    def with_fewer(call: Any) -> Iterator[Any]:
        return (call._replace(**{which: items}) for items in kept(getattr(call, which)))

    def simplify(value: Value) -> Proposals:
        if isinstance(value, Invocation):
            yield from first_of(with_fewer(value))
            if value.then:
                yield from first_of(value._replace(then=then) for then in with_fewer(value.then))

    return simplify


def _without(items: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    singles = [items[:i] + items[i + 1 :] for i in reversed(range(len(items)))]
    return [(), *singles] if len(items) > 1 else singles


def _shorter(length: int) -> list[int]:
    return sorted({n for n in (0, length // 2, length - 1) if 0 <= n < length})


def shorten_sequences(value: Value) -> Proposals:
    """Propose an empty sequence or dictionary, a half of it, and each without one item."""
    if isinstance(value, Seq):
        half = len(value.items) // 2
        halves = [value.items[:half], value.items[half:]] if half else []
        yield from first_of(value._replace(items=kept) for kept in [(), *halves, *_without(value.items)])
    if isinstance(value, Map):
        yield from first_of(Map(kept) for kept in _without(value.entries))


def replace_objects(value: Value) -> Proposals:
    """Propose None for a tensor; for an object made by a call: None, an argument of that call, or a plain tensor."""
    if isinstance(value, Tensor):
        yield NONE
    if isinstance(value, Invocation):
        yield from first_of([NONE, *children(value), Tensor("float32", (1,), ONES)])


def simplify_scalars(value: Value) -> Proposals:
    """Propose None, the zero and the one of the type, then the smallest magnitude."""
    if not isinstance(value, Prim) or value.type in ("none", "ellipsis"):
        return
    number = value.value
    if (yield NONE):
        return
    match number:
        case bool():
            yield Prim("bool", False)
        case int():
            yield from _integers(number)
        case float():
            yield from _floats(number)
        case complex():
            yield from first_of(Prim("complex", c) for c in (0j, 1 + 0j, complex(number.real)))
        case str() | bytes():
            yield from first_of(Prim(value.type, number[:n]) for n in _shorter(len(number)))


def _integers(number: int) -> Proposals:
    if (yield from first_of(Prim("int", simple) for simple in (0, 1, -1))):
        return
    sign = -1 if number < 0 else 1
    # A large positive number fails for lack of memory. The negative one of the same size should be refused instead.
    if -EXACT <= number < 0 and (yield Prim("int", -number)):
        sign = 1
    yield from lowered(abs(number), lambda n: Prim("int", sign * n))


def _floats(number: float) -> Proposals:
    whole, simple = [0, 1, -1], [0.0, 1.0]
    if math.isfinite(number):
        whole.append(int(number))
        simple += [float(int(number)), abs(number), float(f"{number:.1g}"), float(f"{number:.2g}")]
    if not (yield from first_of(map(prim, [*whole, *simple]))) and number.is_integer():
        yield from lowered(int(abs(number)), lambda n: Prim("float", math.copysign(n, number)))


def shrink_tensors(value: Value) -> Proposals:
    """Propose fewer dimensions, then each dimension as 1, 0, or the least that works, the smallest first."""
    if not isinstance(value, Tensor):
        return
    if (yield resized(value, tuple(min(n, 1) for n in value.shape))):
        return
    axes = range(len(value.shape))
    if (yield from first_of(without_axis(value, axis, last) for axis in axes for last in (False, True))):
        return
    for axis, size in enumerate(value.shape):
        ends = ((1, False), (1, True), (0, False))
        if (yield from first_of(along(value, axis, n, last) for n, last in ends if n != size)):
            return
        if (yield from lowered(size, partial(along, value, axis))) != size:
            return
    if value.strides is None:
        yield resized(value, tuple(sorted(value.shape)))


def resized(tensor: Tensor, shape: tuple[int, ...], last: bool = False) -> Tensor:
    """Return the first (or last) elements along every dimension; larger dimensions repeat what there is."""
    if tensor.fill.kind != "values" or max(tensor.size, math.prod(shape)) > MOST:
        return tensor._replace(shape=shape)
    inside = elements(tensor).reshape(tensor.shape)
    for axis, size in enumerate(shape):
        present = inside.shape[axis]
        index = np.arange(present - size, present) if last and size <= present else np.arange(size) % max(present, 1)
        inside = inside.take(index, axis) if present else np.zeros((*shape,), inside.dtype)
    return tensor._replace(shape=shape, fill=tensor.fill._replace(data=pack(inside)))


def along(tensor: Tensor, axis: int, size: int, last: bool = False) -> Tensor:
    """Return the tensor with another size along one dimension, see `resized`."""
    return resized(tensor, (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :]), last)


def without_axis(tensor: Tensor, axis: int, last: bool = False) -> Tensor:
    """Return the tensor with one dimension less: its first (or last) slice."""
    one = along(tensor, axis, 1, last)
    strides = None if one.strides is None else one.strides[:axis] + one.strides[axis + 1 :]
    return one._replace(shape=one.shape[:axis] + one.shape[axis + 1 :], strides=strides)


def simplify_fills(value: Value) -> Proposals:
    """Propose zeros, ones, one constant, no special values, few and small elements."""
    if not isinstance(value, Tensor):
        return
    fill = value.fill

    def filled(*fills: Fill) -> Generator[Value, bool, bool]:
        return first_of(value._replace(fill=each) for each in fills)

    if (yield from filled(ZEROS, ONES)):
        return
    if fill.special is not None:
        yield from filled(Fill("constant", fill.special), fill._replace(special=None))
    if fill.kind == "uniform":
        written = [Fill("values", data=pack(elements(value)))] if value.size <= _WRITTEN else []
        yield from filled(*written, Fill(special=fill.special))
    elif fill.kind == "constant":
        yield from _constants(value, fill.low)
    elif value.size and DTYPES[value.dtype].kind != "string":
        yield from _elements(value)


def _constants(tensor: Tensor, number: float) -> Proposals:
    if math.isfinite(number) and not (yield from first_of(_full(tensor, n) for n in (abs(number), float(int(number))))):
        yield from lowered(int(abs(number)), lambda n: _full(tensor, math.copysign(n, number)))


def _full(tensor: Tensor, number: float) -> Tensor:
    return tensor._replace(fill=Fill("constant", number, number))


def _elements(tensor: Tensor) -> Proposals:
    flat = period(tensor)
    if DTYPES[tensor.dtype].kind != "complex":
        ends = dict.fromkeys(float(end) for end in (flat[0], flat[-1], flat.max(), flat.min()))
        if (yield from first_of(_full(tensor, end) for end in ends)):
            return
    for index in range(len(flat) if len(flat) <= _ELEMENTWISE else 0):
        yield from _element(tensor, flat, index)


def _element(tensor: Tensor, flat: Any, index: int) -> Proposals:
    """Propose simpler values of one element; `flat` keeps accepted ones, so that the next element builds on them."""

    def make(number: Any) -> Tensor:
        changed = flat.copy()
        changed[index] = number
        return tensor._replace(fill=Fill("values", data=pack(changed)))

    kind, number = DTYPES[tensor.dtype].kind, flat[index]
    whole = kind in ("int", "uint") or (kind == "float" and math.isfinite(number))
    for simple in (0, 1, *([abs(int(number)), int(number)] if whole and abs(int(number)) < 2**62 else [])):
        if (yield make(simple)):
            flat[index] = simple
            return
    if kind in ("int", "uint") and number > 1:
        flat[index] = yield from lowered(int(number), make)


def simpler_dtypes(name: str) -> tuple[str, ...]:
    """Return default dtypes of the same kind: a float in place of an index would make another, less valid call."""
    known = DTYPES.get(name)
    return () if known is None else tuple(d for d in DEFAULTS.get(known.kind, ()) if d != name)


def default_dtypes(value: Value) -> Proposals:
    """Propose float32 or int64 for another dtype of its kind, and the CPU for another device."""
    if isinstance(value, Tensor):
        yield from first_of(cast(value, name) for name in simpler_dtypes(value.dtype))
    elif isinstance(value, Ref) and value.kind == "dtype":
        yield from first_of(Ref("dtype", name) for name in simpler_dtypes(value.name))
    elif isinstance(value, Ref) and value.kind == "device" and value.name != "cpu":
        yield Ref("device", "cpu")


def cast(tensor: Tensor, dtype: str) -> Tensor:
    """Return the tensor in another dtype; written elements are converted."""
    if tensor.fill.kind != "values":
        return tensor._replace(dtype=dtype)
    if "string" in (DTYPES[tensor.dtype].kind, DTYPES[dtype].kind):
        return tensor._replace(dtype=dtype, fill=ZEROS)
    flat = period(tensor)
    with np.errstate(all="ignore"):
        converted = (flat if DTYPES[dtype].kind == "complex" else flat.real).astype(DTYPES[dtype].storage)
    return tensor._replace(dtype=dtype, fill=tensor.fill._replace(data=pack(converted)))


def plain_layout(value: Value) -> Proposals:
    """Propose a row-major tensor without gradient, in place of a parameter or an array."""
    if isinstance(value, Tensor):
        plain = {"strides": None, "requires_grad": False, "container": "tensor"}
        yield from first_of([value._replace(**plain), *(value._replace(**{k: v}) for k, v in plain.items())])  # type: ignore[arg-type]


FEWER: tuple[Simplifier, ...] = (
    drop_then,
    # Drop all keyword arguments, or one.
    fewer("kwargs", _without),
    fewer("args", lambda items: [items[:n] for n in _shorter(len(items))]),
    replace_objects,
    shorten_sequences,
)
SMALLER: tuple[Simplifier, ...] = (shrink_tensors, simplify_scalars)
PLAINER: tuple[Simplifier, ...] = (default_dtypes, plain_layout, simplify_fills)
