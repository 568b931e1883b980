"""Replacing parts of a source text by their position in its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """New text for a stretch of one line; line counts from 1, start and end are in bytes, as in `ast`."""

    line: int
    start: int
    end: int
    text: str


def replacing(node: ast.expr, text: str) -> Edit:
    """An edit that puts text in the place of an expression that stands on one line."""
    return Edit(node.lineno, node.col_offset, node.end_col_offset or node.col_offset, text)


def applied(code: str, edits: Iterable[Edit]) -> str:
    """The code with edits that do not overlap."""
    lines = [line.encode() for line in code.split("\n")]
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.text.encode() + line[edit.end :]
    return b"\n".join(lines).decode()
