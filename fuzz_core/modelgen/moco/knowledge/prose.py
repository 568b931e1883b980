"""Facts in a docstring besides bounds: an api's definition, and types and defaults of its parameters."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

from fuzz_core.ir.catalogue import ApiParameter, expression
from fuzz_core.ir.docstrings import entries

MAX_SENTENCES, MAX_DEFINITION = 2, 400
_SIGNATURE = re.compile(r"[\w.]+\([^\n]*\)(?: *->[^\n]*)?$")
_MARKUP = re.compile(r":\w+(?::\w+)?:(?=`)|`+~?(?P<text>[^`<]*)(?:<[^`>]*>)?`+|\*\*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_DEFAULT = re.compile(r"[Dd]efaults?(?: value)?(?: is| to|:|=)+\s*`*(?P<value>'[^']*'|\"[^\"]*\"|[-+\w.]+)`*")
_TYPES = (
    ("bool", r"bool(?:ean)?s?|[Ii]f\b.{0,12}True|[Ww]hether"),
    ("tensor", r"tensor|ndarray|Var\b"),
    ("dtype", r"dtype"),
    ("callable", r"callable|function|initiali[sz]er|regulari[sz]er|constraint"),
    ("int", r"int(?:eger)?s?\b|number of|size of|dimensionality"),
    ("float", r"float|probability|rate\b|epsilon"),
    ("str", r"str(?:ing)?\b|one of \W?[\"']"),
)
_STRUCTURES = {"int": "integer", "tuple": "tuple", "list": "list"}


class ParameterEntry(NamedTuple):
    """A docstring's entry about a parameter."""

    name: str
    dtype: str = ""  # in the words of `facts.Parameter`, "" if unknown
    structure: str = ""  # in the words of `facts.Parameter`, "" if unknown
    default: str | None = None


def definition_of(doc: str) -> str:
    """Return the first sentences of a docstring, without markup and without its signature."""
    lines = inspect.cleandoc(doc).splitlines()
    while lines and (not lines[0].strip() or _SIGNATURE.match(lines[0].strip())):
        lines.pop(0)
    blank = next((place for place, line in enumerate(lines) if not line.strip()), len(lines))
    text = " ".join(" ".join(lines[:blank]).split())
    return " ".join(_SENTENCE.split(_MARKUP.sub(r"\g<text>", text))[:MAX_SENTENCES])[:MAX_DEFINITION]


def told(doc: str) -> list[ParameterEntry]:
    """Return the parameters that a docstring has entries for, in order."""
    found: dict[str, ParameterEntry] = {}
    for name, text, kind in entries(doc):
        found.setdefault(name, _told(name, kind, text))
    return list(found.values())


def as_declared(listed: list[ParameterEntry]) -> list[ApiParameter]:
    """Return a signature from a docstring's entries, for one that names no parameters (`*args, **kwargs`)."""
    return [ApiParameter(each.name, each.default, each.default is None) for each in listed]


def _told(name: str, kind: str, text: str) -> ParameterEntry:
    said = kind or text.split(".")[0][:80]
    dtype = next((dtype for dtype, pattern in _TYPES if re.search(rf"\b(?:{pattern})", said)), "")
    named = re.search(r"\b(int|tuple|list)", said)
    structure = "tensor" if dtype == "tensor" else _STRUCTURES[named[1]] if named else ""
    default = _DEFAULT.search(text)
    value = expression(default["value"].rstrip(".")) if default else ("None" if "optional" in kind else None)
    return ParameterEntry(name, dtype, structure or ("integer" if dtype == "int" else ""), value)
