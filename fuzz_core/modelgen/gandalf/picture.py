"""The picture of a graph, drawn from its program, to give the reader of a script an overview."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 150, 26, 170, 60, 16
DATA, OPERATOR, LAST = "#e8eef7", "#ffffff", "#fde2e1"
MAX_LABEL = 22
_TENSOR = re.compile(r"[xn]\d+")


class _Box(NamedTuple):
    """A box in the picture."""

    name: str  # the variable in the program
    label: str  # the text in the box
    takes: tuple[str, ...]  # the boxes that it depends on


def svg(program: str) -> str | None:
    """Draw the picture, the same for the same program; None for a program without the tensor names of graphs.

    Data stands above the nodes that use it, and the last node, which the script is about, stands below.
    """
    try:
        boxes = list(_boxes(ast.parse(program)))
    except (SyntaxError, ValueError):
        return None
    if not any(each.name[0] == "n" for each in boxes):
        return None
    corners = _corners(boxes)
    width = MARGIN + ACROSS + max(x for x, _ in corners.values())
    height = MARGIN + DOWN + max(y for _, y in corners.values())
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for each in boxes:
        to_x, to_y = corners[each.name]
        for from_x, from_y in map(corners.__getitem__, each.takes):
            ends = f'x1="{from_x + WIDTH // 2}" y1="{from_y + HEIGHT}" x2="{to_x + WIDTH // 2}" y2="{to_y}"'
            lines.append(f'<line {ends} stroke="#888888"/>')
    for each in boxes:
        x, y = corners[each.name]
        colour = DATA if each.name[0] == "x" else LAST if each is boxes[-1] else OPERATOR
        text = escape(f"{each.name}: {each.label}")
        lines += [
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4" fill="{colour}" stroke="#555555"/>',
            f'<text x="{x + WIDTH // 2}" y="{y + 17}" text-anchor="middle">{text}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def _boxes(tree: ast.Module) -> Iterator[_Box]:
    """Yield a box for each tensor, in order, from its last assignment.

    Weights and layers are named after the node that they belong to.
    """
    found: dict[str, _Box] = {}
    behind: dict[str, set[str]] = defaultdict(set)
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0].id
        used = [each.id for each in ast.walk(statement.value) if isinstance(each, ast.Name)]
        if _TENSOR.fullmatch(name):
            takes = dict.fromkeys(each for word in used for each in sorted(behind[word] | {word}) if each in found)
            found[name] = _Box(name, _label(name, statement.value), tuple(takes))
        elif _TENSOR.fullmatch(name.partition("_")[0]):
            behind[name] = {each for each in used if each in found}
    yield from found.values()


def _label(name: str, value: ast.expr) -> str:
    calls = [each.func for each in ast.walk(value) if isinstance(each, ast.Call)]
    shown = ast.unparse(calls[0] if calls and name[0] == "n" else value)
    if name[0] == "x":
        shapes = [each for each in ast.walk(value) if isinstance(each, ast.Tuple)]
        shown = f"data {ast.unparse(shapes[0])}" if shapes else "data"
    shown = shown.removeprefix(f"{name}_")
    return shown if len(shown) <= MAX_LABEL else f"{shown[: MAX_LABEL - 1]}…"


def _corners(boxes: list[_Box]) -> dict[str, tuple[int, int]]:
    """Return the upper left corner of each box: below all boxes that it takes, and beside boxes of the same depth."""
    rows: dict[str, int] = {}
    columns: Counter[int] = Counter()
    corners = {}
    for each in boxes:
        row = rows[each.name] = 1 + max((rows[name] for name in each.takes), default=-1)
        corners[each.name] = MARGIN + columns[row] * ACROSS, MARGIN + row * DOWN
        columns[row] += 1
    return corners
