"""What TensorFlow's op definitions allow: types, enum values and minimums of every raw op."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from fuzz_core.adapters.base import Listed
from fuzz_core.adapters.tensorflow.observing import raw_op
from fuzz_core.adapters.tensorflow.tensors import NAMES
from fuzz_core.ir.constraints import Constraint

RAW = "tf.raw_ops."
SOURCE = "op definition"


def definitions(listed: Iterable[Listed]) -> Iterator[Constraint]:
    """The constraints of every raw op that is listed."""
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
    """One that allows a resource or a reference says nothing of the values that are described."""
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
