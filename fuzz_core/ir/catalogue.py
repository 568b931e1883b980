"""The public apis of a target, as the adapter lists them and the store keeps them, and what of them is deprecated."""

from __future__ import annotations

import ast
import inspect
import re
from typing import NamedTuple

ITSELF = "*"
_THING = r"(?:function|class|method|op|operation|operator|api|module|symbol|layer|endpoint|alias|property)"
_SAID = r"(?:is|was|has\s+been|will\s+be)\s+(?:now\s+)?deprecated\b"
# A directive or a sentence at the left margin, `This function is deprecated`, a summary that ends with `(deprecated)`.
_OF_ITSELF = re.compile(
    r"^\.\.\s+deprecated::|^\W*deprecated\b(?!:?\s+some\s+argument)"
    rf"|\bthis\s+{_THING}\s+{_SAID}|\A[^\n]*\(deprecated\)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
# `size_average (bool, optional): Deprecated (see ...)`; `:attr:`tol` is deprecated`; `SOME ARGUMENTS ARE DEPRECATED`.
_ENTRY = re.compile(
    r"^\s+[`*]*(\w+)[`*]*\s*(?:\([^)\n]*\))?\s*:\s*(?:\([^)\n]*\)\s*)?deprecated\b", re.IGNORECASE | re.M
)
_NAMED = re.compile(
    rf"(?:``?|:attr:`|\bargument\s+|^\s*)(\w+)(?:=\w+)?`*\s+(?:arg\s+|argument\s+)?{_SAID}", re.IGNORECASE | re.M
)
_SOME = re.compile(r"some\s+argument(?:s|\s+values)\s+are\s+deprecated:\s*`\(([^)]*)\)`", re.IGNORECASE)
# A name of the library, or infinity.
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+|-?float\('inf'\)")


class ApiParameter(NamedTuple):
    """A parameter in the signature of an api."""

    name: str
    default: str | None = None  # see `expression`; None if there is none or it is unreadable
    required: bool = True
    positional: bool = True


class Api(NamedTuple):
    """A public callable."""

    name: str
    kind: str  # function, class or method (`torch.Tensor.add`: the instance is the first argument)
    params: tuple[str, ...] = ()  # names of the positional parameters in order, as far as known
    definition: str = ""  # name with signature; FreeFuzz compares definitions by Levenshtein distance
    doc: str = ""  # its docstring
    aliases: tuple[str, ...] = ()  # other public names of the same object
    signature: tuple[ApiParameter, ...] = ()  # without `*args` and `**kwargs`; the store does not keep it


def expression(text: str) -> str | None:
    """Return the source of a default if it is a constant or a dotted name; None for an object's `<...>`."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text if _DOTTED.fullmatch(text) else None
    return text


def deprecated(api: Api) -> tuple[str, ...]:
    """Return the names that the api's docstring calls deprecated, sorted.

    `*` stands for the api itself, any other name for an argument.
    """
    if "deprecat" not in api.doc.lower():
        return ()
    doc = inspect.cleandoc(api.doc)
    found = {name for pattern in (_ENTRY, _NAMED) for name in pattern.findall(doc) if _is_argument(api, name)}
    for listed in _SOME.findall(doc):
        found.update(part.partition("=")[0].strip() for part in listed.split(","))
    if _OF_ITSELF.search(doc) or _by_name(api).search(doc):
        found.add(ITSELF)
    return tuple(sorted(found))


def _by_name(api: Api) -> re.Pattern[str]:
    short = "|".join(sorted({re.escape(name.rpartition(".")[2]) for name in (api.name, *api.aliases)}))
    return re.compile(rf"(?<![\w])(?:[\w~]+\.)+(?:{short})[`()]*\s+{_SAID}", re.IGNORECASE)


def _is_argument(api: Api, name: str) -> bool:
    """Return whether the definition has a parameter of this name."""
    return name in api.params or re.search(rf"[(,*]\s*{re.escape(name)}\s*[=,:)]", api.definition) is not None
