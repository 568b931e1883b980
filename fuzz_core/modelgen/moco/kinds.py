"""The four kinds of results of MoCo (2024, table VII), by a block's mutation and the oracle's verdict."""

from __future__ import annotations

from fuzz_core.ir.outcome import Verdict
from fuzz_core.modelgen.moco.nodes import CHECKED, EXTREME, FINDING, TreeNode
from fuzz_core.oracles.kinds import kind_of as kind_of_verdict

DOCUMENTATION, PERFORMANCE, BOUNDARY, IMPLEMENTATION = (
    "inconsistency with documentation",
    "performance",
    "boundary check",
    "implementation",
)


def kind(operator: str, verdict: Verdict) -> str:
    """Return which of the four kinds a verdict is on a block that this operator made.

    If a value outside of documented bounds is accepted, or ends the process, then a boundary check is missing. The same
    holds for an extreme value of either kind. If a legal value does what the documentation rules out, the kind is a
    documentation inconsistency.
    """
    about = kind_of_verdict(verdict.kind).about
    if about == "cost":
        return PERFORMANCE
    if operator == CHECKED or (operator == EXTREME and verdict.oracle in ("crash", "bounds")):
        return BOUNDARY
    return DOCUMENTATION if about == "documentation" else IMPLEMENTATION


def written(verdict: Verdict) -> str:
    """Return a verdict as it stands in the record of a node, where `kind_of` reads it."""
    return f"{verdict.oracle} {verdict.kind}: {verdict.detail}"


def kind_of(node: TreeNode) -> str:
    """Return which of the four kinds a node with a finding has; empty for any other node."""
    oracle, _, rest = node.why.partition(" ")
    return kind(node.operator, Verdict(oracle, rest.partition(":")[0])) if node.state == FINDING else ""
