"""What PyTorch promises of an api, by its documentation and source."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

from fuzz_core.adapters.modes import Changed
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import TestCase

_STORAGE = re.compile(r"storage|\baddress\b|as_strided|\bstride\(\)|contiguous|memory[ _](?:format|layout)|dim_order")
# What is only defined for such matrices is differentiated as if every change kept them so.
_STRUCTURE = re.compile(r"[Hh]ermitian|symmetric")
_REPEATED = re.compile(r"duplicate|not unique|repeat values|gradients? will be incorrect|respect to autograd")
# What must be a softmax's result is differentiated as if every change kept it one.
_NORMALISED = re.compile(r"obtained (?:with|by|from)\s+:\w+:`[\w.~]*softmax`")
# Steps that are differentiated as if they were none.
_ROUNDED = re.compile(r"quantiz")
_SEE = re.compile(r":(?:meth|func|class):`~?(?:torch\.)?([\w.]+)(?:\(\))?`")
# A text that is no longer than this only refers to another one.
_SHORT = 400


@cache
def documentation(function: Any) -> str:
    """The text about a function, with the texts that a short one refers to; empty where there is none."""
    return "\n".join(_texts(function, 2))


def _texts(function: Any, depth: int) -> Iterator[str]:
    text = getattr(function, "__doc__", None) or ""
    yield text
    if depth and len(text) < _SHORT:
        for name in _SEE.findall(text):
            yield from _texts(_named(name), depth - 1)


def _named(name: str) -> Any:
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if found is not None else getattr(torch.Tensor, name, None)


def documented(function: Any) -> bool:
    """Whether there is any text: of what is internal nothing is promised."""
    return bool(documentation(function))


def speaks_of_storage(function: Any) -> bool:
    """Whether a function's documentation says that its result may depend on how a tensor is stored."""
    return _STORAGE.search(documentation(function)) is not None


def restricts_gradients(function: Any) -> bool:
    """Whether derivatives hold, as is documented, for some matrices, places or sums alone, for a line, or never."""
    text = documentation(function)
    return any(pattern.search(text) for pattern in (_STRUCTURE, _REPEATED, _NORMALISED, _ROUNDED))


@cache
def hides_from_gradients(function: Any) -> bool:
    """Whether a function switches gradients off by itself, as initialisers do."""
    try:
        return "no_grad" in inspect.getsource(function)
    except (TypeError, OSError):
        return False


class Promised(Changed):
    """A mode of documented apis alone."""

    def applies(self, test: TestCase) -> bool:
        """See `Mode`: where there are tensors."""
        return super().applies(test) and documented(self.function(test))

    def function(self, test: TestCase) -> Any:
        """The api itself; None where this target has none."""
        try:
            return self.builder.resolve(test.invocation.api)
        except BuildError:
            return None
