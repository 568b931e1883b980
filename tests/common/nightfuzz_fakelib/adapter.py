"""fakelib alive."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from fuzz_core.adapters.arrays import describe_array
from fuzz_core.adapters.base import MAX_ELEMENTS, Describe, Listed, resolve
from fuzz_core.adapters.signatures import definition
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.drawing import elements
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Ref, Tensor, Value

WAYS: dict[str, str] = {}


class Adapter:
    """One mode, no devices."""

    library = "fakelib"
    prefixes = ("fakelib",)
    ways = WAYS

    def load(self) -> ModuleType:
        """Imports fakelib."""
        self.fakelib = importlib.import_module("fakelib")
        return self.fakelib

    def listed(self) -> list[Listed]:
        """Its functions and its class."""
        found = [_listed(f"fakelib.{name}", getattr(self.fakelib, name), self.fakelib) for name in self.fakelib.__all__]
        found.append(_listed("fakelib.nn.Window", self.fakelib.nn.Window, self.fakelib.nn))
        return sorted((each for each in found if each.api.doc and callable(each.found)), key=lambda each: each.api.name)

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """Arrays."""
        return describe_array(value, "tensor") if isinstance(value, np.ndarray) else None

    def build(self, tensor: Tensor, device: str) -> Any:
        """An array."""
        if tensor.size > MAX_ELEMENTS:
            raise BuildError(f"more than {MAX_ELEMENTS} elements")
        return elements(tensor).reshape(tensor.shape)

    def ref(self, ref: Ref, device: str) -> Any:
        """A numpy dtype, or a name of fakelib."""
        if ref.kind == "dtype":
            return np.dtype(DTYPES[ref.name].storage)
        return resolve(self.fakelib, ref.name)

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """Instances are called."""
        return ("__call__",)

    def observe(self, seen: Callable[[str, dict[str, Any]], None]) -> None:
        """Nothing is hidden."""

    def prepare(self) -> None:
        """Without warnings of numpy."""
        np.seterr(all="ignore")

    def reset(self, seed: int) -> None:
        """The global stream of numpy."""
        np.random.seed(seed & 0xFFFFFFFF)

    def state(self) -> object:
        """The switch."""
        return self.fakelib.switched

    def modes(self) -> tuple[str, ...]:
        """`cpu` alone."""
        return ("cpu",)

    def enter(self, mode: str) -> str:
        """There is one device."""
        return "cpu"

    def synchronise(self, mode: str) -> None:
        """There is nothing to wait for."""

    def differences(self, reference: Any, other: Any, relation: str = "values") -> str:
        """There are no modes to differ."""
        return ""

    def error(self, reference: Any, other: Any) -> float:
        """There are no modes to differ."""
        return 0.0

    def whole(self, result: Any) -> bool:
        """Whether it has integers."""
        return isinstance(result, np.ndarray) and result.dtype.kind in "biu"

    def operators(self, seen: Callable[[str], None]) -> AbstractContextManager[object]:
        """It has none."""
        return nullcontext()

    def seed_programs(self) -> Iterable[tuple[str, str]]:
        """None."""
        return ()


def _listed(name: str, found: Any, owner: Any) -> Listed:
    text, params = definition(name, found)
    kind = "class" if isinstance(found, type) else "function"
    return Listed(Api(name, kind, params, text, found.__doc__ or ""), found, owner)
