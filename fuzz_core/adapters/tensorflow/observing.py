"""Every operation that runs eagerly, told by op callbacks as a call of `tf.raw_ops`: wrapping misses most."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.framework import op_callbacks, op_def_registry

Seen = Callable[[str, dict[str, Any]], None]

_UNIQUE_NAMES = ("container", "shared_name", "debug_name")


class RawOp(NamedTuple):
    """How an operation's inputs and attributes are spelled as keyword arguments of its raw_ops function.

    inputs: (keyword, attribute that counts its tensors or empty); attributes: name to kind, those that the function
    takes alone (the others it infers).
    """

    inputs: tuple[tuple[str, str], ...]
    attributes: dict[str, str]


def raw_op(name: str) -> RawOp | None:
    """The spelling of an operation; None where raw_ops has none of that name or it takes functions."""
    function, definition = getattr(tf.raw_ops, name, None), op_def_registry.get(name)
    if function is None or definition is None or any(attr.type == "func" for attr in definition.attr):
        return None
    parameters = [p for p in inspect.signature(function).parameters if p != "name"]
    own = {argument.name for argument in definition.input_arg} | {attr.name for attr in definition.attr}
    renamed = iter([p for p in parameters if p not in own])
    inputs = tuple(
        (argument.name if argument.name in parameters else next(renamed, argument.name), _counted_by(argument))
        for argument in definition.input_arg
    )
    attributes = {attr.name: attr.type for attr in definition.attr if attr.name in parameters}
    return RawOp(inputs, {name: kind for name, kind in attributes.items() if name not in _UNIQUE_NAMES})


def _counted_by(argument: Any) -> str:
    return str(argument.number_attr or argument.type_list_attr)


class Observer:
    """Tells of each operation once per dtypes, shapes and attributes: describing costs more than running most."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.spelled: dict[str, RawOp | None] = {}
        self.told: set[int] = set()

    def __call__(
        self,
        op_type: str | bytes,
        inputs: Sequence[Any],
        attrs: Sequence[Any],
        outputs: Any,
        op_name: Any = None,
        graph: Any = None,
    ) -> None:
        """TensorFlow's callback after an operation ran (`graph` is None) or was added to a graph."""
        if graph is not None:
            return
        name = op_type.decode() if isinstance(op_type, bytes) else op_type
        if name not in self.spelled:
            self.spelled[name] = raw_op(name)
        spelled = self.spelled[name]
        if spelled is None:
            return
        values = dict(zip(attrs[::2], attrs[1::2], strict=True))
        key = hash((name, tuple((i.dtype, tuple(i.shape)) for i in inputs if i.shape.rank is not None), repr(attrs)))
        if key not in self.told:
            self.told.add(key)
            arguments = keywords(spelled, inputs, values)
            if arguments is not None:
                self.seen(f"tf.raw_ops.{name}", arguments)


def keywords(spelled: RawOp, inputs: Sequence[Any], attrs: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments of a raw_ops function from a callback's flat ones; None where lists of inputs cannot be told apart."""
    counts = _counts(spelled, len(inputs), attrs)
    if counts is None:
        return None
    arguments: dict[str, Any] = {}
    rest = list(inputs)
    for (keyword, counted), count in zip(spelled.inputs, counts, strict=True):
        arguments[keyword] = rest[:count] if counted else rest[0]
        rest = rest[count:]
    for name, kind in spelled.attributes.items():
        if attrs.get(name) is not None:
            arguments[name] = _attribute(attrs[name], kind)
    return arguments


def _counts(spelled: RawOp, total: int, attrs: dict[str, Any]) -> list[int] | None:
    lists = [counted for _, counted in spelled.inputs if counted]
    if len(lists) == 1:
        several = total - len(spelled.inputs) + 1
        return [several if counted else 1 for _, counted in spelled.inputs]
    counts = [_length(attrs.get(counted)) if counted else 1 for _, counted in spelled.inputs]
    return counts if sum(counts) == total else None


def _length(value: Any) -> int:
    if isinstance(value, int):
        return value
    return len(value) if isinstance(value, list | tuple) else 0


def _attribute(value: Any, kind: str) -> Any:
    if kind == "type":
        return tf.as_dtype(value)
    if kind == "list(type)":
        return [tf.as_dtype(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if kind == "list(string)":
        return [item.decode("utf-8", "replace") if isinstance(item, bytes) else item for item in value]
    return value


def observe(seen: Seen) -> None:
    """Adds the observer to this thread's eager context, which that does not initialise."""
    op_callbacks.add_op_callback(Observer(seen))
