"""Facts in a docstring besides bounds: an api's definition, and types and defaults of its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

from fuzz_core.modelgen.moco.knowledge.signature import SignatureParameter

MAX_SENTENCES, MAX_DEFINITION = 2, 400
_SIGNATURE = re.compile(r"[\w.]+\([^\n]*\)(?: *->[^\n]*)?$")
_MARKUP = re.compile(r":\w+(?::\w+)?:(?=`)|`+~?(?P<text>[^`<]*)(?:<[^`>]*>)?`+|\*\*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_HEADING = re.compile(r"(?:Args?|Arguments|Parameters|Keyword [Aa]rg(?:ument)?s):{1,2}\s*$")
_ENTRY = re.compile(r"(?:[*-] )?[*`]{0,2}(?P<name>[a-z_]\w*)[*`]{0,2}\s*(?:\((?P<type>[^()]*)\))?\s*:(?P<text>.*)")
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
    """Returns the first sentences of a docstring, without markup and without its signature."""
    lines = inspect.cleandoc(doc).splitlines()
    while lines and (not lines[0].strip() or _SIGNATURE.match(lines[0].strip())):
        lines.pop(0)
    blank = next((place for place, line in enumerate(lines) if not line.strip()), len(lines))
    text = " ".join(" ".join(lines[:blank]).split())
    return " ".join(_SENTENCE.split(_MARKUP.sub(r"\g<text>", text))[:MAX_SENTENCES])[:MAX_DEFINITION]


def told(doc: str) -> list[ParameterEntry]:
    """Returns the parameters that a docstring has entries for, in order."""
    found = {name: _told(name, kind, text) for name, kind, text in _entries(doc)}
    return list(found.values())


def as_declared(entries: list[ParameterEntry]) -> list[SignatureParameter]:
    """Returns a signature from a docstring's entries, for one that names no parameters (`*args, **kwargs`)."""
    return [SignatureParameter(each.name, each.default, each.default is None, True) for each in entries]


def _entries(doc: str) -> Iterator[tuple[str, str, str]]:
    """Yields (name, type, text) of each entry of the first section of arguments; indentation separates entries."""
    lines = inspect.cleandoc(doc).splitlines()
    start = next((place for place, line in enumerate(lines) if _HEADING.match(line.strip())), None)
    inside = None
    current: list[str] | None = None
    for line in lines[start + 1 :] if start is not None else ():
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        if indent == 0:
            break
        inside = indent if inside is None else inside
        match = _ENTRY.match(line.strip()) if indent == inside else None
        if match is not None:
            if current is not None:
                yield current[0], current[1], " ".join(current[2:])
            current = [match["name"], match["type"] or "", match["text"].strip()]
        elif current is not None:
            current.append(line.strip())
    if current is not None:
        yield current[0], current[1], " ".join(current[2:])


def _told(name: str, kind: str, text: str) -> ParameterEntry:
    said = kind or text.split(".")[0][:80]
    dtype = next((dtype for dtype, pattern in _TYPES if re.search(rf"\b(?:{pattern})", said)), "")
    named = re.search(r"\b(int|tuple|list)", said)
    structure = "tensor" if dtype == "tensor" else _STRUCTURES[named[1]] if named else ""
    default = _DEFAULT.search(text)
    value = default["value"].rstrip(".") if default else ("None" if "optional" in kind else None)
    return ParameterEntry(name, dtype, structure or ("integer" if dtype == "int" else ""), value)
