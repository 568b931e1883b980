"""Derivation trees of MoCo, one row for each node: a tree goes on from where its record ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fuzz_core.modelgen.moco.nodes import Arrival, Node
from fuzz_core.store.base import Base, to_json

_TREES = """
SELECT moco_trees.*, COUNT(number) AS nodes, COUNT(number) FILTER (WHERE state = '') AS pending
FROM moco_trees LEFT JOIN moco_nodes ON tree = id WHERE {where} GROUP BY id ORDER BY id
"""


class TreeRow(NamedTuple):
    """A tree: the seed program that it grows from, by name and digest of its text, and the seed of its random stream.

    options: JSON-able. nodes, pending: how many there are, and how many of them have not been run yet. begun: ISO 8601,
    UTC.
    """

    id: int
    target: str
    program: str
    digest: str
    seed: int
    options: dict[str, Any]
    begun: str
    nodes: int
    pending: int


class MocoTables(Base):
    """The tables `moco_trees` and `moco_nodes`: working data of this file; they are neither merged nor parted."""

    def begin_tree(self, target: str, program: str, digest: str, seed: int, options: Mapping[str, Any]) -> int:
        """Records a new tree; returns its number."""
        with self._transaction():
            cells = {"program": program, "digest": digest, "seed": str(seed), "begun": self._now()}
            return self._insert("moco_trees", target=target, **cells, options=options) or 0

    def tell_tree(self, tree: int, options: Mapping[str, Any]) -> None:
        """Replaces what is said of a tree."""
        with self._transaction():
            self._update("moco_trees", tree, options=options)

    def save_nodes(self, tree: int, nodes: Iterable[Node]) -> None:
        """Writes nodes that are new or otherwise, in one transaction."""
        with self._transaction():
            self._insert_all("moco_nodes", ((tree, *_row(node)) for node in nodes), "INSERT OR REPLACE")

    def trees(self, target: str | None = None) -> list[TreeRow]:
        """Trees (of one target), the oldest first."""
        return self._records(TreeRow, _TREES.format(where="?1 IS NULL OR target = ?1"), target)

    def tree(self, number: int) -> TreeRow:
        """One tree. Raises UserError where there is none."""
        return self._numbered(TreeRow, "tree", number, _TREES.format(where="id = ?"))

    def tree_nodes(self, tree: int) -> list[Node]:
        """The nodes of a tree, by number."""
        sql = f"SELECT {', '.join(Node._fields)} FROM moco_nodes WHERE tree = ? ORDER BY number"
        # Many nodes bring the same to the next slots; they share it.
        known: dict[str, dict[int, Arrival]] = {}
        return [_node(row, known) for row in self._db.conn.execute(sql, (tree,))]


def _row(node: Node) -> tuple[Any, ...]:
    arrives = [[block, arrival.shape, arrival.dtype] for block, arrival in sorted(node.arrives.items())]
    return (*node[:-1], to_json(arrives) if arrives else "")


def _node(row: tuple[Any, ...], known: dict[str, dict[int, Arrival]]) -> Node:
    *cells, positive, base, equivalence, state, why, kept, arrives = row
    if arrives not in known:
        known[arrives] = _arrivals(arrives)
    truth = None if kept is None else bool(kept)
    return Node._make((*cells, bool(positive), base, equivalence, state, why, truth, known[arrives]))


def _arrivals(body: str) -> dict[int, Arrival]:
    return {block: Arrival(tuple(shape), dtype) for block, shape, dtype in json.loads(body or "[]")}
