"""TensorFlow's apis: which are public, what is declared of their arguments, and the operations that they execute."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.framework import op_callbacks, op_def_registry
from tensorflow.python.util import tf_export

from fuzz_core.adapters.base import Seen
from fuzz_core.adapters.inventory import Listed, folded, is_api, members, shortest, within
from fuzz_core.adapters.tensorflow.tensors import NAMES
from fuzz_core.ir.constraints import Constraint

NO_COMPUTATION = (
    "tf.autograph",
    "tf.compat",
    "tf.config",
    "tf.data.experimental.service",
    "tf.distribute",
    "tf.dtensor",
    "tf.errors",
    "tf.experimental.dlpack",
    "tf.experimental.dtensor",
    "tf.experimental.extension_type",
    "tf.graph_util",
    "tf.io.gfile",
    "tf.keras.applications",
    "tf.keras.callbacks",
    "tf.keras.config",
    "tf.keras.datasets",
    "tf.keras.distribution",
    "tf.keras.export",
    "tf.keras.legacy.saving",
    "tf.keras.mixed_precision",
    "tf.keras.saving",
    "tf.keras.wrappers",
    "tf.lite",
    "tf.mlir",
    "tf.profiler",
    "tf.saved_model",
    "tf.security",
    "tf.summary",
    "tf.sysconfig",
    "tf.test",
    "tf.tools",
    "tf.tpu",
    "tf.train",
    "tf.types",
    "tf.version",
)
"""Modules left out: they switch process-wide state, write or delete files, download, talk to other machines, drive
devices or convert programs, so that a call of theirs is no test of a computation."""

_HOMES = ("tensorflow", "keras")


def listed() -> list[Listed]:
    """Return functions and classes of every public module, one entry per object, in the order of canonical names."""
    return folded(members(within("tf", tf, _computes), _is_api), _canonical_first)


def _computes(path: str, module: ModuleType) -> bool:
    return path not in NO_COMPUTATION and module.__name__.split(".")[0] in _HOMES


def _is_api(found: Any) -> bool:
    # Enumerations are values; and classes of protocol buffer messages alone have a descriptor.
    enumeration = isinstance(found, type) and issubclass(found, enum.Enum)
    return is_api(found, _HOMES) and not enumeration and not hasattr(found, "DESCRIPTOR")


def _canonical_first(found: Any, names: list[str]) -> list[str]:
    """Return names with the library's canonical one in front, else the shortest; `tf.losses.X` is Keras's `X` too."""
    ordered = shortest(names)
    keras = [name for name in ordered if name.startswith("tf.keras.")]
    exported = f"tf.{tf_export.get_canonical_name_for_symbol(found)}"
    first = exported if exported in ordered else (keras or ordered)[0]
    return [first, *(name for name in ordered if name != first)]


RAW = "tf.raw_ops."
SOURCE = "op definition"


def definitions(listed: Iterable[Listed]) -> Iterator[Constraint]:
    """Yield the constraints of every raw op that is listed."""
    for entry in listed:
        name = entry.api.name.removeprefix(RAW)
        spelled = raw_op(name) if entry.api.name.startswith(RAW) else None
        if spelled is not None:
            definition = op_def_registry.get(name)
            attributes = {attr.name: attr for attr in definition.attr}
            for argument, (keyword, _) in zip(definition.input_arg, spelled.inputs, strict=True):
                yield from _input(entry.api.name, keyword, argument, attributes)
            for keyword in spelled.attributes:
                yield from _attribute(entry.api.name, keyword, attributes[keyword])


def _input(api: str, keyword: str, argument: Any, attributes: dict[str, Any]) -> Iterator[Constraint]:
    if argument.number_attr:
        count = attributes[argument.number_attr]
        if count.has_minimum:
            text = f"{count.name}: int >= {count.minimum}, the number of tensors"
            yield Constraint(api, keyword, "length", (count.minimum,), text, SOURCE)
    elif argument.type:
        yield from _types(api, keyword, [argument.type], f"{argument.name}: ")
    elif argument.type_attr and attributes[argument.type_attr].HasField("allowed_values"):
        allowed = attributes[argument.type_attr].allowed_values.list.type
        yield from _types(api, keyword, allowed, f"{argument.name}: {argument.type_attr} in ")


def _types(api: str, keyword: str, numbers: Iterable[int], before: str) -> Iterator[Constraint]:
    """Yield the allowed dtypes of an argument.

    An operation that allows a resource or a reference yields no constraint.
    """
    dtypes = [tf.as_dtype(number) for number in numbers]
    names = tuple(NAMES.get(dtype, dtype.name) for dtype in dtypes)
    if any(dtype in NAMES for dtype in dtypes):
        yield Constraint(api, keyword, "dtypes", names, before + ", ".join(names), SOURCE)


def _attribute(api: str, keyword: str, attribute: Any) -> Iterator[Constraint]:
    if attribute.has_minimum and (attribute.minimum > 0 or attribute.type == "int"):
        kind = "minimum" if attribute.type == "int" else "length"
        text = f"{keyword}: {attribute.type} >= {attribute.minimum}"
        yield Constraint(api, keyword, kind, (attribute.minimum,), text, SOURCE)
    if attribute.HasField("allowed_values"):
        allowed = attribute.allowed_values.list
        if attribute.type == "string":
            values = tuple(value.decode() for value in allowed.s)
            yield Constraint(api, keyword, "choices", values, f"{keyword}: string in {', '.join(values)}", SOURCE)
        elif attribute.type == "type":
            yield from _types(api, keyword, allowed.type, f"{keyword}: type in ")


# The dtypes of objects: the call that made one is the only description.
OPAQUE = (tf.resource, tf.variant)
_UNIQUE_NAMES = ("container", "shared_name", "debug_name")


class RawOp(NamedTuple):
    """How an operation's inputs and attributes are spelled as keyword arguments of its raw_ops function."""

    inputs: tuple[tuple[str, str], ...]  # (keyword, attribute that counts its tensors or empty)
    attributes: dict[str, str]  # name to kind, for those that the function takes (it infers the remaining ones)


@cache
def raw_op(name: str) -> RawOp | None:
    """Return the spelling of an operation; None if raw_ops has none of that name."""
    function, definition = getattr(tf.raw_ops, name, None), op_def_registry.get(name)
    if function is None or definition is None:
        return None
    parameters = [p for p in inspect.signature(function).parameters if p != "name"]
    own = {argument.name for argument in definition.input_arg} | {attr.name for attr in definition.attr}
    renamed = iter([p for p in parameters if p not in own])
    inputs = tuple(
        (each.name if each.name in parameters else next(renamed, each.name), each.number_attr or each.type_list_attr)
        for each in definition.input_arg
    )
    attributes = {attr.name: attr.type for attr in definition.attr if attr.name in parameters}
    return RawOp(inputs, {name: kind for name, kind in attributes.items() if name not in _UNIQUE_NAMES})


class Observer:
    """Callback that reports each operation once per dtypes, shapes and attributes, and each one that makes an object.

    The description of an operation costs more than most operations.
    """

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.told: set[int] = set()

    def __call__(
        self,
        op_type: str | bytes,
        inputs: Sequence[Any],
        attrs: Sequence[Any],
        outputs: Sequence[Any],
        *_: Any,
        graph: Any = None,
        **__: Any,
    ) -> None:
        """Run after an operation ran (`graph` is None) or was added to a graph: TensorFlow's callback."""
        if graph is not None:
            return
        name = _name(op_type)
        spelled = raw_op(name)
        if spelled is None:
            return
        values = dict(zip(attrs[::2], attrs[1::2], strict=True))
        key = hash((name, tuple((i.dtype, tuple(i.shape)) for i in inputs if i.shape.rank is not None), repr(attrs)))
        if key not in self.told or any(output.dtype in OPAQUE for output in outputs):
            arguments = keywords(spelled, inputs, values)
            if arguments is not None and self.seen(f"{RAW}{name}", arguments, outputs):
                self.told.add(key)


def _name(op_type: str | bytes) -> str:
    """Return an operation's name: it is bytes if the operation ran, and text if it was added to a graph."""
    return op_type.decode() if isinstance(op_type, bytes) else op_type


def keywords(spelled: RawOp, inputs: Sequence[Any], attrs: dict[str, Any]) -> dict[str, Any] | None:
    """Return arguments of a raw_ops function from a callback's flat ones.

    Returns:
        None if lists of inputs are ambiguous, or the operation takes functions: the callback gets their names alone.
    """
    counts = _counts(spelled, len(inputs), attrs)
    if counts is None or any("func" in kind for kind in spelled.attributes.values()):
        return None
    arguments: dict[str, Any] = {}
    rest = list(inputs)
    for (keyword, counted), count in zip(spelled.inputs, counts, strict=True):
        arguments[keyword] = rest[:count] if counted else rest[0]
        rest = rest[count:]
    for name, kind in spelled.attributes.items():
        if attrs.get(name) is not None:
            arguments[name] = _decoded(attrs[name], kind)
    return arguments


def _counts(spelled: RawOp, total: int, attrs: dict[str, Any]) -> list[int] | None:
    lists = [counted for _, counted in spelled.inputs if counted]
    if len(lists) == 1:
        several = total - len(spelled.inputs) + 1
        return [several if counted else 1 for _, counted in spelled.inputs]
    told = [attrs.get(counted, ()) if counted else 1 for _, counted in spelled.inputs]
    counts = [each if isinstance(each, int) else len(each or ()) for each in told]
    return counts if sum(counts) == total else None


def _decoded(value: Any, kind: str) -> Any:
    if kind in ("list(type)", "list(string)"):
        return [_decoded(item, kind[5:-1]) for item in value]
    if kind == "type":
        return tf.as_dtype(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def observe(seen: Seen) -> None:
    """Add the observer to this thread's eager context, which that does not initialise."""
    op_callbacks.add_op_callback(Observer(seen))


@contextmanager
def operators(seen: Callable[[str], None]) -> Iterator[None]:
    """Pass `name dtype` of every operation executed within the context or added to a graph.

    The dtype is that of the first input.
    """

    def callback(op_type: str | bytes, inputs: Sequence[Any], *_: Any, **__: Any) -> None:
        dtype = getattr(inputs[0], "dtype", None) if inputs else None
        seen(f"{_name(op_type)} {getattr(dtype, 'name', '-')}")

    op_callbacks.add_op_callback(callback)
    try:
        yield
    finally:
        op_callbacks.clear_op_callbacks()
