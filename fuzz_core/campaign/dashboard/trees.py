"""The derivation trees of the dashboard: the path to each public bug that a model program shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fuzz_core.modelgen.moco.nodes import TreeNode, mutation_in_words
from fuzz_core.modelgen.moco.picture import path_svg
from fuzz_core.store.store import Store


class BugOrigin(NamedTuple):
    """The build and the derivation tree that have shown a public bug."""

    build: str  # key of the build that it was found on
    text: str  # see `campaign.moco.judge.origin`


def tree_pictures(store: Store, origins: Mapping[int, BugOrigin]) -> dict[int, str]:
    """Return an SVG for each bug whose node is on record, by the bug's number.

    Trees are working data of the machine that grew them, and no part of a public state. A picture shows the path to a
    public bug, and programs beside the path that are no finding. So a private finding is in no picture.

    Args:
        store: the whole state.
        origins: public bugs alone.
    """
    found: dict[int, str] = {}
    trees = store.trees()
    for bug, origin in origins.items():
        program = origin.text.partition(",")[0]
        for tree in trees:
            if (tree.target, tree.program) != (origin.build, program):
                continue
            nodes = store.tree_nodes(tree.id)
            if (number := _node_of(origin.text, program, nodes)) is not None:
                found[bug] = path_svg(nodes, number, program)
                break
    return found


def _node_of(text: str, program: str, nodes: Sequence[TreeNode]) -> int | None:
    """Return the first node whose mutation is that of the origin."""
    words = ((node, f"{program}, line {node.line}, block {node.block}: {mutation_in_words(node)}") for node in nodes)
    return next(
        (node.number for node, each in words if node.block is not None and text.startswith((f"{each} (", f"{each}; "))),
        None,
    )
