"""Evidence about an api in recorded calls: named arguments and the tensors that it was applied to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fuzz_core.ir.tree import children, fuzz_type, tensors_of
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, Value
from fuzz_core.modelgen.expressions import constants, holds, read
from fuzz_core.modelgen.moco.facts import Parameter, ParameterRelation

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
    given = children(value)
    shapes = [sizes for item in given if isinstance(item, Seq) and (sizes := _sizes(item))]
    if len(shapes) != 1 or any(isinstance(item, Tensor | Invocation) for item in given):
        return None
    dtype = next((item.value for name, item in value.kwargs if name == "dtype" and isinstance(item, Prim)), None)
    named = next((item.name for item in given if isinstance(item, Ref) and item.kind == "dtype"), "float32")
    return SeenInput(dtype if isinstance(dtype, str) else named, shapes[0], True)


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


def _sizes(value: Seq) -> tuple[int, ...]:
    """Return a shape, with OPEN_SIZE in the place of None; empty for any other sequence."""
    found = []
    for item in value.items:
        if not isinstance(item, Prim) or item.type not in ("int", "none"):
            return ()
        found.append(item.value if isinstance(item.value, int) else OPEN_SIZE)
    return tuple(found)


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
    sized = [(_size(each), Structure(each.arguments, texts)) for each in seen if (texts := _texts(_given(each)))]
    return min(sized, key=lambda pair: pair[0])[1] if sized else None


def _size(seen: SeenCall) -> tuple[int, int]:
    """Return the number of tensors, and of cells in them."""
    cells = [tensor.size for value in _given(seen) for tensor in tensors_of(value)]
    return len(cells), sum(cells)


def _given(seen: SeenCall) -> tuple[Value, ...]:
    then = None if seen.call is None else seen.call.then
    return then.args if then is not None and then.method == "__call__" else ()


def _texts(values: Sequence[Value]) -> tuple[str, ...]:
    """Return the expressions of tensors and sequences of tensors; empty if another value is among them."""
    texts = tuple(text for value in values if (text := _text(value)))
    return texts if len(texts) == len(values) else ()


def _text(value: Value) -> str:
    if isinstance(value, Tensor):
        return f"({value.shape}, {value.dtype!r})"
    texts = _texts(value.items) if isinstance(value, Seq) and value.kind in ("list", "tuple") else ()
    return f"[{', '.join(texts)}]" if texts else ""


def kept(
    relations: Iterable[ParameterRelation], seen: Iterable[SeenCall], parameters: Sequence[Parameter]
) -> tuple[ParameterRelation, ...]:
    """Return the relations that no working call contradicts; an omitted argument has its default."""
    defaults = constants({each.name: each.default for each in parameters if each.default is not None})
    # An argument that is an object gets neither its default nor a value.
    calls = [
        {name: value for name, value in defaults.items() if name not in each.arguments} | literals(each.arguments)
        for each in seen
    ]
    return tuple(each for each in relations if _holds_of_all(read(each.expression), calls))


def _holds_of_all(tree: ast.expr, calls: Iterable[Mapping[str, Any]]) -> bool:
    return all(holds(tree, call) is not False for call in calls)


def literals(arguments: Mapping[str, Value]) -> dict[str, Any]:
    """Return the arguments that are scalars or sequences of them, as Python objects."""
    found = {name: _literal(value) for name, value in arguments.items()}
    return {name: value for name, value in found.items() if value is not ...}


def _literal(value: Value) -> Any:
    """Return a scalar or a sequence as a Python object, and `...` for any other value."""
    if isinstance(value, Prim):
        return value.value if value.type in ("none", "bool", "int", "float", "str") else ...
    if isinstance(value, Seq) and value.kind in ("tuple", "list"):
        items = tuple(map(_literal, value.items))
        return ... if ... in items else items
    return ...
