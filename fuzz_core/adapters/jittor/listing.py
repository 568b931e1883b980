"""The public apis of Jittor: what its modules define, its native operators, and the methods of Var."""

from __future__ import annotations

from types import BuiltinFunctionType, ModuleType
from typing import Any

import jittor

from fuzz_core.adapters.listing import Listed, folded, is_api, members, methods, within

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

# They run source code that the caller writes: what that does is no fault of the library's.
_SOURCE = ("code", "numpy_code")
_LEFT_OUT = tuple(f"{module}." for module in NO_COMPUTATION)
_OPERATORS = "jittor_core.ops"


def listed() -> list[Listed]:
    """Functions and classes of every public module, one entry per object, then the methods of Var."""
    free = folded(members(within("jittor", jittor, _is_reached), _computes))
    own = [entry for entry in free + methods(jittor.Var, "jittor.Var") if entry.api.name.split(".")[-1] not in _SOURCE]
    return sorted(own, key=lambda entry: entry.api.name)


def _is_reached(path: str, module: ModuleType) -> bool:
    return module.__name__ == path and _kept(path)


def _kept(home: str) -> bool:
    return not f"{home}.".startswith(_LEFT_OUT)


def _computes(found: Any) -> bool:
    """Of native functions the operators alone: the others are the runtime's switches."""
    if isinstance(found, BuiltinFunctionType):
        return found.__module__ == _OPERATORS
    return is_api(found, ("jittor",)) and _kept(found.__module__)
