"""What is inside a description."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fuzz_core.ir.fuzztype import arguments
from fuzz_core.ir.values import Invocation, Map, Prim, Seq, Tensor, Then, Value


def tensors_of(value: Value) -> Iterator[Tensor]:
    """The tensors in a value, from left to right, also inside sequences, dictionaries and objects."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (Seq, Map, Invocation)):
        for part in _parts(value):
            yield from tensors_of(part)


def objects_of(value: Value) -> Iterator[Invocation]:
    """The objects by construction in the arguments of a call, from left to right, also inside others."""
    if isinstance(value, (Seq, Map, Invocation)):
        for part in _parts(value):
            if isinstance(part, Invocation):
                yield part
            yield from objects_of(part)


def numbers_of(value: Value) -> Iterator[int | float | complex]:
    """The scalar numbers in a value, from left to right; booleans are 0 and 1."""
    if isinstance(value, Prim) and value.type in ("bool", "int", "float", "complex"):
        assert isinstance(value.value, int | float | complex)
        yield value.value
    elif isinstance(value, (Seq, Map, Invocation)):
        for part in _parts(value):
            yield from numbers_of(part)


def texts_of(value: Value) -> Iterator[str]:
    """The texts in a value, from left to right; the keys of dictionaries are none."""
    if isinstance(value, Prim) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, (Seq, Map, Invocation)):
        for part in _parts(value):
            yield from texts_of(part)


def _parts(value: Seq | Map | Invocation) -> list[Value]:
    if isinstance(value, Seq):
        return list(value.items)
    return [item for _, item in value.entries] if isinstance(value, Map) else [item for *_, item in arguments(value)]


def with_tensors(call: Invocation, change: Callable[[Tensor], Tensor]) -> Invocation:
    """The same call with every tensor changed, wherever it stands."""

    def of(value: Value) -> Value:
        if isinstance(value, Tensor):
            return change(value)
        if isinstance(value, Seq):
            return value._replace(items=tuple(map(of, value.items)))
        if isinstance(value, Map):
            return Map(pairs(value.entries))
        return with_tensors(value, change) if isinstance(value, Invocation) else value

    def pairs(entries: tuple[tuple[str, Value], ...]) -> tuple[tuple[str, Value], ...]:
        return tuple((name, of(item)) for name, item in entries)

    then = call.then
    if then is not None:
        then = Then(then.method, tuple(map(of, then.args)), pairs(then.kwargs))
    return Invocation(call.api, tuple(map(of, call.args)), pairs(call.kwargs), then)
