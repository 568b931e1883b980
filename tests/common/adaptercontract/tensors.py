"""Checks of tensors: they are built, described and written as text without a change."""

from __future__ import annotations

from typing import Any

import numpy as np

from adaptercontract.world import Problems, World
from fuzz_core.adapters.arrays import KEPT_FLOATS, MAX_ELEMENTS, overlaps, row_major
from fuzz_core.adapters.literals import inlined
from fuzz_core.ir.codec import decode
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import elements
from fuzz_core.ir.values import Fill, Ref, Tensor

FOREIGN = (object(), "text", 1, 2.5, None, [1], {"a": 1}, len)


def bounding(world: World) -> Problems:
    """Every tensor with more elements than the cap is refused, for each container, shape and strides."""
    many = MAX_ELEMENTS + 1
    plain = Tensor("uint8", (many,))
    large = [plain, plain._replace(shape=(many, 1)), plain._replace(fill=Fill("constant", 1.0))]
    large += [each._replace(container=name) for each in large for name in ("ndarray", "variable", "parameter")]
    large.append(plain._replace(shape=(1 << 40, 1 << 40)))
    if world.dialect.strided:
        large.append(plain._replace(shape=(2,), strides=(1 << 50,)))
    yield from (f"{each.shape} {each.container} is made" for each in large if world.builds(each))
    if not world.builds(plain._replace(shape=(0, 1 << 40))):
        yield "a tensor without elements is refused"


def values(world: World) -> Problems:
    """Dtypes, the device and foreign values are described as what they are."""
    described = world.describer.describe
    refs = [Ref("dtype", name) for name in world.dtypes if name != "string"]
    for ref in (*refs, Ref("device", "cpu")):
        live = world.builder.build(ref)
        if world.builder.build(described(live)) != live:
            yield f"{ref} is described as {described(live)}"
    known = [value for value in FOREIGN if world.adapter.describe(value, described) is not None]
    yield from (f"{value!r} is taken for the library's own" for value in known)


def round_trip(world: World, data: Any) -> Problems:
    """A tensor is built with its elements, shape, dtype, container and strides, and its description says the same."""
    tensor = fitting(world, data)
    if tensor is None:
        return
    live = world.builder.build(tensor)
    found = world.described(live)
    again = world.builder.build(found)
    yield from _unlike(world, (tensor, live), (found, again))
    if found.fill.kind == "values" and world.described(again) != found:
        yield f"{found} is described as {world.described(again)}"


def spelled(world: World, data: Any) -> Problems:
    """The text of a tensor makes the tensor that is built, to the last bit if the text lists the elements."""
    tensor = fitting(world, data)
    if tensor is None:
        return
    source = world.dialect.tensor(tensor)
    live, written = world.builder.build(tensor), world.written(source)
    expected, found = world.described(live), world.described(written)
    drawn = not inlined(tensor) and tensor.fill.kind != "constant"
    if drawn:
        expected, found = expected._replace(fill=Fill()), found._replace(fill=Fill())
    yield from (f"{source}: {text}" for text in _unlike(world, (expected, live), (found, written)))


def written_to(world: World) -> Problems:
    """A value that a test writes into an argument is gone in the next test."""
    for container in ("tensor", "ndarray"):
        tensor = Tensor("float32", (3,), Fill("constant", 1.0), container)
        live = world.builder.build(tensor)
        try:
            live[0] = 5.0
        except TypeError:
            continue
        again = elements(world.described(world.builder.build(tensor)))
        if not same_elements(again, elements(tensor)):
            yield f"{container} has {again}"


def fitting(world: World, data: Any) -> Tensor | None:
    """Returns a tensor in a form that the library supports, or None if the library lacks the dtype.

    Elements that share a place in memory cannot differ. So a tensor with overlapping, listed elements loses its
    strides.
    """
    tensor = decode(data)
    assert isinstance(tensor, Tensor)
    own = tensor.container != "ndarray"
    if own and tensor.dtype not in world.dtypes:
        return None
    missing = max(0, world.examples.least_rank - len(tensor.shape)) if own else 0
    strided = own and world.dialect.strided
    if not strided or missing or (overlaps(tensor) and tensor.fill.kind == "values"):
        tensor = tensor._replace(strides=None)
    return tensor._replace(shape=(*(1,) * missing, *tensor.shape), requires_grad=tensor.requires_grad and strided)


Both = tuple[Tensor, Any]


def _unlike(world: World, expected: Both, actual: Both) -> Problems:
    """Yields the differences between two tensors, each given with its description."""
    (tensor, one), (found, other) = expected, actual
    own = tensor.container != "ndarray"
    stored = DTYPES[tensor.dtype].storage
    dtype = tensor.dtype if own or stored == "object" else stored
    if (found.dtype, found.shape) != (dtype, tensor.shape) or type(one) is not type(other):
        yield f"{tensor} became {found}: {type(one)} and {type(other)}"
    elif _told(tensor, found) and not same_elements(elements(found), elements(tensor)):
        yield f"{elements(tensor)} became {elements(found)}"
    if not world.dialect.strided or not own:
        return
    if tensor.size and steps(found) != steps(tensor):
        yield f"strides {steps(tensor)} became {steps(found)}"
    if found.requires_grad != (tensor.requires_grad and DTYPES[tensor.dtype].kind in ("float", "complex")):
        yield f"requires_grad became {found.requires_grad}"


def _told(tensor: Tensor, found: Tensor) -> bool:
    """Returns whether a description gives the exact elements.

    The description of a large tensor gives only their range. For drawn elements of a view, it gives those of the
    memory.
    """
    in_order = tensor.strides is None or tensor.fill.kind == "values"
    return in_order and (found.fill.kind == "values" or tensor.size <= KEPT_FLOATS)


def steps(tensor: Tensor) -> list[int]:
    """Returns the strides of the dimensions that have more than one element."""
    strides = row_major(tensor.shape) if tensor.strides is None else tensor.strides
    return [step for n, step in zip(tensor.shape, strides, strict=True) if n > 1]


def same_elements(one: Any, other: Any) -> bool:
    """Returns whether two arrays are equal bit for bit; all kinds of NaN count as equal."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return bool((one == other).all())
    return all(_same_numbers(a, b) for a, b in ((one.real, other.real), (one.imag, other.imag)))


def _same_numbers(one: Any, other: Any) -> bool:
    signs = (np.signbit(one) == np.signbit(other)) | np.isnan(one)
    return np.array_equal(one, other, equal_nan=True) and bool(signs.all())
