"""Data that a program makes at its start: made once, and restored for each program."""

from __future__ import annotations
import __future__

import builtins
import copy
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.models import Models
from fuzz_core.worker.programs_exception import PROGRAM

# Values that need no copy, or can have none.
_SHARED = (ModuleType, type, FunctionType, BuiltinFunctionType)
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


class Data:
    """The names that the first part of programs leaves in their module.

    Attributes:
        reusable: whether `renew` restores the objects of that part, by copies, and the random streams.

    Raises:
        Exception: the exceptions of that part.
    """

    def __init__(self, models: Models, prefix: str, names: Mapping[str, Any]) -> None:
        self.module = ModuleType("__main__")
        vars(self.module).update(__file__=PROGRAM, __builtins__=builtins)
        self.lines = self.flags = 0
        code = self.run(prefix, names)
        self.lines, self.flags = prefix.count("\n"), code.co_flags & _FUTURE
        self.again = _streams(models)
        self.switches = Switches()
        kept = {name: value for name, value in vars(self.module).items() if name not in names}
        self.shared = {name: value for name, value in kept.items() if isinstance(value, _SHARED)}
        self.own = {name: value for name, value in kept.items() if name not in self.shared}
        self.reusable = self.again is not None and self._is_copied()

    def _is_copied(self) -> bool:
        """Return whether all data can be copied; the current program then works on copies, too."""
        try:
            self._copy()
        except Exception:  # noqa: BLE001 - what foreign objects raise when they are copied is theirs to choose
            return False
        return True

    def _copy(self) -> None:
        own = copy.deepcopy(self.own, {id(each): each for each in self.shared.values()})
        vars(self.module).clear()
        vars(self.module).update(self.shared, **own)

    def renew(self) -> None:
        """Restore the module, the switches and the random streams as the prefix left them.

        Needs `reusable`.
        """
        assert self.again is not None
        self._copy()
        self.switches.restore()
        self.again()

    def run(self, source: str, names: Mapping[str, Any]) -> CodeType:
        """Execute the prefix, or the code after it; return the code.

        Raises:
            Exception: the exceptions of that code.
        """
        text = "\n" * self.lines + source
        code: CodeType = compile(text, PROGRAM, "exec", self.flags, dont_inherit=True)
        vars(self.module).update(names)
        with as_main(self.module):
            exec(code, vars(self.module))
        return code


def reset(adapter: Adapter, seed: int) -> None:
    """Seed all random streams."""
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)
    adapter.reset(seed)


def _streams(models: Models) -> Callable[[], None] | None:
    """Return a function that restores all random streams to now; None if the library's cannot be restored."""
    python, arrays, library = random.getstate(), np.random.get_state(), models.streams()
    if library is None:
        return None

    def again() -> None:
        random.setstate(python)
        np.random.set_state(arrays)
        library()

    return again


class Switches:
    """Settings of the interpreter and numpy that hold for all code, as they are now."""

    def __init__(self) -> None:
        self.recursion = sys.getrecursionlimit()
        self.folder = ""
        with suppress(OSError):
            # A program may have removed its folder.
            self.folder = os.getcwd()  # noqa: PTH109 - for each program
        self.environment = dict(os.environ)
        self.warned = list(warnings.filters)
        self.numbers = np.geterr()

    def restore(self) -> None:
        """Restore the settings."""
        sys.setrecursionlimit(self.recursion)
        with suppress(OSError):
            os.chdir(self.folder)
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        if warnings.filters != self.warned:
            # The reset also forgets which warnings were given.
            warnings.resetwarnings()
            warnings.filters[:] = self.warned  # type: ignore[index]
        np.seterr(**self.numbers)


@contextmanager
def as_main(module: ModuleType) -> Iterator[None]:
    """Make a module `__main__` while the context lasts."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = before
