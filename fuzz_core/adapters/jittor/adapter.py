"""The living half of Jittor's adapter: which apis are public, Vars there and back, what model programs need."""

from __future__ import annotations

import atexit
import functools
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import attrgetter
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from fuzz_core.adapters.arrays import NUMPY_DTYPES
from fuzz_core.adapters.base import Adapter, Describe, Examples, Seen
from fuzz_core.adapters.definitions import declared_signatures, python_signatures
from fuzz_core.adapters.inventory import Listed, folded, is_api, members, methods, within
from fuzz_core.adapters.jittor.compiler import hasten, settle
from fuzz_core.adapters.jittor.dialect import MODES
from fuzz_core.adapters.models import Models, replaced
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.signatures import ApiSignature
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, Then, Value, prim

# The mark of a Var without elements in Jittor's text for debugging.
PENDING = ":s0:"
# Flags that Jittor itself writes while it works, and flags that only set how much it logs.
_NO_SETTINGS = ("_", "stat_", "log_", "exec_called", "trace_", "profile")

NO_COMPUTATION = (
    "jittor.compile_extern",
    "jittor.compiler",
    "jittor.dataset",
    "jittor.demo",
    "jittor.extern",
    "jittor.init_cupy",
    "jittor.notebook",
    "jittor.pyjt_compiler",
    "jittor.script",
    "jittor.test",
    "jittor.utils",
)
"""Modules left out: they compile, lock, read and write files, download or drive devices, so that a call of theirs is no
test of a computation."""

# Apis that run the caller's source code: their behaviour is no fault of the library's.
_SOURCE = ("code", "numpy_code")
_LEFT_OUT = tuple(f"{module}." for module in NO_COMPUTATION)
_OPERATORS = "jittor_core.ops"


def _end_compilers() -> None:
    """End the processes that have compiled the core of Jittor: a fork would wait for these idle processes for ever."""
    tools: Any = importlib.import_module("jittor_utils")
    if tools.pool_size:
        atexit.unregister(tools.pool_cleanup)
        tools.pool_cleanup()
        tools.pool_size = 0


class JittorAdapter(Adapter):
    """Jittor on the CPU and, if it was made with CUDA, on a device.

    Jittor compiles an operator at its first execution, and executes it when a result is read. `finish` reads the
    result, so that errors and costs belong to their call. There are no Vars without dimensions: shape () becomes (1,).
    """

    library = "jittor"
    prefixes = ("jittor", "jittor_core")
    ways = MODES
    # Names are what it takes for dtypes.
    dtypes: Mapping[str, Any] = {name: name for name, dtype in NUMPY_DTYPES.items() if dtype.kind not in "cO"}

    def load(self) -> ModuleType:
        """Import jittor, which compiles its core if no cache holds it."""
        self.root = importlib.import_module("jittor")
        self.core = self.root.jittor_core
        _end_compilers()
        # One compiler at a time: all further cores run workers. The setting is not in `prepare`, because seeds are
        # executed too.
        self.root.flags.use_parallel_op_compiler = 0
        hasten(self.root)
        flags = [name for name in dir(self.root.flags) if not name.startswith(_NO_SETTINGS)]
        self.settings: Callable[[Any], Any] = attrgetter(*flags)
        return self.root

    def array(self, value: Any) -> Any:
        """Return the elements of a Var, computed for it.

        Raises:
            RuntimeError: the elements cannot be computed.
        """
        if not isinstance(value, self.root.Var):
            return super().array(value)
        return value.numpy()

    def tensor(self, array: Any, tensor: Tensor, device: str) -> Any:
        """Return a Var of a copy of the elements."""
        return self.root.array(array, tensor.dtype)

    def listed(self) -> list[Listed]:
        """Return every public api of the modules that compute."""
        jittor: Any = self.root
        free = folded(members(within("jittor", jittor, _is_reached), _computes))
        found = free + methods(jittor.Var, "jittor.Var")
        return sorted(
            (each for each in found if each.api.name.split(".")[-1] not in _SOURCE), key=lambda each: each.api.name
        )

    def signatures(self, entry: Listed) -> list[ApiSignature]:
        """Return the signatures that the docstring of an operator declares, else Python's."""
        declared = declared_signatures(entry.api.name, entry.api.doc)
        methods = self.searched_methods(entry.found)
        return declared or [each for method in methods for each in python_signatures(entry, method)]

    def missing_requirement(self, message: str) -> str:
        """Return what the machine lacks, if the refusal names a device or a package."""
        device = re.search(r"(?i)\bcuda\b|cudnn|cublas|cufft", message)
        return "needs a CUDA device" if device else super().missing_requirement(message)

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """Describe Vars, dtypes and shapes."""
        if isinstance(value, self.core.NanoString):
            return Ref("dtype", str(value)) if str(value) in self.dtypes else prim(str(value))
        if isinstance(value, self.core.NanoVector):
            return Seq("tuple", tuple(Prim("int", int(n)) for n in value))
        if not isinstance(value, self.root.Var):
            return None
        try:
            return self._pending(value) or super().describe(value, describe)
        except RuntimeError as error:
            raise Undescribable("Var that cannot be computed") from error

    def _pending(self, var: Any) -> Value | None:
        """Return a Var that no code has read yet, without its elements: reading compiles code that no seed needs.

        The result is None for integers, which may be indices, and if even the shape is yet to be computed.
        """
        name, shape = str(var.dtype), tuple(map(int, var.shape))
        if PENDING not in var.debug_msg().partition(",")[0] or "int" in name or min(shape, default=0) < 0:
            return None
        return Tensor(name, shape) if name in self.dtypes else None

    def observe(self, seen: Seen) -> None:
        """Wrap every public function; data that a seed gives is computed as soon as it is given."""
        root: Any = self.root
        given = root.array

        @functools.wraps(given)
        def array(*args: Any, **kwargs: Any) -> Any:
            made = given(*args, **kwargs)
            made.sync()
            return made

        root.array = array

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """Return methods: a module is called, an optimiser steps, objects of further classes have public methods."""
        root = self.root
        if issubclass(cls, root.Var):
            return ()
        if issubclass(cls, root.Module):
            return ("__call__",)
        if issubclass(cls, root.optim.Optimizer):
            return ("step",)
        return self.functions(cls)

    def prepare(self) -> None:
        """Compile beside other processes, and load an operator.

        Jittor links operators with `-Ofast`. The first one that a process loads makes denormals zero in the process.
        """
        super().prepare()
        settle(self.root)
        (self.root.zeros(1) + 1.0).sync()

    def reset(self, seed: int) -> None:
        """Reset Jittor's random stream, and Python's and numpy's, which its initialisers draw from."""
        super().reset(seed)
        self.root.set_seed(seed & 0x7FFFFFFF)

    def state(self) -> object:
        """Return every flag that is a setting."""
        return self.settings(self.root.flags)

    def device_modes(self) -> tuple[str, ...]:
        """Return `cpu`, and `cuda` if Jittor finds a device."""
        return ("cpu", "cuda") if self.root.has_cuda and self.root.get_device_count() else ("cpu",)

    def enter(self, mode: str) -> str:
        """Switch CUDA on or off."""
        self.root.flags.use_cuda = int(mode != "cpu")
        return mode

    def finish(self, result: Any) -> None:
        """Execute all that is pending, and wait for the device."""
        self.root.sync_all(True)

    def models(self) -> Models:
        """See `JittorModels`."""
        return JittorModels(self.root)

    def examples(self) -> Examples:
        """Return a function and a module, of a matrix."""
        matrix = Tensor("float32", (2, 3))
        module = Invocation("jittor.nn.ReLU", then=Then("__call__", (matrix,)))
        calls = (Invocation("jittor.exp", (matrix,)), module)
        return Examples(calls, "jittor.rand(3)", "setattr(jittor.flags, 'lazy_execution', 0)", least_rank=1)


def _is_reached(path: str, module: ModuleType) -> bool:
    return module.__name__ == path and _kept(path)


def _kept(home: str) -> bool:
    return not f"{home}.".startswith(_LEFT_OUT)


def _computes(found: Any) -> bool:
    """Return whether a found object is an api.

    A native function is one only if it is an operator.
    """
    if isinstance(found, BuiltinFunctionType):
        return found.__module__ == _OPERATORS
    return is_api(found, ("jittor",)) and _kept(found.__module__)


class JittorModels(Models):
    """Hooks for model programs of Jittor, which compiles all code: operators together if allowed, or each by itself.

    `untrained` cannot be determined: if there is no gradient, `jittor.grad` returns zeros, just as for a zero gradient.
    """

    computes = "execute"

    def __init__(self, root: Any) -> None:
        self.root = root
        self.layer = root.Module

    def streams(self) -> Callable[[], None] | None:
        """Return None: the state of the generator is not readable, and it may have changed since it was seeded."""
        return None

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return a call that is compiled operator by operator."""

        def once(*args: Any, **kwargs: Any) -> Any:
            with self.root.flag_scope(lazy_execution=0):
                return call(*args, **kwargs)

        return once

    def promised(self, result: Any) -> bool:
        """Return whether a result holds finite numbers alone.

        Jittor compiles with `-Ofast`, which promises no NaN or infinity.
        """
        if isinstance(result, list | tuple):
            return all(map(self.promised, result))
        return not isinstance(result, self.root.Var) or bool(np.isfinite(result.numpy()).all())

    @contextmanager
    def losses(self, note: Callable[[float], object]) -> Iterator[None]:
        """Note the last loss that an optimizer gets.

        Looking at every loss would make Jittor compile other code.
        """
        last = list[Any]()

        def noting(backward: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(backward)
            def noted(optimizer: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
                last[:] = [loss]
                return backward(optimizer, loss, *args, **kwargs)

            return noted

        with replaced(self.root.optim.Optimizer, "backward", noting):
            yield
        with suppress(Exception):
            note(last[0].item())
