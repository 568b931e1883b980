"""Derivation trees of MoCo, one row for each node: a tree goes on from where its record ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.nodes import Arrival, Node
from fuzz_core.store.base import Base, text, to_json

_COLUMNS = (
    "number",
    "parent",
    "level",
    "block",
    "api",
    "call",
    "operator",
    "parameter",
    "old",
    "new",
    "line",
    "positive",
    "base",
    "equivalence",
    "state",
    "why",
    "kept",
    "arrives",
)
_SAVE = f"INSERT OR REPLACE INTO moco_nodes (tree, {', '.join(_COLUMNS)}) VALUES (?{', ?' * len(_COLUMNS)})"
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
        sql = "INSERT INTO moco_trees (target, program, digest, seed, options, begun) VALUES (?, ?, ?, ?, ?, ?)"
        row = (target, text(program), text(digest), str(seed), text(to_json(dict(options))), self._now())
        with self._transaction():
            return int(self._db.conn.execute(sql, row).lastrowid or 0)

    def tell_tree(self, tree: int, options: Mapping[str, Any]) -> None:
        """Replaces what is said of a tree."""
        with self._transaction():
            sql = "UPDATE moco_trees SET options = ? WHERE id = ?"
            self._db.conn.execute(sql, (text(to_json(dict(options))), tree))

    def save_nodes(self, tree: int, nodes: Iterable[Node]) -> None:
        """Writes nodes that are new or otherwise, in one transaction."""
        with self._transaction():
            self._db.conn.executemany(_SAVE, ((tree, *_row(node)) for node in nodes))

    def trees(self, target: str | None = None) -> list[TreeRow]:
        """Trees (of one target), the oldest first."""
        rows = self._rows(_TREES.format(where="?1 IS NULL OR target = ?1"), target)
        return [_tree(row) for row in rows]

    def tree(self, number: int) -> TreeRow:
        """One tree. Raises UserError where there is none."""
        rows = self._rows(_TREES.format(where="id = ?"), number)
        if not rows:
            raise UserError(f"no tree {number} in {self.path}")
        return _tree(rows[0])

    def tree_nodes(self, tree: int) -> list[Node]:
        """The nodes of a tree, by number."""
        sql = f"SELECT {', '.join(_COLUMNS)} FROM moco_nodes WHERE tree = ? ORDER BY number"
        # Many nodes bring the same to the next slots; they share it.
        known: dict[str, dict[int, Arrival]] = {}
        return [_node(row, known) for row in self._db.conn.execute(sql, (tree,))]


def _tree(row: dict[str, Any]) -> TreeRow:
    return TreeRow(**{**row, "seed": int(row["seed"]), "options": json.loads(row["options"])})


def _row(node: Node) -> tuple[Any, ...]:
    arrives = [[block, arrival.shape, arrival.dtype] for block, arrival in sorted(node.arrives.items())]
    cells = (*node[:-1], to_json(arrives) if arrives else "")
    return tuple(text(cell) if isinstance(cell, str) else cell for cell in cells)


def _node(row: tuple[Any, ...], known: dict[str, dict[int, Arrival]]) -> Node:
    *cells, positive, base, equivalence, state, why, kept, arrives = row
    if arrives not in known:
        known[arrives] = _arrivals(arrives)
    truth = None if kept is None else bool(kept)
    return Node._make((*cells, bool(positive), base, equivalence, state, why, truth, known[arrives]))


def _arrivals(body: str) -> dict[int, Arrival]:
    return {block: Arrival(tuple(shape), dtype) for block, shape, dtype in json.loads(body or "[]")}
