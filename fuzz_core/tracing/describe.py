"""Descriptions of live arguments."""

from __future__ import annotations

import enum
import weakref
from itertools import chain, islice
from types import EllipsisType, FunctionType, GeneratorType
from typing import Any

import numpy as np

from fuzz_core.adapters.arrays import describe_array
from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Slice, Value, prim

MAX_ITEMS = 256
MAX_TEXT = 2000
MAX_DEPTH = 12
MAX_INTEGER = 1 << 70
_ONE_SHOT = (GeneratorType, map, zip, filter)


class Describer:
    """Describes arguments; knows which live objects were made by which traced construction."""

    def __init__(self, adapter: Adapter, listed: list[Listed]) -> None:
        self.adapter = adapter
        self.names = {id(entry.found): entry.api.name for entry in listed if entry.api.kind != "method"}
        self.made: dict[int, tuple[weakref.ref[Any], Invocation]] = {}
        self.depth = 0

    def remember(self, instance: Any, construction: Invocation) -> None:
        """Remember the construction that describes `instance`.

        Objects that allow no weak reference are left out.
        """
        key = id(instance)
        try:
            reference = weakref.ref(instance, lambda _: self.made.pop(key, None))
        except TypeError:
            return
        self.made[key] = (reference, construction)

    def construction(self, instance: Any) -> Invocation | None:
        """Return the call that made a live object, if it was traced."""
        found = self.made.get(id(instance))
        return found[1] if found is not None and found[0]() is instance else None

    def describe(self, value: Any) -> Value:
        """Return the description of a value.

        Raises:
            Undescribable: an object fits no description; the message names its type.
        """
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                raise Undescribable("nesting deeper than 12")
            return self._describe(value)
        finally:
            self.depth -= 1

    def _describe(self, value: Any) -> Value:
        kind = type(value)
        if value is None or kind in (bool, float, complex):
            return prim(value)
        if kind in (int, str, bytes):
            return _bounded(value)
        if kind is EllipsisType:
            return Prim("ellipsis", None)
        if kind in (list, set, frozenset) or isinstance(value, tuple):
            return self._sequence(value)
        if isinstance(value, dict):
            return self._mapping(value)
        if kind is slice:
            return Slice(self.describe(value.start), self.describe(value.stop), self.describe(value.step))
        return self._object(value)

    def _sequence(self, value: Any) -> Value:
        if len(value) > MAX_ITEMS:
            raise Undescribable(f"{type(value).__name__} of more than {MAX_ITEMS} items")
        kind = "list" if isinstance(value, list) else "tuple" if isinstance(value, tuple) else "set"
        return Seq(kind, tuple(self.describe(item) for item in value))

    def _mapping(self, value: dict[Any, Any]) -> Value:
        if len(value) > MAX_ITEMS or not all(type(key) is str for key in value):
            raise Undescribable("dict that is long or has keys other than strings")
        return Map(tuple((key, self.describe(item)) for key, item in value.items()))

    def _object(self, value: Any) -> Value:
        found = self._of_the_library(value)
        if found is not None:
            return found
        if isinstance(value, np.ndarray | np.generic | np.dtype):
            return _from_numpy(value)
        name = self.names.get(id(value)) or self.names.get(id(_original(value)))
        if name is not None:
            return Ref("name", name)
        return _plain(value)

    def _of_the_library(self, value: Any) -> Value | None:
        """Return the object as it is now, since a variable may have changed; else the call that made it."""
        known = self.construction(value)
        try:
            found = self.adapter.describe(value, self.describe)
        except Undescribable:
            if known is None:
                raise
            return known
        return known if found is None else found


def _original(value: Any) -> Any:
    """Return the function behind a hook: seeds pass functions of the library around as they find them, wrapped."""
    return value.__dict__.get("__wrapped__") if isinstance(value, FunctionType) else None


def _bounded(value: Any) -> Value:
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise Undescribable("integer of more than 70 bits")
    elif len(value) > MAX_TEXT:
        raise Undescribable(f"{type(value).__name__} longer than {MAX_TEXT}")
    return Prim(type(value).__name__, value)


def _plain(value: Any) -> Value:
    if isinstance(value, enum.Enum) and type(value.value) in (str, int):
        return prim(value.value)
    for base in (bool, int, float, str):
        if isinstance(value, base):
            return _bounded(base(value))
    if isinstance(value, type) and value in (bool, int, float, complex, str):
        return Ref("name", value.__name__)
    raise Undescribable(f"{type(value).__module__}.{type(value).__qualname__}")


def _from_numpy(value: Any) -> Value:
    if isinstance(value, np.dtype):
        if value.name in DTYPES:
            return Ref("dtype", value.name)
        raise Undescribable(f"numpy dtype {value.name}")
    if isinstance(value, np.generic):
        return prim(value.item())
    return describe_array(value, "ndarray")


def shown_and_passed(value: Any) -> tuple[Any, Any]:
    """Return the value to describe and the value for the library: for a one-shot iterator, a list and an iterator.

    A long or endless iterator is described as an iterator.
    """
    if type(value) not in _ONE_SHOT:
        return value, value
    first = list(islice(value, MAX_ITEMS + 1))
    passed = chain(first, value)
    return (first if len(first) <= MAX_ITEMS else passed), passed
