"""Pictures of a derivation tree: Markdown with a Mermaid flowchart for GitHub, and an SVG of the path to one node.

Colours show the states.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from fuzz_core.modelgen.moco.nodes import (
    FINDING,
    MISFIT,
    OK,
    ORIGINAL,
    PENDING,
    REFUSED,
    REPLACED,
    RESOURCES,
    ROOT,
    SKIPPED,
    SYNTAX,
    TRAINING,
    TreeNode,
)

COLOURS: Mapping[str, str] = {
    OK: "#2e7d32",
    REFUSED: "#1565c0",
    MISFIT: "#f9a825",
    TRAINING: "#8d6e63",
    SYNTAX: "#6a1b9a",
    RESOURCES: "#ef6c00",
    FINDING: "#c62828",
    SKIPPED: "#9e9e9e",
    PENDING: "#ffffff",
}
# A wider level ends with a count. GitHub renders at most 500 edges and 50,000 characters.
WIDEST, MOST, MAX_TEXT = 20, 400, 40
# The picture of a path: a row for each level, the other nodes of the level beside the path, and then its words.
ROW, TRUNK, BESIDE, APART, MOST_BESIDE, WORDS, MAX_WORDS = 34, 24, 52, 17, 8, 196, 84
SVG_WIDTH, MARGIN = 740, 26


def mermaid(nodes: Sequence[TreeNode], title: str = "", widest: int = WIDEST) -> str:
    """Return the picture of a tree, the same for the same nodes.

    Args:
        title: the heading.
        widest: how many nodes of each level are drawn; findings and their ancestors come first.
    """
    drawn = _drawn(nodes, widest)
    lines = [f"  classDef {_class(state)} fill:{colour},stroke:#333333" for state, colour in COLOURS.items()]
    lines += [f'  n{node.number}["{_label(node)}"]:::{_class(node.state)}' for node in drawn]
    lines += [f"  n{node.parent} {'-->' if node.positive else '-.->'} n{node.number}" for node in drawn[1:]]
    there = {node.number for node in drawn}
    rest = Counter(node.state for node in nodes if node.number not in there)
    if rest:
        said = ", ".join(f"{count:,} {state or 'not run yet'}" for state, count in rest.most_common())
        lines.append(f'  rest["{rest.total():,} more: {said}"]')
    heading = _text(title or "derivation tree")
    return "\n".join([f"# {heading}", "", "```mermaid", "flowchart TD", *lines, "```", ""])


def _class(state: str) -> str:
    return state.replace(" ", "_") or "pending"


def _label(node: TreeNode) -> str:
    """Return the node's operator, its change and its state, a line each."""
    changed = f"{node.parameter}: {node.old} -> {node.new}" if node.parameter else f"{node.old} -> {node.new}"
    pruned = " (pruned)" if node.kept is False and node.positive and node.state == OK else ""
    lines = [
        f"#{node.number} {node.operator}",
        changed if node.new else node.call,
        f"{node.state or 'not run yet'}{pruned}",
    ]
    return "<br>".join(_text(line[:MAX_TEXT]) for line in lines)


def _text(text: str) -> str:
    """Return text for a quoted label: markup characters as numbers, control characters as question marks."""
    return "".join(sign if sign.isalnum() or sign in " _.,:()=-?" else f"#{ord(sign)};" for sign in _printable(text))


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _drawn(nodes: Sequence[TreeNode], widest: int) -> list[TreeNode]:
    """Return the nodes to draw: the most important ones of each level, each below a parent that is drawn itself."""
    below = _findings_below(nodes)
    levels: dict[int, list[TreeNode]] = defaultdict(list)
    for node in nodes:
        levels[node.level].append(node)
    found: list[TreeNode] = []
    there: set[int | None] = {None}
    for level in sorted(levels):
        able = [node for node in levels[level] if node.parent in there]
        able.sort(key=lambda node: (-(node.number in below), -bool(node.kept), node.number))
        chosen = sorted(able[:widest], key=lambda node: node.number)
        there.update(node.number for node in chosen)
        found += chosen
    return found[:MOST]


def _findings_below(nodes: Sequence[TreeNode]) -> set[int]:
    """Return findings and all their ancestors.

    Parents have smaller numbers than their children.
    """
    found: set[int] = set()
    for node in reversed(nodes):
        if node.state == FINDING or node.number in found:
            found.add(node.number)
            if node.parent is not None:
                found.add(node.parent)
    return found


def path_svg(nodes: Sequence[TreeNode], number: int, program: str) -> str:
    """Draw the path from the seed program to a node, with the nodes beside the path, the same for the same tree.

    Findings beside the path are left out: each has its own report, or is private.

    Args:
        number: the node at the end of the path, drawn as a finding.
        program: name of the seed program.
    """
    by_number = {node.number: node for node in nodes}
    path = [by_number[number]]
    while (parent := path[0].parent) is not None:
        path.insert(0, by_number[parent])
    beside: dict[int | None, list[TreeNode]] = defaultdict(list)
    for node in nodes:
        if node.state not in (FINDING, PENDING):
            beside[node.parent].append(node)
    # Lines first: dots lie above them.
    body: list[str] = []
    dots: list[str] = []
    states = dict.fromkeys([OK])
    for row, node in enumerate(path):
        y = MARGIN + ROW * row
        if row:
            body.append(_line(TRUNK, y - ROW, TRUNK, y, 2))
        others = [each for each in beside[node.parent] if each.number != node.number][:MOST_BESIDE] if row else []
        for place, other in enumerate(others):
            x = BESIDE + APART * place
            body.append(_line(TRUNK, y - ROW, x, y, 1))
            dots.append(_dot(x, y, 5, other.state))
            states[other.state] = None
        is_last = node.number == number
        dots.append(_dot(TRUNK, y, 8, FINDING if is_last else node.state))
        words = f"seed program {program}" if node.operator == ROOT else _change(node)
        dots.append(_words(WORDS, y, words, "700" if is_last else "400"))
    y = MARGIN + ROW * len(path)
    dots += _legend([FINDING, *states], y)
    size = f'width="{SVG_WIDTH}" height="{y + MARGIN}" viewBox="0 0 {SVG_WIDTH} {y + MARGIN}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    ground = f'<rect width="{SVG_WIDTH}" height="{y + MARGIN}" fill="#ffffff"/>'
    return "\n".join([head, ground, *body, *dots, "</svg>", ""])


def _change(node: TreeNode) -> str:
    """Return the change of a node in a few words."""
    if node.operator == ORIGINAL:
        return f"{node.call}, as in the seed"
    name = node.api.rpartition(".")[2]
    if node.operator == REPLACED:
        return f"{node.operator}: {node.old.rpartition('.')[2]} → {_layer(node.call)}"
    return f"{node.operator}: {node.parameter} of {name} {node.old or 'default'} → {node.new}"


def _layer(call: str) -> str:
    """Return a call without the layer that fits its input to it."""
    try:
        match ast.parse(call, mode="eval").body:
            case ast.Call(func=ast.Name(id="Fitted"), args=[layer, *_]):
                return ast.unparse(layer)
    except SyntaxError:
        pass
    return call


def _legend(states: Sequence[str], y: int) -> Iterator[str]:
    x = TRUNK
    for state in states:
        yield _dot(x, y, 5, state)
        yield _words(x + 12, y, "this bug" if state == FINDING else "runs" if state == OK else state, "400", "#63636a")
        x += 40 + 8 * len(state)


def _line(x1: int, y1: int, x2: int, y2: int, wide: int) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#b9b9b9" stroke-width="{wide}"/>'


def _dot(x: int, y: int, radius: int, state: str) -> str:
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{COLOURS[state]}"/>'


def _words(x: int, y: int, text: str, weight: str, colour: str = "#1d1d1f") -> str:
    plain = _printable(text)
    shown = plain if len(plain) <= MAX_WORDS else f"{plain[: MAX_WORDS - 1]}…"
    return f'<text x="{x}" y="{y + 4}" font-weight="{weight}" fill="{colour}">{escape(shown)}</text>'
