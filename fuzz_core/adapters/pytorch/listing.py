"""The public apis of PyTorch, as its documentation lists them by module."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch

from fuzz_core.adapters.base import Listed
from fuzz_core.adapters.listing import Named, doc, folded, methods

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
    listed = folded(_named()) + methods(torch.Tensor, "torch.Tensor")
    return sorted(listed, key=lambda each: each.api.name)


def _named() -> Iterator[Named]:
    for module_name in MODULES:
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue
        for name in _public_names(module):
            found = getattr(module, name, None)
            if _is_api(found):
                yield f"{module_name}.{name}", found, module


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
    if isinstance(found, type) and (not doc(found) or issubclass(found, BaseException)):
        return False
    home = getattr(found, "__module__", None) or "torch"
    return isinstance(home, str) and home.split(".")[0] in ("torch", "builtins", "_tensor")
