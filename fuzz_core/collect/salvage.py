"""Repair of code that does not compile: the smallest broken parts are dropped."""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
import warnings
from typing import NamedTuple

_HEADER = re.compile(r"expected an indented block after .* on line (\d+)")


class Salvaged(NamedTuple):
    """Code that compiles (possibly empty), and the number of statements that were dropped."""

    code: str
    dropped: int


def syntax_error(code: str) -> SyntaxError | None:
    """Return the error of compiling the code as a module, or None."""
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
    """Drop broken statements one by one, and put `pass` into empty blocks."""
    lines = textwrap.dedent(text.expandtabs(4)).splitlines()
    dropped = 0
    for _ in range(3 * len(lines) + 3):
        error = syntax_error("\n".join(lines) + "\n")
        if error is None:
            return Salvaged("\n".join(lines).strip("\n"), dropped)
        if error.lineno is None:
            break
        at = min(max(error.lineno - 1, 0), len(lines) - 1)
        if header := _HEADER.search(str(error.msg)):
            _fill(lines, int(header[1]) - 1, at)
        else:
            _drop(lines, at)
            dropped += 1
    return Salvaged("", dropped + 1)


def _fill(lines: list[str], header: int, at: int) -> None:
    """Put `pass` into the block of a header.

    Args:
        at: the line of the compiler's error.
    """
    indent = lines[header][: len(lines[header]) - len(lines[header].lstrip())]
    lines.insert(at if at > header else len(lines), f"{indent}    pass")


def _drop(lines: list[str], at: int) -> None:
    """Empty the statement around a line."""
    while at and not lines[at].strip():
        at -= 1
    start, end = _statement(lines, at)
    lines[start:end] = [""]


def _statement(lines: list[str], at: int) -> tuple[int, int]:
    """Return the first line and the end of the logical line that holds this line."""
    start = 0
    while start <= at:
        end = start + _logical_length(lines[start:])
        if at < end:
            return start, end
        start = end
    return at, at + 1


def _logical_length(lines: list[str]) -> int:
    """Count the lines of the logical line that starts with the first; one if it never ends."""
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
