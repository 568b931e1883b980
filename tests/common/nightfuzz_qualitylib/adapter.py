"""qualitylib alive."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from fuzz_core.adapters import base
from fuzz_core.adapters.arrays import describe_array
from fuzz_core.adapters.base import Describe, Seen, resolve
from fuzz_core.adapters.inventory import Listed, entry
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import elements
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Ref, Tensor, Value
from nightfuzz_qualitylib import comparison
from nightfuzz_qualitylib.dialect import MODES

# Few: numpy is slow in half precision.
MAX_ELEMENTS = 1 << 13


class Adapter(base.Adapter):
    """A CPU, what pretends to be a GPU, and a way to call a function for each kernel that it may have."""

    library = "qualitylib"
    prefixes = ("qualitylib",)
    ways = MODES

    def load(self) -> ModuleType:
        """Imports qualitylib."""
        self.root = importlib.import_module("qualitylib")
        return self.root

    def listed(self) -> list[Listed]:
        """Its functions and its class."""
        found = [_listed(f"qualitylib.{name}", getattr(self.root, name), self.root) for name in self.root.APIS]
        return sorted(found, key=lambda each: each.api.name)

    def definitions(self, listed: list[Listed]) -> Iterable[Constraint]:
        """None."""
        return ()

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """Arrays."""
        return describe_array(value.data, "tensor") if isinstance(value, self.root.Array) else None

    def array(self, value: Any) -> Any:
        """The data of an array."""
        return value.data if isinstance(value, self.root.Array) else super().array(value)

    def build(self, tensor: Tensor, device: str) -> Any:
        """An array."""
        if tensor.size > MAX_ELEMENTS and tensor.dtype != "uint8":
            raise BuildError(f"more than {MAX_ELEMENTS} elements")
        if tensor.dtype not in comparison.DTYPES:
            raise BuildError(f"no {tensor.dtype} in this target")
        return self.root.Array(elements(tensor).reshape(tensor.shape), device)

    def ref(self, ref: Ref, device: str) -> Any:
        """A numpy dtype, or a name of qualitylib."""
        if ref.kind == "dtype":
            return np.dtype(DTYPES[ref.name].storage)
        return resolve(self.root, ref.name)

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """Instances are called."""
        return ("__call__",)

    def observe(self, seen: Seen) -> None:
        """Installs no hook: the library hides no call."""

    def prepare(self) -> None:
        """Without warnings of numpy."""
        np.seterr(all="ignore")

    def reset(self, seed: int) -> None:
        """The global stream of numpy."""
        np.random.seed(seed & 0xFFFFFFFF)

    def state(self) -> object:
        """The settings."""
        return tuple(self.root.settings.items())

    def device_modes(self) -> tuple[str, ...]:
        """Two devices."""
        return ("cpu", "cuda")

    def enter(self, mode: str) -> str:
        """Devices are known by the arrays on them."""
        return mode

    def finish(self, result: Any) -> None:
        """Results are there when a call returns."""

    def synchronise(self, mode: str) -> None:
        """There is nothing to wait for."""

    def differences(self, reference: Any, other: Any, relation: str = "values") -> str:
        """See `nightfuzz_qualitylib.comparison`."""
        return comparison.differences(reference, other, relation)

    def error(self, reference: Any, other: Any) -> float:
        """See `nightfuzz_qualitylib.comparison`."""
        return comparison.error(reference, other)

    def has_whole_numbers(self, result: Any) -> bool:
        """Returns whether a result has integers."""
        return any(part.dtype.kind in "biu" for part in comparison.parts(result))

    def operators(self, seen: Callable[[str], None]) -> AbstractContextManager[object]:
        """It has none."""
        return nullcontext()

    def seed_programs(self) -> Iterable[tuple[str, str]]:
        """None."""
        return ()


def _listed(name: str, found: Any, owner: Any) -> Listed:
    return entry([name], found, owner)
