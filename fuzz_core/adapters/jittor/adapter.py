"""The living half of Jittor's adapter."""

from __future__ import annotations

import atexit
import functools
import importlib
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import ModuleType
from typing import Any

from fuzz_core.adapters.arrays import NUMPY_DTYPES
from fuzz_core.adapters.base import Adapter, Describe, Examples
from fuzz_core.adapters.jittor.compiling import hasten, settle
from fuzz_core.adapters.jittor.dialect import MODES
from fuzz_core.adapters.listing import Listed
from fuzz_core.adapters.models import Models
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, Then, Value, prim

# In what Jittor tells of a Var for debugging.
PENDING = ":s0:"
# What Jittor itself writes while it works, and what only says how much it tells of it.
_NO_SETTINGS = ("_", "stat_", "log_", "exec_called", "trace_", "profile")


def _end_compilers() -> None:
    """Ends the processes that have compiled its core: they would idle, and a fork would wait for them for ever."""
    tools: Any = importlib.import_module("jittor_utils")
    if tools.pool_size:
        atexit.unregister(tools.pool_cleanup)
        tools.pool_cleanup()
        tools.pool_size = 0


class JittorAdapter(Adapter):
    """Jittor on the CPU and, where it was made with CUDA, on a device.

    It compiles an operator when that is first executed, and executes when a result is looked at: `finish` does so, and
    errors and costs belong to their call. There are no Vars without dimensions: of shape () becomes (1,).
    """

    library = "jittor"
    prefixes = ("jittor", "jittor_core")
    ways = MODES
    # Names are what it takes for dtypes.
    dtypes: Mapping[str, Any] = {name: name for name, dtype in NUMPY_DTYPES.items() if dtype.kind not in "cO"}

    def load(self) -> ModuleType:
        """Imports jittor, which compiles its core where no cache holds it."""
        self.root = importlib.import_module("jittor")
        self.core = self.root.jittor_core
        _end_compilers()
        # One at a time: the other cores have workers on them. Not in `prepare`: seeds are executed as well.
        self.root.flags.use_parallel_op_compiler = 0
        hasten(self.root)
        flags = [name for name in dir(self.root.flags) if not name.startswith(_NO_SETTINGS)]
        self.settings: Callable[[Any], Any] = attrgetter(*flags)
        return self.root

    def array(self, value: Any) -> Any:
        """The elements of a Var, computed for it. Raises RuntimeError where they cannot be."""
        if not isinstance(value, self.root.Var):
            return super().array(value)
        return value.numpy()

    def tensor(self, array: Any, tensor: Tensor, device: str) -> Any:
        """A Var of a copy of the elements."""
        return self.root.array(array, tensor.dtype)

    def listed(self) -> list[Listed]:
        """Every public api of the modules that compute."""
        from fuzz_core.adapters.jittor import listing

        return listing.listed()

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """Vars, dtypes and shapes."""
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
        """A Var that nobody has looked at yet, without its elements: to look would compile what the seed never needs.

        None for integers, which may be indices, and where even the shape is yet to be computed.
        """
        name, shape = str(var.dtype), tuple(map(int, var.shape))
        if PENDING not in var.debug_msg().partition(",")[0] or "int" in name or min(shape, default=0) < 0:
            return None
        return Tensor(name, shape) if name in self.dtypes else None

    def observe(self, seen: Callable[[str, dict[str, Any]], None]) -> None:
        """Every public function can be wrapped; data that a seed gives is there as soon as it is given."""
        root: Any = self.root
        given = root.array

        @functools.wraps(given)
        def array(*args: Any, **kwargs: Any) -> Any:
            made = given(*args, **kwargs)
            made.sync()
            return made

        root.array = array

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """A module is called, an optimiser steps, other objects have public methods."""
        root = self.root
        if issubclass(cls, root.Var):
            return ()
        if issubclass(cls, root.Module):
            return ("__call__",)
        if issubclass(cls, root.optim.Optimizer):
            return ("step",)
        return self.functions(cls)

    def prepare(self) -> None:
        """Compiles beside other processes."""
        super().prepare()
        settle(self.root)

    def reset(self, seed: int) -> None:
        """Jittor's stream, Python's and numpy's, which its initialisers draw from."""
        super().reset(seed)
        self.root.set_seed(seed & 0x7FFFFFFF)

    def state(self) -> object:
        """Every flag that is a setting."""
        return self.settings(self.root.flags)

    def modes(self) -> tuple[str, ...]:
        """`cpu`, and `cuda` where it finds a device."""
        return ("cpu", "cuda") if self.root.has_cuda and self.root.get_device_count() else ("cpu",)

    def enter(self, mode: str) -> str:
        """Switches CUDA on or off."""
        self.root.flags.use_cuda = int(mode != "cpu")
        return mode

    def finish(self, result: Any) -> None:
        """Executes all that is pending, and waits for the device."""
        self.root.sync_all(True)

    def models(self) -> Models:
        """See `jittor.models`."""
        from fuzz_core.adapters.jittor import models

        return models.JittorModels()

    def examples(self) -> Examples:
        """A function and a module, of a matrix."""
        matrix = Tensor("float32", (2, 3))
        module = Invocation("jittor.nn.ReLU", then=Then("__call__", (matrix,)))
        calls = (Invocation("jittor.exp", (matrix,)), module)
        return Examples(calls, "jittor.rand(3)", "setattr(jittor.flags, 'lazy_execution', 0)", least_rank=1)
