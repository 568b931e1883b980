"""The public apis of PyTorch, as its documentation lists them by module."""

from __future__ import annotations

import importlib
import operator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch

from fuzz_core.adapters.base import Listed, shortest
from fuzz_core.adapters.signatures import definition
from fuzz_core.ir.catalogue import Api

MODULES = (
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.sparse",
    "torch.signal.windows",
    "torch.distributions",
    "torch.distributions.transforms",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.nn.utils.parametrizations",
    "torch.autograd.functional",
    "torch.func",
    "torch.nested",
    "torch.masked",
    "torch.ao.nn.quantized",
    "torch.ao.nn.quantized.functional",
)


def listed() -> list[Listed]:
    """Functions and classes of the documented modules, then Tensor methods; one entry per object."""
    names: dict[int, list[str]] = {}
    owners: dict[int, tuple[Any, Any]] = {}
    for module_name in MODULES:
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue
        for name in _public_names(module):
            found = getattr(module, name, None)
            if _is_api(found):
                names.setdefault(id(found), []).append(f"{module_name}.{name}")
                owners.setdefault(id(found), (found, module))
    free = [_entry(shortest(names[key]), found, owner) for key, (found, owner) in owners.items()]
    return sorted(free + _tensor_methods(), key=lambda entry: entry.api.name)


def _public_names(module: ModuleType) -> list[str]:
    """`__all__` and, since that is incomplete in older modules, every name whose home is the module or native code."""
    native = ("", "torch._C", "torch._jit_internal", "torch.functional")
    declared = set(getattr(module, "__all__", ()))
    for name, value in vars(module).items():
        home = str(getattr(value, "__module__", None) or "")
        own = home == module.__name__ or home.startswith(module.__name__ + ".")
        if own or home.startswith("torch._C._") or (callable(value) and home in native):
            declared.add(name)
    return sorted(name for name in declared if not name.startswith("_"))


def _is_api(found: Any) -> bool:
    if not isinstance(found, type | FunctionType | BuiltinFunctionType):
        return False
    if isinstance(found, type) and (not _doc(found) or issubclass(found, BaseException)):
        return False
    home = getattr(found, "__module__", None) or "torch"
    return isinstance(home, str) and home.split(".")[0] in ("torch", "builtins", "_tensor")


def _entry(names: list[str], found: Any, owner: Any) -> Listed:
    text, params = definition(names[0], found)
    kind = "class" if isinstance(found, type) else "function"
    return Listed(Api(names[0], kind, params, text, _doc(found), tuple(names[1:])), found, owner)


def _doc(found: Any) -> str:
    doc = getattr(found, "__doc__", None)
    return doc if isinstance(doc, str) else ""


def _tensor_methods() -> list[Listed]:
    operators = {name for name in dir(operator) if name.startswith("__")} | {"__rsub__", "__radd__", "__rmul__"}
    entries = []
    for name in dir(torch.Tensor):
        found = getattr(torch.Tensor, name)
        public = not name.startswith("_") or name in operators
        if public and callable(found) and not isinstance(found, type) and hasattr(found, "__name__"):
            text, params = definition(f"torch.Tensor.{name}", found)
            if not params or params[0] != "self":
                params = ("self", *params)
            entries.append(
                Listed(Api(f"torch.Tensor.{name}", "method", params, text, _doc(found)), found, torch.Tensor)
            )
    return entries
