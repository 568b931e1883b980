"""Datasets that a search makes: an operation declares types and shapes of elements, and only an element shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

import tensorflow as tf

from fuzz_core.adapters.tensorflow.tensors import NAMES
from fuzz_core.ir.values import NONE, Invocation, Ref, Seq, Value

# The arguments in which a raw operation declares the types and shapes of the elements of its dataset.
TYPES, SHAPES = "output_types", "output_shapes"
# The code of functions that make a dataset of another one.
_HOME = "tensorflow.python.data."
_UNFIT = f"{TYPES} and {SHAPES} do not fit: "
_COUNT = re.compile(r"Number of components does not match: expected \d+ (?:types|shapes) but got (\d+)")
_TYPE = re.compile(r"Data type mismatch at component (\d+): expected \w+ but got (\w+)")
_SHAPE = re.compile(r"Incompatible shapes at component (\d+)")
# TensorFlow rewrites the graph of a dataset otherwise, and cannot rewrite every operation.
_AS_IT_IS = tf.data.Options()
_AS_IT_IS.experimental_optimization.apply_default_optimizations = False
_AS_IT_IS.autotune.enabled = False


def unreadable(
    result: Any, named: Callable[[], Mapping[str, Any]], samples: Callable[[], Iterable[tf.data.Dataset]]
) -> str:
    """Return why the first element of a dataset contradicts its arguments; empty for anything else.

    The variant of a raw operation is a dataset if the operation declares the types and shapes of elements. A function
    that `tf.data` returns makes a dataset of another one, and must take one of the samples.
    """
    if isinstance(result, FunctionType) and result.__module__.startswith(_HOME):
        found = [_complaint(lambda each=each: _read(result(each))) for each in samples()]  # type: ignore[misc]
        return "" if "" in found else found[0]
    return _complaint(lambda: _read(_dataset(result, named)))


def _dataset(result: Any, named: Callable[[], Mapping[str, Any]]) -> Any:
    """Return the dataset of a variant; anything else as it is."""
    if not (isinstance(result, tf.Tensor) and result.dtype == tf.variant and not result.shape.rank):
        return result
    said = named()
    if not {TYPES, SHAPES} <= {*said}:
        return result
    if len(said[TYPES]) != len(said[SHAPES]):
        raise ValueError(f"{_UNFIT}{len(said[TYPES])} types, {len(said[SHAPES])} shapes")
    specs = map(tf.TensorSpec, said[SHAPES], said[TYPES])
    return tf.data.experimental.from_variant(result, tuple(specs))


def _read(result: Any) -> None:
    if isinstance(result, tf.data.Dataset):
        next(iter(result.with_options(_AS_IT_IS)), None)


def _complaint(read: Callable[[], None]) -> str:
    """Return what the library says against the arguments.

    An element that is not there, such as that of a missing file, contradicts nothing.
    """
    try:
        read()
    except Exception as error:  # noqa: BLE001 - a function of the caller may raise anything
        if isinstance(error, tf.errors.OpError) and not isinstance(error, tf.errors.InvalidArgumentError):
            return ""
        text = str(error) or type(error).__name__
        return f"{_UNFIT}{text}" if any(each.search(text) for each in (_COUNT, _TYPE, _SHAPE)) else text
    return ""


def amended(call: Invocation, doubt: str) -> Invocation | None:
    """Return a call that declares the types and shapes that the text of a doubt names; None if it names none.

    A shape that does not fit becomes unknown.
    """
    said = dict(call.kwargs)
    types, shapes = said.get(TYPES), said.get(SHAPES)
    if not (doubt.startswith(_UNFIT) and isinstance(types, Seq) and isinstance(shapes, Seq) and types.items):
        return None
    dtypes, sizes = [*types.items], [*shapes.items]
    if found := _TYPE.search(doubt):
        # A message spells dtypes as C++ does: `float`, `double`.
        name = NAMES.get(tf.as_dtype(found[2]))
        if name is None:
            return None
        dtypes[int(found[1])] = Ref("dtype", name)
    elif found := _SHAPE.search(doubt):
        sizes[int(found[1])] = NONE
    count = int(found[1]) if (found := _COUNT.search(doubt)) else len(dtypes)
    said[TYPES] = Seq(types.kind, _sized(dtypes, count, dtypes[-1]))
    said[SHAPES] = Seq(shapes.kind, _sized(sizes, count, NONE))
    made = call._replace(kwargs=tuple(said.items()))
    return None if made == call else made


def _sized(items: list[Value], count: int, more: Value) -> tuple[Value, ...]:
    return tuple([*items, *[more] * count][:count])
