"""Documentation of PyTorch about a function: its text, and the function that means the same."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache, reduce
from typing import Any

import torch

_SEE = re.compile(r":(?:meth|func|class):`~?(?:torch\.)?([\w.]+)(?:\(\))?`")
# A text that is no longer than this only refers to another one.
_SHORT = 400
# The words by which a text says that its function is the same as another one but for the place of the result.
_TWIN = re.compile(
    r"(?:(?:[Ii]n|[Oo]ut(?:[- ]of)?)[- ]place version of|[Ss]ee)\s+:\w+:`~?(?:torch\.)?(?:Tensor\.)?(\w+)(?:\(\))?`"
)
_ALIAS = re.compile(r"[Aa]lias (?:for|of)\s+:\w+:`~?(?:torch\.)?(?:Tensor\.)?(\w+?)_?(?:\(\))?`")
_WHOLE = re.compile(r"otherwise,?\s+(?:they|it)\s+(?:should|must)\s+be\s+(?:an\s+)?integers?")


@cache
def documentation(function: Any) -> str:
    """Return the text about a function, with the texts that a short one refers to; empty if there is none."""
    return "\n".join(_texts(function, 2))


def _texts(function: Any, depth: int) -> Iterator[str]:
    text = getattr(function, "__doc__", None) or ""
    yield text
    if depth and len(text) < _SHORT:
        for name in _SEE.findall(text):
            yield from _texts(_named(name), depth - 1)


def _named(name: str) -> Any:
    found: Any = reduce(lambda owner, part: getattr(owner, part, None), name.split("."), torch)
    return found if found is not None else getattr(torch.Tensor, name, None)


@cache
def hides_from_gradients(function: Any) -> bool:
    """Return whether a function switches gradients off by itself, as initialisers do."""
    try:
        return "no_grad" in inspect.getsource(function)
    except (TypeError, OSError):
        return False


@cache
def wants_whole_numbers(function: Any) -> bool:
    """Return whether the numbers beside tensors of integers must be whole, as `alpha` and `beta` of products must."""
    return _WHOLE.search(documentation(function)) is not None


@cache
def is_inplace_twin(function: Any) -> bool:
    """Return whether a method `name_` of tensors writes in place what the function `name` returns.

    A name is no proof: `bernoulli_` takes its probabilities from another argument than `bernoulli`. One text must call
    its function a version of its twin, or both functions must be aliases of one. If a function has no text, the
    operators must have the same arguments.
    """
    writing = getattr(function, "__name__", "")
    name = writing.removesuffix("_")
    others = [getattr(owner, name, None) for owner in (torch, torch.Tensor)]
    own, text = function.__doc__ or "", "\n".join(other.__doc__ or "" for other in others if other is not None)
    if not (own and text.strip()):
        return _arguments(writing) <= _arguments(name)
    # Some texts say that the method is a version of itself.
    named = {name, writing} & set(_TWIN.findall(own)) or writing in _TWIN.findall(text)
    return bool(named or set(_ALIAS.findall(own)) & set(_ALIAS.findall(text)))


def _arguments(operator: str) -> set[tuple[str, ...]]:
    """Return names and types of the arguments of each of an operator's overloads."""
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{operator}")
    return {tuple(f"{each.name}: {each.type}" for each in schema.arguments) for schema in schemas}
