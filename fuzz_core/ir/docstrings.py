"""Entries of a docstring about arguments: its sections of arguments, free of markup."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

_SECTION = re.compile(r"(?:Args?|Arguments|Parameters|[Kk]eyword [Aa]rg(?:ument)?s):{1,2}\s*$")
_ENTRY = re.compile(
    r"(?:[*-] )?(?:\[in\] ?)?[*`]{0,2}(?P<names>\w+(?:\s*(?:,|and)\s*\w+)*)[*`]{0,2}\s*"
    r"(?:\((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\))?\s*(?::(?:\s+|$)|[ \t][-\u2013][ \t]+)(?P<text>.*)"
)
_FIELD = re.compile(r":param (?:[^:]*\s)?(?P<names>\w+):\s*(?P<text>.*)")
# A list of arguments without a heading, each marked as one.
_MARKED = re.compile(r"[*-]? ?\[in\]")
_ROLES = re.compile(r":\w+(?::\w+)?:(?=`)")
_LATEX = (
    (r"\\geq?q?\b", ">="),
    (r"\\leq?q?\b", "<="),
    (r"\\infty\b", "inf"),
    (r"≥", ">="),
    (r"≤", "<="),
    (r"∞", "inf"),
)
SEVERAL = ".. function::"


class ArgumentEntry(NamedTuple):
    """A docstring's entry about an argument."""

    name: str
    text: str  # the description
    type: str = ""  # the words in parentheses behind the name


def entries(doc: str) -> Iterator[ArgumentEntry]:
    """Yield entries in the order of the text.

    A docstring of several signatures yields no entry, because it does not say which of them a call means.
    """
    if SEVERAL in doc:
        return
    lines = inspect.cleandoc(doc).splitlines()
    outside = -1
    for number, line in enumerate(lines):
        if line.strip() and _indent(line) <= outside:
            outside = -1
        if _SECTION.fullmatch(line.strip()):
            outside = _indent(line)
            yield from _section(lines[number + 1 :], outside)
            continue
        found = _FIELD.match(line.strip())
        if found is None and outside < 0 and _MARKED.match(line.strip()):
            found = _ENTRY.match(line.strip())
        if found is not None:
            text = plain(" ".join([found["text"], *_below(lines[number + 1 :], _indent(line))]))
            yield ArgumentEntry(found["names"], text, found.groupdict().get("type") or "")


def _below(lines: list[str], indent: int) -> Iterator[str]:
    """Yield the lines that continue an entry: lines with more indentation, up to an empty one."""
    for line in lines:
        if not line.strip() or _indent(line) <= indent:
            return
        yield line.strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _section(lines: list[str], outside: int) -> Iterator[ArgumentEntry]:
    inside, names, kind, said = None, list[str](), "", list[str]()
    for line in [*(line for line in lines if line.strip()), ""]:
        if inside is None:
            inside = _indent(line)
        if _indent(line) <= outside or not line:
            break
        if _indent(line) != inside:
            said.append(line.strip())
            continue
        yield from (ArgumentEntry(name, plain(" ".join(said)), kind) for name in names)
        found = _ENTRY.match(line.strip())
        names = [] if found is None else re.findall(r"\w+", re.sub(r"\band\b", ",", found["names"]))
        kind, said = ("", []) if found is None else (found["type"] or "", [found["text"]])
    yield from (ArgumentEntry(name, plain(" ".join(said)), kind) for name in names)


def plain(text: str) -> str:
    """Return text without roles, backticks and the few signs of LaTeX that stand for comparisons."""
    text = _ROLES.sub("", text).replace("`", "")
    for pattern, sign in _LATEX:
        text = re.sub(pattern, sign, text)
    return " ".join(text.split())
