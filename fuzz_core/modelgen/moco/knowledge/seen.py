"""Evidence about an api in recorded calls: named arguments and the tensors that it was applied to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from fuzz_core.ir.tree import fuzz_type
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, Value

# The size that stands for an open size of a symbolic input.
OPEN_SIZE = 2


class SeenInput(NamedTuple):
    """A tensor that an api was applied to."""

    dtype: str
    shape: tuple[int, ...]
    symbolic: bool = False  # it stood for one, and sizes that it left open are OPEN_SIZE


class SeenCall(NamedTuple):
    """A recorded call that works."""

    arguments: Mapping[str, Value]  # arguments of the construction, or of a function without its input
    inputs: tuple[SeenInput, ...] = ()  # the tensors it was applied to; empty if it was only made
    others: int = 0  # the number of further objects that it was applied to
    call: Invocation | None = None

    @property
    def plain(self) -> bool:
        """Return whether the call had only tensors as inputs, at least one, and all of known sizes."""
        return bool(self.inputs) and not self.others and not any(each.symbolic for each in self.inputs)


def layers_seen(calls: Iterable[Invocation], params: Sequence[str]) -> Iterator[SeenCall]:
    """Yield constructions of a class, with the arguments of the instance's call."""
    for call in calls:
        arguments = _named(call.args, call.kwargs, params)
        if arguments is None:
            continue
        then = call.then
        if then is None or then.method != "__call__":
            yield SeenCall(arguments, call=call)
            continue
        values = [*then.args, *(value for _, value in then.kwargs)]
        inputs = tuple(each for each in map(as_input, values) if each is not None)
        yield SeenCall(arguments, inputs, len(values) - len(inputs), call)


def functions_seen(calls: Iterable[Invocation], params: Sequence[str]) -> Iterator[SeenCall]:
    """Yield calls of a function whose first argument is a tensor."""
    for call in calls:
        arguments = _named(call.args, call.kwargs, params)
        if not arguments or call.then is not None:
            continue
        first = params[0] if params and params[0] in arguments else next(iter(arguments))
        found = as_input(arguments[first])
        if found is not None:
            rest = {name: value for name, value in arguments.items() if name != first}
            yield SeenCall(rest, (found,), call=call)


def as_input(value: Value) -> SeenInput | None:
    """Return a tensor, or an object that was made from a shape (and a dtype) alone, as an input."""
    if isinstance(value, Tensor):
        return SeenInput(value.dtype, value.shape)
    if not isinstance(value, Invocation) or value.then is not None:
        return None
    given = [*value.args, *(item for name, item in value.kwargs)]
    shapes = [item for item in given if isinstance(item, Seq) and _sizes(item) is not None]
    if len(shapes) != 1 or any(isinstance(item, Tensor | Invocation) for item in given):
        return None
    dtype = next((item.value for name, item in value.kwargs if name == "dtype" and isinstance(item, Prim)), None)
    named = next((item.name for item in given if isinstance(item, Ref) and item.kind == "dtype"), "float32")
    return SeenInput(dtype if isinstance(dtype, str) else named, _sizes(shapes[0]) or (), True)


def inputs_of(inputs: Sequence[SeenInput | Tensor]) -> tuple[str, ...]:
    """Return the tensors that an api was applied to as `Facts.takes`; empty if there is only one."""
    return tuple(f"({each.shape}, {each.dtype!r})" for each in inputs) if len(inputs) > 1 else ()


def axis_of(seen: Iterable[SeenCall], name: str) -> int | None:
    """Return the axis whose size the parameter had in every call that gave it; negative if counted from the last.

    At least two sizes must have occurred. A size of 1 does not count, because many axes have it.
    """
    given = [
        (each.inputs[0].shape, each.arguments.get(name)) for each in seen if each.inputs and name in each.arguments
    ]
    pairs = [(shape, value.value) for shape, value in given if isinstance(value, Prim) and value.type == "int"]
    if len(pairs) < len(given) or len({size for _, size in pairs if size != 1}) < 2:
        return None
    least = min(len(shape) for shape, _ in pairs)
    axes = (*range(least), *range(-least, 0))
    found = [axis for axis in axes if all(shape[axis] == size for shape, size in pairs)]
    return found[0] if found else None


def _sizes(value: Seq) -> tuple[int, ...] | None:
    found = []
    for item in value.items:
        if not isinstance(item, Prim) or item.type not in ("int", "none"):
            return None
        found.append(item.value if isinstance(item.value, int) else OPEN_SIZE)
    return tuple(found) if found else None


def _named(
    args: Sequence[Value], kwargs: Iterable[tuple[str, Value]], params: Sequence[str]
) -> dict[str, Value] | None:
    """Return the arguments by name; None if there are more arguments than names."""
    if len(args) > len(params):
        return None
    return {**dict(zip(params, args, strict=False)), **dict(kwargs)}


def kind_of(value: Value) -> tuple[str, str]:
    """Return (dtype, structure) of an argument, in the words of `facts.Parameter`."""
    match value:
        case Prim():
            return (value.type if value.type != "none" else ""), ("integer" if value.type == "int" else "")
        case Seq() if value.kind in ("tuple", "list"):
            types = {kind_of(item)[0] for item in value.items}
            return (types.pop() if len(types) == 1 else ""), value.kind
        case Tensor():
            return "tensor", "tensor"
        case Ref():
            return ("dtype" if value.kind == "dtype" else "callable" if value.kind == "name" else ""), ""
    return ("callable" if fuzz_type(value).startswith("object<") else ""), ""


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
