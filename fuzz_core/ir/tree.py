"""Values as trees: the parts of a value in one order, the value with other parts, types and names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from fuzz_core.ir.values import Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Then, Value

Path: TypeAlias = tuple[int, ...]
Params: TypeAlias = Mapping[str, Sequence[str]]
_CALLED = ("forward", "call", "__call__")
_BRACKETS = {"tuple": ("(", ")"), "list": ("[", "]"), "set": ("{", "}")}
Types: TypeAlias = type[Any] | tuple[type[Any], ...]
_V = TypeVar("_V", bound=Value)


def children(value: Value) -> tuple[Value, ...]:
    """Return the values directly inside; of an invocation: args, kwargs, then's args, then's kwargs."""
    if isinstance(value, Seq):
        return value.items
    if isinstance(value, Map):
        return tuple([item for _, item in value.entries])
    if isinstance(value, Slice):
        return tuple(value)
    if not isinstance(value, Invocation):
        return ()
    _, args, kwargs, then = value
    if not kwargs and then is None:
        return args
    own = (*args, *[item for _, item in kwargs])
    return own if then is None else (*own, *then.args, *[item for _, item in then.kwargs])


def with_children(value: _V, parts: Sequence[Value]) -> _V:
    """Return the same value with other children, as many as before."""
    made: Any = value
    # Calls first: each mutation makes one.
    if isinstance(value, Invocation):
        api, args, kwargs, then = value
        first, second = len(args), len(args) + len(kwargs)
        if then is not None:
            third = second + len(then.args)
            then = Then(then.method, tuple(parts[second:third]), _named(then.kwargs, parts[third:]))
        made = Invocation(api, tuple(parts[:first]), _named(kwargs, parts[first:second]), then)
    elif isinstance(value, Seq):
        made = Seq(value.kind, tuple(parts))
    elif isinstance(value, Map):
        made = Map(_named(value.entries, parts))
    elif isinstance(value, Slice):
        made = Slice(*parts)
    return made  # type: ignore[no-any-return]


def _named(pairs: tuple[tuple[str, Value], ...], parts: Sequence[Value]) -> tuple[tuple[str, Value], ...]:
    return tuple([(pair[0], part) for pair, part in zip(pairs, parts, strict=True)]) if pairs else ()


def walk(value: Value, closed: Types = ()) -> Iterator[Value]:
    """Yield the value and every value inside it, outer ones first, from left to right.

    Values inside `closed` types are left out.
    """
    yield value
    if not isinstance(value, closed):
        for child in children(value):
            yield from walk(child, closed)


def positions(value: Value, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    """Yield the values of `walk`, each with its path."""
    yield path, value
    for index, child in enumerate(children(value)):
        yield from positions(child, (*path, index))


def exchanged(value: _V, path: Path, new: Value) -> _V:
    """Return the tree with `new` at the path."""
    if not path:
        return new  # type: ignore[return-value]
    parts = list(children(value))
    parts[path[0]] = exchanged(parts[path[0]], path[1:], new)
    return with_children(value, parts)


def rewritten(value: _V, change: Callable[[Value], Value], closed: Types = ()) -> _V:
    """Return the tree with every value changed, from left to right.

    Values inside `closed` types, and inside a changed value, stay.
    """
    new: Any = change(value)
    if new is value and not isinstance(value, closed) and (parts := children(value)):
        return with_children(value, [rewritten(part, change, closed) for part in parts])
    return new  # type: ignore[no-any-return]


def tensors_of(value: Value) -> Iterator[Tensor]:
    """Return the tensors in a value, from left to right."""
    return (each for each in walk(value) if isinstance(each, Tensor))


def with_tensors(value: _V, change: Callable[[Tensor], Tensor]) -> _V:
    """Return the same value with every tensor changed, wherever it stands."""
    return rewritten(value, lambda each: change(each) if isinstance(each, Tensor) else each)


def outline(value: _V) -> _V:
    """Return the same value with the elements of its tensors forgotten."""
    return with_tensors(value, lambda tensor: tensor._replace(fill=Fill()))


def numbers_of(value: Value) -> Iterator[int | float | complex]:
    """Yield the scalar numbers in a value, from left to right, but for those of slices; booleans are 0 and 1."""
    for each in walk(value, Slice):
        if isinstance(each, Prim) and isinstance(each.value, int | float | complex):
            yield each.value


def texts_of(value: Value) -> Iterator[str]:
    """Return the texts in a value, from left to right; the keys of dictionaries are none."""
    return (each.value for each in walk(value) if isinstance(each, Prim) and isinstance(each.value, str))


def fuzz_type(value: Value) -> str:
    """Return the FuzzType as text: `int`, `(int,int)`, `tensor<4,float32>`, `dtype`, `object<torch.nn.LSTM>`."""
    if isinstance(value, Prim):
        return value.type
    if isinstance(value, Tensor):
        return f"{value.container}<{len(value.shape)},{value.dtype}>"
    if isinstance(value, Seq):
        opening, closing = _BRACKETS[value.kind]
        return opening + ",".join(fuzz_type(item) for item in value.items) + closing
    if isinstance(value, Map):
        return "{" + ",".join(f"{key}:{fuzz_type(item)}" for key, item in value.entries) + "}"
    if isinstance(value, Slice):
        return "slice"
    if isinstance(value, Ref):
        return value.kind
    return f"object<{value.api}>"


def argument_names(invocation: Invocation, params: Params) -> list[str]:
    """Return the argument name of every value of `ir.tree.children`, in its order: what the value space is keyed by."""
    return [slot_name(invocation.api, *slot, params) for slot in argument_slots(invocation)]


def argument_slots(invocation: Invocation) -> list[tuple[str, int]]:
    """Return the place in its call of each value of `ir.tree.children`, in the same order.

    The first position is `("", 1)`, a keyword `("dim", 0)`; an argument of a call on the instance has the method's
    name.
    """
    slots = [("", place + 1) for place in range(len(invocation.args))] + [(name, 0) for name, _ in invocation.kwargs]
    if (then := invocation.then) is not None:
        slots += [(then.method, place + 1) for place in range(len(then.args))] + [(name, 0) for name, _ in then.kwargs]
    return slots


def slot_name(api: str, word: str, place: int, params: Params) -> str:
    """Return the name of the argument in a slot of a call of this api.

    Args:
        params: names of the positional parameters by api. A keyword names itself. A position takes its parameter's
            name, or `arg0`, `arg1`, … if the parameter is unknown. An argument of a call on an instance takes the
            parameters of `api.forward`, `api.call` or `api.method`. If none of them is known, its name is `input0`,
            `input1`, …
    """
    if not place:
        return word
    names = _then_params(api, word, params) if word else params.get(api, ())
    return names[place - 1] if place <= len(names) else f"{'input' if word else 'arg'}{place - 1}"


def _then_params(api: str, method: str, params: Params) -> Sequence[str]:
    for name in _CALLED if method == "__call__" else (method,):
        found = params.get(f"{api}.{name}")
        if found is not None:
            return found[1:] if found[:1] == ("self",) or found[:1] == ["self"] else found
    return ()
