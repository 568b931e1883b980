"""Edits of a source text by positions in its syntax tree."""

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


def replace_expression(node: ast.expr, text: str) -> Edit:
    """Return an edit that replaces an expression of one line."""
    return Edit(node.lineno, node.col_offset, node.end_col_offset or node.col_offset, text)


def apply_edits(code: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap."""
    lines = [line.encode() for line in code.split("\n")]
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.text.encode() + line[edit.end :]
    return b"\n".join(lines).decode()
