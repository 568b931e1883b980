"""Structures of tensors that layers were seen to work with: lists of them, several types, the states of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from fuzz_core.ir.values import Seq, Tensor, Value
from fuzz_core.modelgen.moco.knowledge.seen import SeenCall


class Structure(NamedTuple):
    """The arguments that a layer was made with, and an expression for each argument of its call (`Facts.takes`)."""

    arguments: Mapping[str, Value]
    takes: tuple[str, ...]


def structure_of(seen: Iterable[SeenCall]) -> Structure | None:
    """Return the structure of the recorded call with the fewest tensors; the smallest call wins a draw.

    The result is None if no call of the layer has only tensors, or sequences of tensors. Arguments by name are left
    out, as they have defaults.
    """
    sized = [(size, found) for each in seen if (size := _size(each)) and (found := _structure(each)) is not None]
    return min(sized, key=lambda pair: pair[0])[1] if sized else None


def _structure(seen: SeenCall) -> Structure | None:
    texts = [_written(value) for value in _given(seen)]
    known = tuple(text for text in texts if text is not None)
    return Structure(seen.arguments, known) if known and len(known) == len(texts) else None


def _size(seen: SeenCall) -> tuple[int, int]:
    """Return the number of tensors, and of cells in them."""
    cells = [prod(tensor.shape) for value in _given(seen) for tensor in _tensors(value)]
    return len(cells), sum(cells)


def _given(seen: SeenCall) -> tuple[Value, ...]:
    then = None if seen.call is None else seen.call.then
    return then.args if then is not None and then.method == "__call__" else ()


def _written(value: Value) -> str | None:
    if isinstance(value, Tensor):
        return f"({value.shape}, {value.dtype!r})"
    if not isinstance(value, Seq) or value.kind not in ("list", "tuple") or not value.items:
        return None
    texts = [_written(item) for item in value.items]
    known = [text for text in texts if text is not None]
    return f"[{', '.join(known)}]" if len(known) == len(texts) else None


def _tensors(value: Value) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Seq):
        for item in value.items:
            yield from _tensors(item)
