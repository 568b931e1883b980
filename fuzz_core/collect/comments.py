"""Comments of examples: results after arrows, and values of names in words.

Reference pages of operations write `f(x) ==> [1, 2]`, and give the operands in comments alone:
`# tensor 'x' is [[1, 2], [3, 4]]`, `# 't' is a tensor of shape [2, 3]`, `x = ... # Shape [2, 3] Tensor`.
"""

from __future__ import annotations

import ast
import re

from fuzz_core.adapters.dialect import profile_of
from fuzz_core.adapters.library import Profile

_RESULT = re.compile(r"(?P<comment>#\s*)?(?:={1,3}|(?<!-)-{2})>|→|⇒")
_NAME = r"[`'\"]?(?P<name>[A-Za-z_]\w*)[`'\"]?"
_KIND = r"(?:(?:a|an|the)\s+)?(?:[\w.]+\s+)?(?:tensor|matrix|vector|scalar|array)?\s*"
_IS = re.compile(
    rf"^(?P<indent>\s*)#\s*(?:(?:input|output|the)\s+)?(?:tensor\s+)?{_NAME}\s+(?:is|=|:)\s*:?\s*{_KIND}(?P<rest>.*)$"
)
_SHAPE = re.compile(r"(?:(?:of|has|with)\s+)?shape:?\s*(?:=|is)?\s*(?P<shape>[\[(][\d,\s]*[\])])", re.IGNORECASE)
_ELIDED = re.compile(rf"^(?P<indent>\s*){_NAME}\s*=\s*(?:\.\.\.|<[^>]*>)\s*(?P<rest>.*)$")
_OPEN, _CLOSE = "([{", ")]}"


def remove_results(code: str) -> str:
    """Remove the results behind arrows, with brackets that continue on further lines."""
    lines = code.splitlines()
    kept: list[str] = []
    at = 0
    while at < len(lines):
        found = _RESULT.search(lines[at])
        if found is None or _in_string(lines[at][: found.start()]):
            kept.append(lines[at])
            at += 1
            continue
        kept.append(lines[at][: found.start()].rstrip())
        depth = _balance(lines[at][found.end() :])
        at += 1
        while depth > 0 and at < len(lines) and lines[at].strip():
            depth += _balance(lines[at])
            at += 1
    return "\n".join(kept)


def _in_string(before: str) -> bool:
    return before.count('"') % 2 == 1 or before.count("'") % 2 == 1


def _balance(text: str) -> int:
    return sum(text.count(mark) for mark in _OPEN) - sum(text.count(mark) for mark in _CLOSE)


def assign_commented_values(code: str, library: str) -> str:
    """Add an assignment for each value or shape of a name that a comment gives.

    The code must use the name. A library without a known tensor constructor gets no assignment.
    """
    profile = profile_of(library)
    if profile is None:
        return code
    lines = code.splitlines()
    for at, line in enumerate(lines):
        found = _IS.match(line) or _ELIDED.match(line)
        if found is None or not _used(found["name"], lines, at):
            continue
        value = _value(found["rest"], lines[at + 1 :], profile)
        if value:
            lines[at] = f"{found['indent']}{found['name']} = {value}"
    return "\n".join(lines)


def _used(name: str, lines: list[str], at: int) -> bool:
    word = re.compile(rf"\b{re.escape(name)}\b")
    return any(word.search(line.partition("#")[0]) for line in lines[at + 1 :])


def _value(rest: str, following: list[str], profile: Profile) -> str:
    """Return an expression for a comment's value: a literal, which may continue in the next comments, or a shape."""
    if shape := _SHAPE.search(rest):
        return f"{profile.ones}({shape['shape']})"
    text = rest.strip()
    for line in ["", *following]:
        text += " " + line.strip().lstrip("#").strip() if line else ""
        literal = _literal(text)
        if literal:
            return f"{profile.constant}({literal})"
        if _balance(text) <= 0 or (line and not line.lstrip().startswith("#")):
            break
    return ""


def _literal(text: str) -> str:
    """Return the longest start of the text, up to a closing bracket, that is a list, tuple or number."""
    if text[:1] not in tuple("[(-0123456789"):
        return ""
    ends = [index + 1 for index, mark in enumerate(text) if mark in _CLOSE] or [len(text)]
    return next((text[:end] for end in reversed(ends) if _is_data(text[:end])), "")


def _is_data(text: str) -> bool:
    try:
        return isinstance(ast.literal_eval(text), (list, tuple, int, float))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
