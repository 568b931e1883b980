"""The living half of a library's adapter: runs in the target's environment, next to the imported library."""

from __future__ import annotations

import importlib
import random
import re
import struct
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from fuzz_core.adapters import inventory
from fuzz_core.adapters.arrays import NUMPY_DTYPES, Arrays, describe_array
from fuzz_core.adapters.compare import TOLERANCES, Comparer
from fuzz_core.adapters.definitions import needs_arguments
from fuzz_core.adapters.dialect import ModeSpec, load_half
from fuzz_core.adapters.inventory import Listed
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.adapters.models import Models
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES, Tolerance
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.signatures import OBJECT, ApiSignature, Product
from fuzz_core.ir.values import Invocation, Ref, Tensor, TestCase, Value

# GPU memory in bytes that one process may use of each GPU. Any test below the element cap fits, and several workers can
# share the GPU.
GPU_MEMORY_BYTES = 4 << 30

# Python's words about a missing package, and those of libraries that import it where it is needed.
_NO_MODULE = re.compile(
    r"No module named '([\w.]+)'|ImportError: .*?(?:requires (?:the )?|must install )[`']?(\w+)", re.DOTALL
)
_ABSTRACT = re.compile(r"[Aa]bstract (?:base )?class|(?:sub)?class(?:es)? must implement|\bmust override\b")
# Operands whose result depends on a mode of the processor. They are variables, so that Python computes anew.
_DENORMAL, _ONE, _HALF_STEP = 5e-324, 1.0, 2.0**-53
Describe = Callable[[Any], Value]
# Takes the name of an api that was called, its keyword arguments, and what it returned.
# Returns whether the call fits a description.
Seen = Callable[[str, dict[str, Any], Sequence[Any]], bool]
# The dtype of a tensor, the api that converts the tensor, and the arguments behind the tensor.
Conversion = tuple[str, str, tuple[Value, ...]]


class Examples(NamedTuple):
    """Inputs that generic tests try on a library, so that a new library is tested from its first day."""

    calls: tuple[Invocation, ...] = ()  # invocations that succeed; each extra mode applies to at least one of them
    random: str = ""  # an expression that draws numbers
    # An expression that changes a global setting of the library. `random` and `switch` use the dialect's imports, and
    # are empty if the library has no such feature.
    switch: str = ""
    least_rank: int = 0  # the smallest number of dimensions that a tensor can have


def arithmetic() -> bytes:
    """Return what the processor makes of a denormal number and of a sum between two floats.

    A library may switch to zeros for denormals, or to another rounding, for the whole process. Numbers that have been
    made in such a mode compare as equal, so that their bits are returned.
    """
    return struct.pack("3d", _DENORMAL * _ONE, _ONE + _HALF_STEP, -_ONE - _HALF_STEP)


class Adapter:
    """Interface between the engine and a library, with defaults.

    It is created without importing the library.

    The defaults fit a library on one CPU, whose tensors are numpy arrays or become numpy arrays. A subclass states
    `library`, its modules, and how its tensors become arrays and back; it overrides the defaults that do not fit.
    """

    library: str  # the name that is imported, and that public names begin with
    modules: tuple[str, ...] = ()  # the modules with public apis, by default the library's root
    prefixes: tuple[str, ...] = ()  # first parts of the modules that define the apis
    ways: Mapping[str, ModeSpec] = {}  # modes beyond the devices, by name
    dtypes: Mapping[str, Any] = NUMPY_DTYPES  # the library's own, by name
    tolerances: Mapping[str, Tolerance] = TOLERANCES
    previews = False  # whether `preview` knows more than to accept every call

    def __init_subclass__(cls) -> None:
        """Fill in what follows from the library's name."""
        cls.prefixes = cls.prefixes or (cls.library,)
        cls.modules = cls.modules or (cls.library,)

    @cached_property
    def arrays(self) -> Arrays:
        """Make the arrays that become tensors."""
        return Arrays({name: np.dtype(DTYPES[name].storage) for name in self.dtypes})

    @cached_property
    def comparer(self) -> Comparer:
        """Compare results."""
        return Comparer(self.array, self.tolerances)

    def array(self, value: Any) -> Any:
        """Return a tensor of the library's own type as a numpy array; None for any other value."""
        return value if isinstance(value, np.ndarray) else None

    def tensor(self, array: Any, tensor: Tensor, device: str) -> Any:
        """Return a tensor of the library's own type, as described, with the elements of an array that it may keep."""
        return array

    def load(self) -> ModuleType:
        """Import the library, starting no threads, device or eager context, and return its root module."""
        self.root = importlib.import_module(self.library)
        return self.root

    def listed(self) -> list[Listed]:
        """Return every public api, aliases folded, in the order of names: functions and classes of the modules."""
        apis = inventory.members(inventory.imported(self.modules), lambda found: inventory.is_api(found, self.prefixes))
        return inventory.folded(apis)

    def definitions(self, listed: Iterable[Listed]) -> Iterable[Constraint]:
        """Return the constraints that the library declares of its apis as data."""
        return ()

    def signatures(self, entry: Listed) -> list[ApiSignature]:
        """Return the forms of a call of an api, as its definition has them; an empty list if it has no definition."""
        return []

    def makes(self, entry: Listed) -> Iterable[Product]:
        """Return the objects that calls of an api make for others."""
        return [Product(OBJECT)] if isinstance(entry.found, type) else []

    def objects(self) -> Mapping[str, Sequence[Invocation]]:
        """Return calls that make objects, and that no record needs to have.

        The key is a kind, see `makes`, or a word that the names of the arguments have.
        """
        return {}

    def casts(self) -> Mapping[str, Conversion]:
        """Return, by its name, how a tensor is made whose dtype or layout has no description of its own."""
        return {}

    def preview(self, api: str, function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """Ask the library about a call without executing it.

        Args:
            api: public name of the api.
            function: what the call calls.
            args: its live positional arguments.
            keywords: its live keyword arguments.

        Raises:
            Exception: the library refuses the call.
        """

    def missing_requirement(self, message: str) -> str:
        """Return what an api needs that this machine or build lacks, if a refusal says so; else an empty text.

        Here, a missing Python package, or a subclass of an abstract class.
        """
        package = _NO_MODULE.search(message)
        if package:
            return f"needs the package {package[1] or package[2]}"
        return "is an abstract class: only its subclasses can be used" if _ABSTRACT.search(message) else ""

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """Return a value of the library's own types (tensor, dtype, device, enum); None for foreign ones.

        `describe` describes parts (the indices of a sparse tensor).

        Raises:
            Undescribable: the object fits no description.
        """
        array = self.array(value)
        return None if array is None else describe_array(array, "tensor")

    def build(self, tensor: Tensor, device: str) -> Any:
        """Return a live tensor.

        Strides are ignored.

        Raises:
            BuildError: more than MAX_ELEMENTS elements, or a dtype that the library lacks.
        """
        array = self.arrays.of(tensor)
        return array if tensor.container == "ndarray" else self.tensor(array, tensor, device)

    def refusal(self, value: Any) -> str:
        """Return why the library's own checker of invariants refuses a value that a call has made.

        The text is empty if the checker accepts it, or the library has no checker for such a value.
        """
        return ""

    def ref(self, ref: Ref, device: str) -> Any:
        """Return the object behind a dtype or name, a device as a string.

        Raises:
            BuildError: the name is unknown.
        """
        if ref.kind == "device":
            return device if ref.name == "cpu" else ref.name
        if ref.kind != "dtype":
            return resolve(self.root, ref.name)
        if ref.name not in self.dtypes:
            raise BuildError(f"no dtype {ref.name} in this target")
        return self.dtypes[ref.name]

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """Return the methods of an api class that are recorded as uses of an instance; here, to call it."""
        return ("__call__",) if any("__call__" in vars(base) for base in cls.__mro__) else ()

    def searched_methods(self, found: Any) -> tuple[str, ...]:
        """Return the methods that a search calls on an instance: the first, and the first that needs no argument.

        An instance that can be called itself gets no second method. An empty text stands for no method.
        """
        names = self.then_methods(found) if isinstance(found, type) else ()
        further = () if names[:1] == ("__call__",) else names
        free = (name for name in further if not needs_arguments(getattr(found, name)))
        return tuple(dict.fromkeys((*names[:1], *islice(free, 1)))) or ("",)

    def functions(self, cls: type) -> tuple[str, ...]:
        """Return public methods, and `__call__`, that a class and its bases in the library have as functions."""
        own = (base for base in reversed(cls.__mro__) if base.__module__.split(".")[0] in self.prefixes)
        found = {name: method for base in own for name, method in vars(base).items()}
        plain = (name for name, method in found.items() if isinstance(method, FunctionType))
        return tuple(sorted(name for name in plain if name == "__call__" or not name.startswith("_")))

    def observe(self, seen: Seen) -> None:
        """Install hooks for api calls that wrapping cannot see; `seen` is called after each success."""

    def constructions(self, call: Invocation, args: Mapping[str, Any], result: Any) -> Iterable[tuple[Any, Invocation]]:
        """Return live objects that a call has made or filled, each with the call that makes such an object.

        Args:
            args: the live keyword arguments.
            result: the instance that a class has made, or what an observed api has returned.
        """
        return ()

    def neighbours(self) -> Sequence[Callable[[TestCase], object]]:
        """Return ways to execute a call that make the library call further apis inside."""
        return ()

    def prepare(self) -> None:
        """Prepare each forked process before its first test: one thread, no warnings, a bound on GPU memory.

        The text of warnings would cost more than most tests.
        """
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")

    def reset(self, seed: int) -> None:
        """Seed the random streams before each test, here those of Python and of numpy."""
        random.seed(seed)
        np.random.seed(seed & 0xFFFFFFFF)

    def drawn(self) -> object:
        """Return the state of the random streams, which is another one once a number is drawn."""
        _, keys, place, *_ = np.random.get_state(legacy=True)
        return random.getstate(), np.asarray(keys).tobytes(), place

    def state(self) -> object:
        """Return the library's global switches, cheap to read: a test that leaves them changed ends its process."""
        return np.geterr()

    def process_state(self) -> object:
        """Return the library's global switches, and how the process computes with floats."""
        return arithmetic(), self.state()

    def has_changed(self, before: object) -> bool:
        """Return whether the process is in another state than before, see `process_state`.

        A test may set a switch to a value that cannot be compared, such as an array. Then it is another one.
        """
        now = self.process_state()
        try:
            return bool(now != before)
        except Exception:  # noqa: BLE001 - the value comes from a test, and may raise anything
            return True

    def device_modes(self) -> tuple[str, ...]:
        """Return the devices this machine offers; `cpu` comes first."""
        return ("cpu",)

    def enter(self, mode: str) -> str:
        """Switch the library to a device's mode and return the device name to build arguments on."""
        return mode

    def finish(self, result: Any) -> None:
        """Have what a call has only promised computed, so that errors and costs belong to it.

        Raises:
            Exception: whatever the library's own code raises.
        """

    def doubt(self, result: Any, named: Callable[[], Mapping[str, Any]]) -> str:
        """Return why a result that is computed later, such as a dataset, contradicts its call; empty if it does not.

        Args:
            named: returns the live keyword arguments of the call.
        """
        return ""

    def amended(self, call: Invocation, doubt: str) -> Invocation | None:
        """Return the call with arguments that fit its result; None if the text of `doubt` names no such arguments."""
        return None

    def move(self, live: Any, device: str) -> Any:
        """Return an object that a call has made, on a device; as it is where the library made it on that device."""
        return live

    def synchronise(self, mode: str) -> None:
        """Wait for a device's work, so that an error belongs to its call."""

    def differences(self, reference: Any, other: Any, relation: str = "values") -> str:
        """Return how two results differ; empty if they agree.

        Args:
            relation: see `ModeSpec`.
        """
        return self.comparer.differences(reference, other, relation)

    def error(self, reference: Any, other: Any) -> float:
        """Return the largest error of a result, by a reference of higher precision, in units of the default tolerance.

        The error is infinite if shapes, integers, or the places of NaN and infinity differ.
        """
        return self.comparer.error(reference, other)

    def has_whole_numbers(self, result: Any) -> bool:
        """Return whether a result has integers or booleans in it."""
        return self.comparer.has_whole_numbers(result)

    def single(self, result: Any) -> bool:
        """Return whether all of a result are real or complex numbers of single precision or less."""
        return self.comparer.single(result)

    def operators(self, seen: Callable[[str], None]) -> AbstractContextManager[object]:
        """Return a context in which `seen` gets `name dtype` of every operator that the library executes."""
        return nullcontext()

    def seed_programs(self) -> Iterable[tuple[str, str]]:
        """Return (name, code) of seeds from the library's own test databases in the wheel, if it has any."""
        return ()

    def models(self) -> Models:
        """Return the hooks for model programs.

        The method is called only in processes that run model programs.
        """
        return Models()

    def examples(self) -> Examples:
        """Return the inputs that generic tests try on this library."""
        return Examples()


ADAPTERS: dict[str, str] = {each.name: each.adapter for each in KNOWN_LIBRARIES.values()}


def adapter_of(library: str) -> Adapter:
    """Return the adapter of a library by name, not yet loaded.

    Raises:
        UserError: the library is unknown.
    """
    made: Adapter = load_half(ADAPTERS, library, "Adapter")()
    return made


def resolve(root: Any, dotted: str) -> Any:
    """Return the object of a dotted name below the library's own.

    Raises:
        BuildError: a part is missing.
    """
    found = root
    for part in dotted.split(".")[1:]:
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise BuildError(f"no {dotted} in this target") from error
    return found
