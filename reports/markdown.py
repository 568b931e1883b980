"""Text from a worker as Markdown, and the environment of all templates: such text is data from untrusted code."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader, StrictUndefined

from reports.text import clean, fence_for, span

MAX_TEXT = 1500
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|@~&$])")
_LINE_MARK = re.compile(r"^(\d*)([-.=:])(?=[\s=:-]|$)")
# GitHub looks for these in the rendered text, where a backslash is gone: only a sign in between keeps them text.
_REFERENCE = re.compile(r"(?<=[@#])(?=\S)|(?<=GH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.|$)", re.IGNORECASE)
ZERO_WIDTH = "\N{ZERO WIDTH SPACE}"


def escaped(text: object) -> str:
    """Text that stays text in Markdown and in a table cell, and that mentions and links nothing: one line, bounded."""
    line = clean(" ".join(str(text)[: MAX_TEXT * 10].split())[:MAX_TEXT])
    return _LINE_MARK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", _REFERENCE.sub(ZERO_WIDTH, line)))


def fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    shown, fence = fence_for(clean(text).strip(), 3)
    return f"{fence}{language}\n{shown}\n{fence}"


def environment() -> Environment:
    """Templates with the filters above; a missing name is an error."""
    # Markdown is no HTML: autoescape would write entities into code blocks. `md` and `code` escape instead.
    made = Environment(loader=PackageLoader("reports"), undefined=StrictUndefined, trim_blocks=True)
    made.filters.update(md=escaped, code=fenced, span=span)
    return made
