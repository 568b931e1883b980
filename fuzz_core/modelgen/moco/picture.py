"""A picture of a derivation tree, as Markdown with a Mermaid flowchart for GitHub. Colours show the states."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from fuzz_core.modelgen.moco.nodes import (
    FINDING,
    MISFIT,
    OK,
    PENDING,
    REFUSED,
    RESOURCES,
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
    """Returns the node's operator, its change and its state, a line each."""
    changed = f"{node.parameter}: {node.old} -> {node.new}" if node.parameter else f"{node.old} -> {node.new}"
    pruned = " (pruned)" if node.kept is False and node.positive and node.state == OK else ""
    lines = [
        f"#{node.number} {node.operator}",
        changed if node.new else node.call,
        f"{node.state or 'not run yet'}{pruned}",
    ]
    return "<br>".join(_text(line[:MAX_TEXT]) for line in lines)


def _text(text: str) -> str:
    """Returns text for a quoted label: markup characters as numbers, control characters as question marks."""
    plain = "".join(sign if sign.isprintable() else "?" for sign in text)
    return "".join(sign if sign.isalnum() or sign in " _.,:()=-?" else f"#{ord(sign)};" for sign in plain)


def _drawn(nodes: Sequence[TreeNode], widest: int) -> list[TreeNode]:
    """Returns the nodes to draw: the most important ones of each level, each below a parent that is drawn itself."""
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
    """Findings and all their ancestors. Parents have smaller numbers than their children."""
    found: set[int] = set()
    for node in reversed(nodes):
        if node.state == FINDING or node.number in found:
            found.add(node.number)
            if node.parent is not None:
                found.add(node.parent)
    return found
