"""The living half of a library's adapter: runs in the target's environment, next to the imported library."""

from __future__ import annotations

import importlib
import random
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from fuzz_core.adapters import inventory
from fuzz_core.adapters.arrays import NUMPY_DTYPES, Arrays, describe_array
from fuzz_core.adapters.compare import TOLERANCES, Comparer
from fuzz_core.adapters.dialect import ModeSpec, load_half
from fuzz_core.adapters.inventory import Listed
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.adapters.models import Models
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES, Tolerance
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Ref, Tensor, Value

# GPU memory in bytes that one process may use of each GPU. Any test below the element cap fits, and several workers can
# share the GPU.
GPU_MEMORY_BYTES = 4 << 30

Describe = Callable[[Any], Value]


class Examples(NamedTuple):
    """Inputs that generic tests try on a library, so that a new library is tested from its first day."""

    calls: tuple[Invocation, ...] = ()  # invocations that succeed; each extra mode applies to at least one of them
    random: str = ""  # an expression that draws numbers
    # An expression that changes a global setting of the library. `random` and `switch` use the dialect's imports, and
    # are empty if the library has no such feature.
    switch: str = ""
    least_rank: int = 0  # the smallest number of dimensions that a tensor can have


class Adapter:
    """Interface between the engine and a library, with defaults. It is created without importing the library.

    The defaults fit a library on one CPU, whose tensors are numpy arrays or become numpy arrays. A subclass states
    `library`, its modules, and how its tensors become arrays and back; it overrides the defaults that do not fit.
    """

    library: str  # the name that is imported, and that public names begin with
    modules: tuple[str, ...] = ()  # the modules with public apis, by default the library's root
    prefixes: tuple[str, ...] = ()  # first parts of the modules that define the apis
    ways: Mapping[str, ModeSpec] = {}  # modes beyond the devices, by name
    dtypes: Mapping[str, Any] = NUMPY_DTYPES  # the library's own, by name
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
        """Returns a tensor of the library's own type as a numpy array; None for any other value."""
        return value if isinstance(value, np.ndarray) else None

    def tensor(self, array: Any, tensor: Tensor, device: str) -> Any:
        """Returns a tensor of the library's own type, as described, with the elements of an array that it may keep."""
        return array

    def load(self) -> ModuleType:
        """Imports the library, starting no threads, device or eager context, and returns its root module."""
        self.root = importlib.import_module(self.library)
        return self.root

    def listed(self) -> list[Listed]:
        """Returns every public api, aliases folded, in the order of names: functions and classes of the modules."""
        apis = inventory.members(inventory.imported(self.modules), lambda found: inventory.is_api(found, self.prefixes))
        return inventory.folded(apis)

    def definitions(self, listed: Iterable[Listed]) -> Iterable[Constraint]:
        """Returns the constraints that the library declares of its apis as data."""
        return ()

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """Returns a value of the library's own types (tensor, dtype, device, enum); None for foreign ones.

        Raises Undescribable. `describe` describes parts (the indices of a sparse tensor).
        """
        array = self.array(value)
        return None if array is None else describe_array(array, "tensor")

    def build(self, tensor: Tensor, device: str) -> Any:
        """Returns a live tensor. Raises BuildError above MAX_ELEMENTS or for a missing dtype. Strides are ignored."""
        array = self.arrays.of(tensor)
        return array if tensor.container == "ndarray" else self.tensor(array, tensor, device)

    def refusal(self, value: Any) -> str:
        """Returns why the library's own checker of invariants refuses a value that a call has made.

        The text is empty if the checker accepts it, or the library has no checker for such a value.
        """
        return ""

    def ref(self, ref: Ref, device: str) -> Any:
        """Returns the object behind a dtype or name, a device as a string. Raises BuildError for an unknown one."""
        if ref.kind == "device":
            return device if ref.name == "cpu" else ref.name
        if ref.kind != "dtype":
            return resolve(self.root, ref.name)
        if ref.name not in self.dtypes:
            raise BuildError(f"no dtype {ref.name} in this target")
        return self.dtypes[ref.name]

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """Returns the methods of an api class that are recorded as uses of an instance; here, to call it."""
        return ("__call__",) if any("__call__" in vars(base) for base in cls.__mro__) else ()

    def functions(self, cls: type) -> tuple[str, ...]:
        """Returns public methods, and `__call__`, that a class and its bases in the library have as functions."""
        own = (base for base in reversed(cls.__mro__) if base.__module__.split(".")[0] in self.prefixes)
        found = {name: method for base in own for name, method in vars(base).items()}
        plain = (name for name, method in found.items() if isinstance(method, FunctionType))
        return tuple(sorted(name for name in plain if name == "__call__" or not name.startswith("_")))

    def observe(self, seen: Callable[[str, dict[str, Any]], None]) -> None:
        """Installs hooks for api calls that wrapping cannot see: `seen(api, keyword arguments)` is called after a
        success.
        """

    def prepare(self) -> None:
        """Prepares each forked process before its first test: one thread, no warnings, a bound on GPU memory.

        The text of warnings would cost more than most tests.
        """
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")

    def reset(self, seed: int) -> None:
        """Seeds the random streams before each test, here those of Python and of numpy."""
        random.seed(seed)
        np.random.seed(seed & 0xFFFFFFFF)

    def state(self) -> object:
        """Returns the library's global switches, cheap to read: a test that leaves them changed ends its process."""
        return np.geterr()

    def modes(self) -> tuple[str, ...]:
        """Returns the devices this machine offers; `cpu` comes first."""
        return ("cpu",)

    def enter(self, mode: str) -> str:
        """Switches the library to a device's mode and returns the device name to build arguments on."""
        return mode

    def finish(self, result: Any) -> None:
        """Has what a call has only promised computed, so that errors and costs belong to it. Raises what it raises."""

    def synchronise(self, mode: str) -> None:
        """Waits for a device's work, so that an error belongs to its call."""

    def differences(self, reference: Any, other: Any, relation: str = "values") -> str:
        """Returns how two results differ; empty if they agree.

        Args:
            relation: see `ModeSpec`.
        """
        return self.comparer.differences(reference, other, relation)

    def error(self, reference: Any, other: Any) -> float:
        """Returns the largest error of a result, by a reference of higher precision, in units of the default tolerance.

        The error is infinite if shapes, integers, or the places of NaN and infinity differ.
        """
        return self.comparer.error(reference, other)

    def whole(self, result: Any) -> bool:
        """Returns whether a result has integers or booleans in it."""
        return self.comparer.whole(result)

    def operators(self, seen: Callable[[str], None]) -> AbstractContextManager[object]:
        """Returns a context in which `seen` gets `name dtype` of every operator that the library executes."""
        return nullcontext()

    def seed_programs(self) -> Iterable[tuple[str, str]]:
        """Returns (name, code) of seeds from the library's own test databases in the wheel, if it has any."""
        return ()

    def models(self) -> Models:
        """Returns the hooks for model programs. The method is called only in processes that run model programs."""
        return Models()

    def examples(self) -> Examples:
        """Returns the inputs that generic tests try on this library."""
        return Examples()


ADAPTERS: dict[str, str] = {each.name: each.adapter for each in KNOWN_LIBRARIES.values()}


def adapter_of(library: str) -> Adapter:
    """Returns the adapter of a library by name, not yet loaded. Raises UserError for an unknown one."""
    made: Adapter = load_half(ADAPTERS, library, "Adapter")()
    return made


def resolve(root: Any, dotted: str) -> Any:
    """Returns the object of a dotted name below the library's own. Raises BuildError if a part is missing."""
    found = root
    for part in dotted.split(".")[1:]:
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise BuildError(f"no {dotted} in this target") from error
    return found
