"""Repair of a refused call: what a refusal demands is put where the draft has what the refusal was given."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.signatures import LOOSE, SignatureParameter
from fuzz_core.ir.tree import tensors_of, with_tensors
from fuzz_core.ir.values import Prim, Seq, Tensor, Value
from fuzz_core.synthesis.draft import Draft, parameters
from fuzz_core.synthesis.drawer import MAX_RANK, MAX_SIZE, Drawer
from fuzz_core.synthesis.refusals import Hints

MAX_ITEMS = 8
# A refusal may name large sizes, and repairs of several dimensions multiply them.
MAX_ELEMENTS = 1 << 16


class Repair(NamedTuple):
    """A change of one argument."""

    place: int
    value: Value


def repairs(draft: Draft, told: Hints, drawer: Drawer) -> list[Repair]:
    """Return the changes of single arguments that meet a refusal, those of arguments that it names if there are any.

    "must be rank 2 but is rank 4" changes a tensor of rank 4. "dimensions must be equal, but are 3 and 2" changes a
    dimension of one of these sizes. "expected int32 but got float64" changes a tensor of float64, "must have 4 values,
    but got 2" a list of two, and "must be a tuple but has type list" each list.
    """
    made = [
        Repair(place, value)
        for place, parameter in enumerate(parameters(draft.signature))
        for value in _values(draft, place, parameter, told, drawer)
    ]
    named = [each for each in made if parameters(draft.signature)[each.place].name in told.arguments]
    return named or made


def _values(draft: Draft, place: int, parameter: SignatureParameter, told: Hints, drawer: Drawer) -> Iterator[Value]:
    value = draft.values[place]
    if value is None:
        return
    if told.no_tensor and parameter.kind == "any" and told.no_tensor == _python_type(value):
        yield drawer.tensor(drawer.dtype(draft, parameter, told), drawer.shape(draft, told), draft, told)
    if isinstance(value, Seq):
        if told.sequence not in ("", value.kind):
            yield value._replace(kind=told.sequence)
        for length in told.demanded if value.items and parameter.many and len(value.items) in told.given else ():
            if 0 < length <= MAX_ITEMS and length != len(value.items):
                yield Seq(value.kind, (value.items * length)[:length])
    # The dtypes of an object's parameter are those of its handle.
    inner = SignatureParameter(parameter.name) if parameter.kind == "object" else parameter
    for dtype, shape in dict.fromkeys((each.dtype, each.shape) for each in tensors_of(value)):
        for new in _tensors(dtype, shape, draft, inner, told, drawer):
            yield _exchanged(value, (dtype, shape), new)


def _python_type(value: Value) -> str:
    if isinstance(value, Prim):
        return type(value.value).__name__
    return value.kind if isinstance(value, Seq) else ""


def _exchanged(value: Value, old: tuple[str, tuple[int, ...]], new: Tensor) -> Value:
    return with_tensors(value, lambda each: new if (each.dtype, each.shape) == old else each)


def _tensors(
    dtype: str, shape: tuple[int, ...], draft: Draft, parameter: SignatureParameter, told: Hints, drawer: Drawer
) -> Iterator[Tensor]:
    for other in _shapes(shape, draft, told, drawer):
        if prod(other) <= MAX_ELEMENTS:
            yield drawer.shaped(dtype, other, draft, told)
    if (demanded := _dtype(dtype, parameter, told)) in DTYPES and demanded in drawer.known:
        yield drawer.shaped(demanded, shape, draft, told)


def _shapes(shape: tuple[int, ...], draft: Draft, told: Hints, drawer: Drawer) -> Iterator[tuple[int, ...]]:
    if len(shape) in told.given_ranks:
        for rank in told.ranks:
            if rank != len(shape) and rank <= MAX_RANK:
                fitting = [other for other in draft.shapes() if len(other) == rank]
                drawn = tuple(drawer.size(draft, told) for _ in range(rank))
                yield drawer.rng.choice(fitting) if fitting and drawer.rng.chance(0.5) else drawn
    if shape in told.shapes:
        yield from (other for other in told.shapes if other != shape)
    for axis, size in enumerate(shape):
        for other in told.demanded or told.given:
            if size in told.given and other != size and 0 <= other <= MAX_SIZE:
                yield (*shape[:axis], other, *shape[axis + 1 :])


def _dtype(dtype: str, parameter: SignatureParameter, told: Hints) -> str:
    """Return the dtype that a refusal demands instead of the one that a tensor has; empty for none."""
    if dtype not in told.dtypes[1:] or not (parameter.group == "" or parameter.group.startswith(LOOSE)):
        return ""
    demanded = told.dtypes[0]
    return demanded if demanded != dtype and demanded in (parameter.dtypes or (demanded,)) else ""
