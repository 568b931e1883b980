"""Commands in a comment. Strict: a line begins with `/nightfuzz`, outside of code, quotations and hidden text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nightfuzz.reports.text import bounded, code_blocks, text_lines

WORD = "/nightfuzz"
# A comment with more than this is no request but something else.
MOST = 5
LONGEST = 65_536
_LINE = re.compile(rf"{WORD}(?:[ \t]+(?P<name>\S+)(?P<rest>.*))?[ \t]*")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


class Command(NamedTuple):
    """name: what is asked for, known or not; `help` where nothing is. rest: what stands behind it, one line."""

    name: str
    rest: str = ""


def commands(text: str) -> list[Command]:
    """The commands in a comment, each once."""
    found = (_LINE.fullmatch(line) for line in _spoken(text[:LONGEST]))
    asked = [Command(bounded(each["name"] or "help", 40), bounded(each["rest"] or "", 80)) for each in found if each]
    return list(dict.fromkeys(asked))[:MOST]


def _spoken(text: str) -> Iterator[str]:
    """Lines that a reader sees as somebody's own words. A fence that is never closed reaches to the end."""
    shown = _HIDDEN.sub(_blank, text)
    code = {number for block in code_blocks(shown) for number in block.lines}
    yield from (line for number, line in enumerate(text_lines(shown)) if number not in code)


def _blank(hidden: re.Match[str]) -> str:
    """What follows hidden text in its line does not begin that line."""
    return " " + "\n " * hidden[0].count("\n")
