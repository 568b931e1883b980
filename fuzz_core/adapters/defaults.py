"""What an adapter is where nothing else is said: a library on one CPU, whose tensors are numpy's arrays or become them.

An adapter for a new library begins as a subclass and overrides what is different there.
"""

from __future__ import annotations

import importlib
import random
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from fuzz_core.adapters import listing, spelling
from fuzz_core.adapters.arrays import NUMPY_DTYPES, Arrays, describe_array
from fuzz_core.adapters.base import Describe, Examples, Listed, resolve
from fuzz_core.adapters.compare import TOLERANCES, Comparer
from fuzz_core.adapters.dialect import NEVER, Eager, ModeSpec
from fuzz_core.adapters.models import Models
from fuzz_core.ir.dtypes import DTYPES, Tolerance
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Ref, Tensor, Value

OUT_OF_MEMORY = (
    r"MemoryError|std::bad_alloc|[Cc]annot allocate memory|can't allocate memory|Unable to allocate|failed to alloc"
    r"|[Oo]ut of memory"
)
INTERNAL = (
    r"INTERNAL ASSERT FAILED|SystemError: |UnboundLocalError: |report (?:a|this) bug|bug,? please report|Check failed"
    r"|[Tt]his should never (?:happen|be)|[Uu]nknown (?:C\+\+ )?exception"
    r"|(?:RuntimeError|ValueError|IndexError|OverflowError): [^\n]*\bstd::(?!numeric_limits)"
    r"|vector::_M_|basic_string::|basic_string_view::|bad[ _]optional[ _]access|bad[ _]variant[ _]access"
    r"|\b(?:unordered_)?map::at|_Map_base::at"
)


class DefaultAdapter:
    """An `Adapter`; a subclass says `library`, what its modules are, and how its tensors become arrays and back.

    library: the name that is imported, and that public names begin with. modules: where public apis stand, by default
    the library's root. homes: first parts of the modules that define them. dtypes: the library's own, by name.
    """

    library: str
    modules: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    ways: Mapping[str, ModeSpec] = {}
    dtypes: Mapping[str, Any] = NUMPY_DTYPES
    tolerances: Mapping[str, Tolerance] = TOLERANCES

    def __init_subclass__(cls) -> None:
        """Fills in what follows from the library's name."""
        cls.prefixes = cls.prefixes or (cls.library,)
        cls.modules = cls.modules or (cls.library,)

    @cached_property
    def arrays(self) -> Arrays:
        """Makes the arrays that become tensors."""
        return Arrays({name: np.dtype(DTYPES[name].storage) for name in self.dtypes})

    @cached_property
    def comparer(self) -> Comparer:
        """Compares results."""
        return Comparer(self.array, self.tolerances)

    def array(self, value: Any) -> Any:
        """A tensor of the library's own type as a numpy array; None for any other value."""
        return value if isinstance(value, np.ndarray) else None

    def tensor(self, array: Any, tensor: Tensor, device: str) -> Any:
        """A tensor of the library's own type, as described, with the elements of an array that it may keep."""
        return array

    def load(self) -> ModuleType:
        """Imports the library."""
        self.root = importlib.import_module(self.library)
        return self.root

    def listed(self) -> list[Listed]:
        """Functions and classes of the modules."""
        return listing.folded(listing.members(self.modules, self.prefixes))

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """A tensor by its array."""
        array = self.array(value)
        return None if array is None else describe_array(array, "tensor")

    def build(self, tensor: Tensor, device: str) -> Any:
        """A tensor of its array; strides are ignored."""
        array = self.arrays.of(tensor)
        return array if tensor.container == "ndarray" else self.tensor(array, tensor, device)

    def ref(self, ref: Ref, device: str) -> Any:
        """A dtype by the table, a device as a string, anything else by its public name."""
        if ref.kind == "device":
            return device if ref.name == "cpu" else ref.name
        if ref.kind != "dtype":
            return resolve(self.root, ref.name)
        if ref.name not in self.dtypes:
            raise BuildError(f"no dtype {ref.name} in this target")
        return self.dtypes[ref.name]

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """An instance is called, where it can be."""
        return ("__call__",) if any("__call__" in vars(base) for base in cls.__mro__) else ()

    def observe(self, seen: Callable[[str, dict[str, Any]], None]) -> None:
        """Nothing: every public function can be wrapped."""

    def prepare(self) -> None:
        """No warnings: their text would cost more than most tests."""
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")

    def reset(self, seed: int) -> None:
        """The global streams of Python and of numpy."""
        random.seed(seed)
        np.random.seed(seed & 0xFFFFFFFF)

    def state(self) -> object:
        """What numpy does about floating-point errors."""
        return np.geterr()

    def modes(self) -> tuple[str, ...]:
        """`cpu` alone."""
        return ("cpu",)

    def enter(self, mode: str) -> str:
        """There is one device."""
        return mode

    def finish(self, result: Any) -> None:
        """Results are there when a call returns."""

    def synchronise(self, mode: str) -> None:
        """There is no device to wait for."""

    def differences(self, reference: Any, other: Any, relation: str = "values") -> str:
        """See `Comparer`."""
        return self.comparer.differences(reference, other, relation)

    def error(self, reference: Any, other: Any) -> float:
        """See `Comparer`."""
        return self.comparer.error(reference, other)

    def whole(self, result: Any) -> bool:
        """See `Comparer`."""
        return self.comparer.whole(result)

    def operators(self, seen: Callable[[str], None]) -> AbstractContextManager[object]:
        """Nothing is told."""
        return nullcontext()

    def seed_programs(self) -> Iterable[tuple[str, str]]:
        """None."""
        return ()

    def models(self) -> Models:
        """Nothing special."""
        return Models()

    def examples(self) -> Examples:
        """Nothing that the library must have."""
        return Examples()


class DefaultDialect(Eager):
    """A `Dialect`; a subclass says `library`, and how a tensor is made of a numpy expression."""

    library: str
    distributions: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    strided = False
    out_of_memory = re.compile(OUT_OF_MEMORY)
    internal_error = re.compile(rf"(?s)^(?!.*(?:{OUT_OF_MEMORY})).*(?:{INTERNAL})")
    native_modules: re.Pattern[str]
    poisons = NEVER

    def __init_subclass__(cls) -> None:
        """Fills in what follows from the library's name."""
        cls.distributions = cls.distributions or (cls.library,)
        cls.imports = cls.imports or (f"import {cls.library}", "import numpy as np")
        if not hasattr(cls, "native_modules"):
            cls.native_modules = re.compile(rf"/{re.escape(cls.library)}/(?:[^/]+/)*[^/]+\.so")

    def tensor(self, tensor: Tensor) -> str:
        """`np.zeros((2, 3))`."""
        if tensor.container != "ndarray" and tensor.dtype not in NUMPY_DTYPES:
            raise BuildError(f"no dtype {tensor.dtype} in {self.library}")
        return spelling.numpy_array(tensor)

    def ref(self, ref: Ref) -> str:
        """`np.float32`, a device as a string, or the name as it is."""
        if ref.kind == "dtype":
            return "bool" if ref.name == "bool" else f"np.{DTYPES[ref.name].storage}"
        return repr(ref.name) if ref.kind == "device" else ref.name

    def seed(self, seed: int) -> str:
        """`np.random.seed(0)`."""
        return f"np.random.seed({seed & 0xFFFFFFFF})"
