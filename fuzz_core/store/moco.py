"""MoCo's knowledge of apis, and its derivation trees: one row for each node, so that a later run continues a tree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError

from fuzz_core.modelgen.moco.facts import VERSION, Facts, Knowledge
from fuzz_core.modelgen.moco.knowledge.file import plain
from fuzz_core.modelgen.moco.nodes import Arrival, TreeNode
from fuzz_core.store.base import Base, to_json

_TREES = """
SELECT moco_trees.*, COUNT(number) AS nodes, COUNT(number) FILTER (WHERE state = '') AS pending
FROM moco_trees LEFT JOIN moco_nodes ON tree = id WHERE {where} GROUP BY id ORDER BY id
"""


class TreeRow(NamedTuple):
    """A derivation tree: its seed program, by name and digest of its text, and the seed of its random stream."""

    id: int
    target: str
    program: str
    digest: str
    seed: int
    options: dict[str, Any]  # JSON-able
    begun: str  # ISO 8601, UTC
    nodes: int  # how many there are; `pending` of them have not been run yet
    pending: int


class MocoTables(Base):
    """The tables `facts`, `moco_trees` and `moco_nodes`.

    Facts travel with the state. Trees are working data of this file; they are neither merged nor parted.
    """

    def save_knowledge(self, target: str, knowledge: Knowledge) -> None:
        """Replace what is known of the apis of a target."""
        unfinished = set(knowledge.unfinished)
        rows = [
            (target, name, VERSION, name in unfinished, knowledge.embedding, body_of(facts))
            for name, facts in sorted(knowledge.apis.items())
        ]
        with self._transaction():
            self._db.execute("DELETE FROM facts WHERE target = ?", (target,))
            self._insert_all("facts", rows)

    def knowledge(self, target: str) -> Knowledge | None:
        """Return the knowledge of a target; None if there is none that this program reads.

        The knowledge may come from an untrusted file: see `modelgen.moco.knowledge.file`.
        """
        sql = """SELECT api, body, embedding, unfinished, library FROM facts JOIN targets ON target = key
            WHERE target = ? AND facts.version = ? ORDER BY api"""
        rows = self._rows(sql, target, VERSION)
        if not rows:
            return None
        return Knowledge(
            library=rows[0]["library"],
            build=target,
            embedding=max(row["embedding"] for row in rows),
            unfinished=tuple(row["api"] for row in rows if row["unfinished"]),
            apis={row["api"]: Facts.model_validate_json(row["body"]) for row in rows},
        )

    def builds_known(self) -> set[str]:
        """Return the keys of the targets that have knowledge on record."""
        rows = self._rows("SELECT DISTINCT target FROM facts WHERE version = ?", VERSION)
        return {row["target"] for row in rows}

    def begin_tree(self, target: str, program: str, digest: str, seed: int, options: Mapping[str, Any]) -> int:
        """Record a new tree; return its number."""
        with self._transaction():
            cells = {"program": program, "digest": digest, "seed": str(seed), "begun": self._now()}
            return self._insert("moco_trees", target=target, **cells, options=options) or 0

    def tell_tree(self, tree: int, options: Mapping[str, Any]) -> None:
        """Replace what is said of a tree."""
        with self._transaction():
            self._update("moco_trees", tree, options=options)

    def save_nodes(self, tree: int, nodes: Iterable[TreeNode]) -> None:
        """Write nodes that are new or otherwise, in one transaction."""
        with self._transaction():
            self._insert_all("moco_nodes", ((tree, *_row(node)) for node in nodes), "INSERT OR REPLACE")

    def trees(self, target: str | None = None) -> list[TreeRow]:
        """Return trees (of one target), the oldest first."""
        return self._records(TreeRow, _TREES.format(where="?1 IS NULL OR target = ?1"), target)

    def tree(self, number: int) -> TreeRow:
        """Return a tree.

        Raises:
            UserError: no tree has this number.
        """
        return self._numbered(
            TreeRow, "tree", number, _TREES.format(where="id = ?"), "write a number that `nightfuzz moco tree` lists"
        )

    def tree_nodes(self, tree: int) -> list[TreeNode]:
        """Return the nodes of a tree, by number."""
        sql = f"SELECT {', '.join(TreeNode._fields)} FROM moco_nodes WHERE tree = ? ORDER BY number"
        # Many nodes bring the same to the next slots; they share it.
        arrivals = cache(_arrivals)
        return [_node(row, arrivals) for row in self._db.conn.execute(sql, (tree,))]


def _row(node: TreeNode) -> tuple[Any, ...]:
    arrives = [[block, arrival.shape, arrival.dtype] for block, arrival in sorted(node.arrives.items())]
    return (*node[:-1], to_json(arrives) if arrives else "")


def _node(row: tuple[Any, ...], arrivals: Callable[[str], dict[int, Arrival]]) -> TreeNode:
    *cells, positive, base, equivalence, state, why, kept, arrives = row
    truth = None if kept is None else bool(kept)
    return TreeNode._make((*cells, bool(positive), base, equivalence, state, why, truth, arrivals(arrives)))


def _arrivals(body: str) -> dict[int, Arrival]:
    return {block: Arrival(tuple(shape), dtype) for block, shape, dtype in json.loads(body or "[]")}


def body_of(facts: Facts) -> str:
    """Return the facts of an api as JSON, defaults left out; the same text for the same facts."""
    return json.dumps(plain(facts), separators=(",", ":"))


def is_body(body: str, api: str) -> bool:
    """Return whether `body_of` gives this text for facts of the api."""
    try:
        facts = Facts.model_validate_json(body)
    except ValidationError:
        return False
    return facts.api == api and body_of(facts) == body
