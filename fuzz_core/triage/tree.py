"""Values as trees: every value inside an invocation has a path, and can be exchanged there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from fuzz_core.ir.values import Invocation, Map, Seq, Slice, Then, Value

Path: TypeAlias = tuple[int, ...]


def children(value: Value) -> tuple[Value, ...]:
    """The values directly inside; of an invocation: args, kwargs, then's args, then's kwargs."""
    if isinstance(value, Seq):
        return value.items
    if isinstance(value, Map):
        return tuple(item for _, item in value.entries)
    if isinstance(value, Slice):
        return tuple(value)
    if not isinstance(value, Invocation):
        return ()
    own = (*value.args, *(item for _, item in value.kwargs))
    then = value.then
    return own if then is None else (*own, *then.args, *(item for _, item in then.kwargs))


def with_children(value: Value, parts: tuple[Value, ...]) -> Value:
    """The same value with other children, as many as before."""
    if isinstance(value, Seq):
        return Seq(value.kind, parts)
    if isinstance(value, Map):
        return Map(_named(value.entries, parts))
    if isinstance(value, Slice):
        return Slice(*parts)
    if not isinstance(value, Invocation):
        return value
    first, second = len(value.args), len(value.args) + len(value.kwargs)
    made = value._replace(args=parts[:first], kwargs=_named(value.kwargs, parts[first:second]))
    if value.then is None:
        return made
    third = second + len(value.then.args)
    return made._replace(then=Then(value.then.method, parts[second:third], _named(value.then.kwargs, parts[third:])))


def _named(pairs: tuple[tuple[str, Value], ...], parts: tuple[Value, ...]) -> tuple[tuple[str, Value], ...]:
    return tuple((name, part) for (name, _), part in zip(pairs, parts, strict=True))


def positions(value: Value, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    """The value and every value inside it with its path, outer ones first."""
    yield path, value
    for index, child in enumerate(children(value)):
        yield from positions(child, (*path, index))


def exchanged(value: Value, path: Path, new: Value) -> Value:
    """The tree with `new` at the path."""
    if not path:
        return new
    parts = list(children(value))
    parts[path[0]] = exchanged(parts[path[0]], path[1:], new)
    return with_children(value, tuple(parts))
