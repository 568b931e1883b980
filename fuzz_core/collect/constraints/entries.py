"""What a docstring says of each argument: the entries of its sections of arguments, free of markup."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

_SECTION = re.compile(r"(?:Args?|Arguments|Parameters|[Kk]eyword [Aa]rg(?:ument)?s):{1,2}\s*$")
_ENTRY = re.compile(
    r"[*`]{0,2}(?P<names>\w+(?:\s*(?:,|and)\s*\w+)*)[*`]{0,2}\s*(?:\((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\))?\s*:\s+(?P<text>.*)"
)
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


def entries(doc: str) -> Iterator[tuple[str, str]]:
    """(argument, what is said of it) in the order of the text.

    A docstring of several signatures has none: which of them a call means is not in it.
    """
    if SEVERAL in doc:
        return
    lines = inspect.cleandoc(doc).splitlines()
    for number, line in enumerate(lines):
        if _SECTION.fullmatch(line.strip()):
            yield from _section(lines[number + 1 :], _indent(line))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _section(lines: list[str], outside: int) -> Iterator[tuple[str, str]]:
    inside, names, said = None, list[str](), list[str]()
    for line in [*(line for line in lines if line.strip()), ""]:
        if inside is None:
            inside = _indent(line)
        if _indent(line) <= outside or not line:
            break
        found = _ENTRY.match(line.strip()) if _indent(line) == inside else None
        if found is not None:
            yield from ((name, plain(" ".join(said))) for name in names)
            names, said = re.findall(r"\w+", re.sub(r"\band\b", ",", found["names"])), [found["text"]]
        elif _indent(line) == inside:
            yield from ((name, plain(" ".join(said))) for name in names)
            names, said = [], []
        else:
            said.append(line.strip())
    yield from ((name, plain(" ".join(said))) for name in names)


def plain(text: str) -> str:
    """Text without roles, backticks and the few signs of LaTeX that stand for comparisons."""
    text = _ROLES.sub("", text).replace("`", "")
    for pattern, sign in _LATEX:
        text = re.sub(pattern, sign, text)
    return " ".join(text.split())
