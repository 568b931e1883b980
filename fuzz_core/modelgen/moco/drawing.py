"""A picture of a derivation tree, as SVG: levels downwards, colours by state, what was mutated as tooltips."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from fuzz_core.modelgen.moco.nodes import (
    FINDING,
    MISFIT,
    OK,
    PENDING,
    REFUSED,
    RESOURCES,
    STATES,
    SYNTAX,
    TRAINING,
    Node,
)

COLOURS: Mapping[str, str] = {
    OK: "#2e7d32",
    REFUSED: "#1565c0",
    MISFIT: "#f9a825",
    TRAINING: "#8d6e63",
    SYNTAX: "#6a1b9a",
    RESOURCES: "#ef6c00",
    FINDING: "#c62828",
    PENDING: "#ffffff",
}
# Of a wider level, the rest is told in one bar.
WIDEST = 60
STEP, DOWN, RADIUS, MARGIN, LEFT, BAR, APART = 18, 64, 6, 20, 120, 160, 130
MAX_TEXT = 300


class _Place(NamedTuple):
    x: float
    y: float


def svg(nodes: Sequence[Node], title: str = "", widest: int = WIDEST) -> str:
    """The picture of a tree, the same for the same nodes. widest: how many nodes are drawn of each level."""
    drawn = _drawn(nodes, widest)
    places = _places(drawn)
    right = max(place.x for place in places.values()) + STEP if places else LEFT
    rest = _rest(nodes, drawn)
    width = right + MARGIN + (BAR + 60 if rest else 0)
    depth = max((node.level for node in nodes), default=0)
    height = MARGIN + DOWN * (depth + 1) + 40
    width = max(width, APART * (len(COLOURS) + 2))
    body = [
        *_levels(nodes),
        *(_edge(node, places) for node in drawn if node.parent is not None),
        *(_circle(node, places[node.number]) for node in drawn),
        *(line for level, counts in rest.items() for line in _bar(counts, right + MARGIN, _down(level))),
        *_legend(height - 20),
    ]
    return "\n".join([*_head(title, width, height), *body, "</svg>", ""])


def _head(title: str, width: float, height: float) -> list[str]:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f"<title>{_text(title or 'derivation tree')}</title>",
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
    ]


def _drawn(nodes: Sequence[Node], widest: int) -> list[Node]:
    """The nodes that are drawn: of each level those that matter most, each below a parent that is drawn itself."""
    below = _findings_below(nodes)
    levels: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        levels[node.level].append(node)
    found: list[Node] = []
    there: set[int | None] = {None}
    for level in sorted(levels):
        able = [node for node in levels[level] if node.parent in there]
        able.sort(key=lambda node: (-(node.number in below), -bool(node.kept), node.number))
        chosen = sorted(able[:widest], key=lambda node: node.number)
        there.update(node.number for node in chosen)
        found += chosen
    return found


def _findings_below(nodes: Sequence[Node]) -> set[int]:
    """Findings and all their ancestors. Parents have smaller numbers than their children."""
    found: set[int] = set()
    for node in reversed(nodes):
        if node.state == FINDING or node.number in found:
            found.add(node.number)
            if node.parent is not None:
                found.add(node.parent)
    return found


def _places(drawn: Sequence[Node]) -> dict[int, _Place]:
    """Leaves from left to right, and parents over the middle of their children; without recursion."""
    below: dict[int | None, list[Node]] = defaultdict(list)
    for node in drawn:
        below[node.parent].append(node)
    order: list[Node] = []
    stack = below[None][::-1]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += below[node.number][::-1]
    across: dict[int, float] = {}
    leaves = 0
    for node in order:
        if not below[node.number]:
            across[node.number] = LEFT + STEP * leaves
            leaves += 1
    for node in reversed(order):
        if ends := [across[child.number] for child in below[node.number]]:
            across[node.number] = (ends[0] + ends[-1]) / 2
    return {node.number: _Place(across[node.number], _down(node.level)) for node in drawn}


def _down(level: int) -> float:
    return MARGIN + 20 + DOWN * level


def _levels(nodes: Iterable[Node]) -> list[str]:
    counts = Counter(node.level for node in nodes)
    return [
        f'<text x="8" y="{_down(level) + 4:g}" fill="#666666">level {level} ({count:,})</text>'
        for level, count in sorted(counts.items())
    ]


def _edge(node: Node, places: Mapping[int, _Place]) -> str:
    end = places[node.number]
    begin = places[node.parent or 0]
    return (
        f'<line x1="{begin.x:g}" y1="{begin.y:g}" x2="{end.x:g}" y2="{end.y:g}" stroke="#999999"'
        f"{'' if node.positive else ' stroke-dasharray=' + quoteattr('3 3')}{_faint(node)}/>"
    )


def _circle(node: Node, place: _Place) -> str:
    """Negative nodes are squares."""
    colour = COLOURS.get(node.state, COLOURS[PENDING])
    look = f'fill="{colour}" stroke="#333333"{_faint(node)}'
    title = f"<title>{_text(told(node))}</title>"
    if node.positive:
        return f'<circle cx="{place.x:g}" cy="{place.y:g}" r="{RADIUS}" {look}>{title}</circle>'
    corner = f'x="{place.x - RADIUS:g}" y="{place.y - RADIUS:g}"'
    return f'<rect {corner} width="{2 * RADIUS}" height="{2 * RADIUS}" {look}>{title}</rect>'


def _faint(node: Node) -> str:
    return ' opacity="0.35"' if node.kept is False and node.state in (OK, REFUSED, MISFIT) else ""


def told(node: Node) -> str:
    """A node in a few lines: what it inserts, what was changed, and what became of it."""
    changed = f"{node.parameter}: {node.old} -> {node.new}" if node.parameter else f"{node.old} -> {node.new}"
    lines = [
        f"#{node.number} {node.operator}{f' (line {node.line})' if node.line else ''}",
        node.call,
        changed if node.new else "",
        " ".join([node.state or "not run yet", node.why]).strip(),
        "pruned" if node.kept is False and node.positive and node.state == OK else "",
    ]
    return "\n".join(line[:MAX_TEXT] for line in lines if line)


def _rest(nodes: Sequence[Node], drawn: Sequence[Node]) -> dict[int, Counter[str]]:
    """How many nodes of a level are not drawn, by state."""
    there = {node.number for node in drawn}
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for node in nodes:
        if node.number not in there:
            found[node.level][node.state] += 1
    return dict(sorted(found.items()))


def _bar(counts: Counter[str], x: float, y: float) -> list[str]:
    total = counts.total()
    lines = []
    at = x
    for state in (state for state in COLOURS if counts[state]):
        part = BAR * counts[state] / total
        title = f"<title>{counts[state]:,} {_text(state or 'not run yet')}</title>"
        look = f'height="{2 * RADIUS}" fill="{COLOURS[state]}" stroke="#333333" stroke-width="0.5"'
        lines.append(f'<rect x="{at:g}" y="{y - RADIUS:g}" width="{part:g}" {look}>{title}</rect>')
        at += part
    return [*lines, f'<text x="{x + BAR + 6:g}" y="{y + 4:g}">{total:,} more</text>']


def _legend(y: float) -> list[str]:
    signs = [
        line
        for place, state in enumerate((*STATES, PENDING))
        for line in (
            f'<circle cx="{16 + APART * place}" cy="{y:g}" r="{RADIUS}" fill="{COLOURS[state]}" stroke="#333333"/>',
            f'<text x="{27 + APART * place}" y="{y + 4:g}">{_text(state or "not run yet")}</text>',
        )
    ]
    x = 10 + APART * len(COLOURS)
    return [*signs, f'<text x="{x}" y="{y + 4:g}" fill="#666666">squares: negative; faint: without children</text>']


def _text(text: str) -> str:
    """Text that XML allows: no control characters, no lone surrogates, and its own signs escaped."""
    allowed = "".join(sign if sign in "\n\t" or (sign >= " " and sign.isprintable()) else "?" for sign in text)
    return escape(allowed)
