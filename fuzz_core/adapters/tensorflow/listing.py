"""The public apis of TensorFlow: what its own namespace exports, Keras and raw_ops with it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import tensorflow as tf
from tensorflow.python.util import tf_export

from fuzz_core.adapters.base import Listed, shortest
from fuzz_core.adapters.listing import Named, folded, public

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
_MESSAGE = "DESCRIPTOR"
"""What classes of protocol buffer messages have, and no others."""


def listed() -> list[Listed]:
    """Functions and classes of every public module, one entry per object, in the order of canonical names."""
    return folded(_named(), _canonical_first)


def _named() -> Iterator[Named]:
    for prefix, module in _modules("tf", tf, ()):
        for name in public(module):
            found = getattr(module, name, None)
            if _is_api(found):
                yield f"{prefix}.{name}", found, module


def _modules(prefix: str, module: ModuleType, above: tuple[int, ...]) -> Iterator[tuple[str, ModuleType]]:
    yield prefix, module
    for name in public(module):
        path = f"{prefix}.{name}"
        if path in NO_COMPUTATION:
            continue
        child = getattr(module, name, None)
        if isinstance(child, ModuleType) and id(child) not in above and child.__name__.split(".")[0] in _HOMES:
            yield from _modules(path, child, (*above, id(module)))


def _is_api(found: Any) -> bool:
    if isinstance(found, type):
        unusable = issubclass(found, BaseException | enum.Enum) or hasattr(found, _MESSAGE)
    else:
        unusable = not isinstance(found, FunctionType | BuiltinFunctionType)
    home = getattr(found, "__module__", None)
    return not unusable and isinstance(home, str) and home.split(".")[0] in _HOMES


def _canonical_first(found: Any, names: list[str]) -> list[str]:
    """The name that the library itself calls canonical, else the shortest; `tf.losses.X` is Keras's own `X` too."""
    ordered = shortest(names)
    keras = [name for name in ordered if name.startswith("tf.keras.")]
    exported = f"tf.{tf_export.get_canonical_name_for_symbol(found)}"
    first = exported if exported in ordered else (keras or ordered)[0]
    return [first, *(name for name in ordered if name != first)]
