"""What is inside a description."""

from __future__ import annotations

from collections.abc import Iterator

from fuzz_core.ir.fuzztype import arguments
from fuzz_core.ir.values import Invocation, Map, Prim, Seq, Tensor, Value


def tensors_of(value: Value) -> Iterator[Tensor]:
    """The tensors in a value, from left to right, also inside sequences, dictionaries and objects."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (Seq, Map, Invocation)):
        for part in _parts(value):
            yield from tensors_of(part)


def numbers_of(value: Value) -> Iterator[int | float | complex]:
    """The scalar numbers in a value, from left to right; booleans are none."""
    if isinstance(value, Prim) and value.type in ("int", "float", "complex"):
        assert isinstance(value.value, int | float | complex)
        yield value.value
    elif isinstance(value, (Seq, Map, Invocation)):
        for part in _parts(value):
            yield from numbers_of(part)


def _parts(value: Seq | Map | Invocation) -> list[Value]:
    if isinstance(value, Seq):
        return list(value.items)
    return [item for _, item in value.entries] if isinstance(value, Map) else [item for *_, item in arguments(value)]
