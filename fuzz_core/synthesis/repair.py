"""Repair of a refused call: what a refusal demands is put where the draft has what the refusal was given."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.signatures import LOOSE, SignatureParameter
from fuzz_core.ir.values import Seq, Tensor, Value
from fuzz_core.synthesis.draft import MAX_RANK, MAX_SIZE, Draft, Drawer, parameters
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
    if isinstance(value, Tensor):
        for shape in _shapes(value.shape, draft, told, drawer):
            if prod(shape) <= MAX_ELEMENTS:
                yield drawer.shaped(value.dtype, shape, draft, told)
        if (dtype := _dtype(value, parameter, told)) in DTYPES and dtype in drawer.known:
            yield drawer.shaped(dtype, value.shape, draft, told)
    elif isinstance(value, Seq):
        if told.sequence not in ("", value.kind):
            yield value._replace(kind=told.sequence)
        for length in told.demanded if value.items and parameter.many and len(value.items) in told.given else ():
            if 0 < length <= MAX_ITEMS and length != len(value.items):
                yield Seq(value.kind, (value.items * length)[:length])


def _shapes(shape: tuple[int, ...], draft: Draft, told: Hints, drawer: Drawer) -> Iterator[tuple[int, ...]]:
    if len(shape) in told.given_ranks:
        for rank in told.ranks:
            if rank != len(shape) and rank <= MAX_RANK:
                fitting = [other for other in draft.shapes() if len(other) == rank]
                drawn = tuple(drawer.size(draft, told) for _ in range(rank))
                yield drawer.rng.choice(fitting) if fitting and drawer.rng.chance(0.5) else drawn
    for axis, size in enumerate(shape):
        for other in told.demanded or told.given:
            if size in told.given and other != size and 0 <= other <= MAX_SIZE:
                yield (*shape[:axis], other, *shape[axis + 1 :])


def _dtype(value: Tensor, parameter: SignatureParameter, told: Hints) -> str:
    """Return the dtype that a refusal demands instead of the one that a tensor has; empty for none."""
    if value.dtype not in told.dtypes[1:] or not (parameter.group == "" or parameter.group.startswith(LOOSE)):
        return ""
    demanded = told.dtypes[0]
    return demanded if demanded != value.dtype and demanded in (parameter.dtypes or (demanded,)) else ""
