"""Code that does not compile to code that does, by mending layout and dropping the smallest broken part."""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
import warnings
from typing import NamedTuple

_BLOCK_HEADER = re.compile(r"on line (\d+)")


class Salvaged(NamedTuple):
    """Code that compiles (possibly empty), and how many statements had to go."""

    code: str
    dropped: int


def syntax_error(code: str) -> SyntaxError | None:
    """What keeps the code from compiling as a module, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<seed>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return SyntaxError(str(error) or type(error).__name__)
    return None


def salvage(text: str) -> Salvaged:
    """Mends indentation, colons and `print` statements, and drops one broken statement after the other."""
    lines = textwrap.dedent(text.expandtabs(4)).splitlines()
    dropped = 0
    for _ in range(3 * len(lines) + 3):
        error = syntax_error("\n".join(lines) + "\n")
        if error is None:
            return Salvaged("\n".join(lines).strip("\n"), dropped)
        if error.lineno is None:
            break
        dropped += _mend(lines, error)
    return Salvaged("", dropped + 1)


def _mend(lines: list[str], error: SyntaxError) -> int:
    """One repair in place; how many statements it cost."""
    message = str(error.msg)
    at = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
    if "expected an indented block" in message:
        return _fill_block(lines, at, message)
    if "unexpected indent" in message or "unindent does not match" in message:
        return _shift(lines, at)
    if "expected 'except' or 'finally'" in message:
        return _close_try(lines, at)
    if "in call to 'print'" in message and lines[at].lstrip().startswith("print "):
        lines[at] = f"{_indent(lines[at])}print({lines[at].lstrip()[6:]})"
        return 0
    if message == "expected ':'" and not lines[at].rstrip().endswith(":"):
        lines[at] = lines[at].rstrip() + ":"
        return 0
    return _drop(lines, at, "never closed" in message)


def _fill_block(lines: list[str], at: int, message: str) -> int:
    """A block with nothing in it gets a `pass` before the line where the compiler missed it."""
    found = _BLOCK_HEADER.search(message)
    header = int(found[1]) - 1 if found else at
    place = at if at > header else len(lines)
    lines.insert(place, _indent(lines[header]) + "    pass")
    return 0


def _close_try(lines: list[str], at: int) -> int:
    """A `try` whose handlers were left out gets an empty `finally`."""
    header = next((index for index in range(at, -1, -1) if lines[index].strip() == "try:"), 0)
    depth = len(_indent(lines[header]))
    body = range(header + 1, len(lines))
    end = next((index for index in body if lines[index].strip() and len(_indent(lines[index])) <= depth), len(lines))
    lines[end:end] = [" " * depth + "finally:", " " * depth + "    pass"]
    return 0


def _shift(lines: list[str], at: int) -> int:
    """Moves a line, and those that hang on it, to the level of the last line that is not deeper."""
    own = len(_indent(lines[at]))
    levels = [len(_indent(line)) for line in lines[:at] if line.strip()]
    target = next((level for level in reversed(levels) if level < own), 0)
    for index in range(at, len(lines)):
        if lines[index].strip() and len(_indent(lines[index])) < own:
            break
        lines[index] = lines[index][own - target :] if lines[index].strip() else ""
    return 0


def _drop(lines: list[str], at: int, is_open: bool) -> int:
    """Puts `pass` in the place of the statement around a line, so that the block around it keeps a body."""
    while at and lines[at].strip() in ("", "pass"):
        at -= 1
    start, end = _statement(lines, at)
    if is_open:
        depth = len(_indent(lines[start]))
        while end < len(lines) and lines[end].strip() and len(_indent(lines[end])) > depth:
            end += 1
    indent = _indent(lines[start])
    lines[start:end] = [indent + "pass" if indent else ""]
    return 1


def _statement(lines: list[str], at: int) -> tuple[int, int]:
    """First line and end of the logical line that holds this line."""
    start = 0
    while start <= at:
        end = start + _logical_length(lines[start:])
        if at < end:
            return start, end
        start = end
    return at, at + 1


def _logical_length(lines: list[str]) -> int:
    """How many lines the logical line takes that starts with the first; one where it never ends."""
    stream = io.StringIO(lines[0].lstrip() + "\n" + "\n".join(lines[1:]) + "\n")
    begun = False
    try:
        for token in tokenize.generate_tokens(stream.readline):
            if token.type == tokenize.NEWLINE or (token.type == tokenize.NL and not begun):
                return token.end[0] if token.end[1] else token.start[0]
            begun = begun or token.type not in (tokenize.COMMENT, tokenize.INDENT)
    except (tokenize.TokenError, SyntaxError):
        return 1
    return 1


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
