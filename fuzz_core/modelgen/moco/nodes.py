"""A node of the derivation tree (MoCo 2024, section III-D): one block or step inserted into its parent's program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fuzz_core.ir.outcome import Verdict
from fuzz_core.oracles.kinds import kind_of as kind_of_verdict

ROOT, ORIGINAL, REPLACED, GENERATED, CHECKED, EXTREME = "root", "original", "AR", "RG", "BC", "EV"
# The most characters of a call in the text of a mutation.
MAX_CALL = 300
# The states of a node; PENDING before it has run. SKIPPED: no program was run for it.
PENDING = ""
STATES = (OK, REFUSED, MISFIT, TRAINING, SYNTAX, RESOURCES, FINDING, SKIPPED) = (
    "ok",
    "refused",
    "misfit",
    "training configuration",
    "syntax",
    "resources",
    "finding",
    "skipped",
)


class Arrival(NamedTuple):
    """Size and element type (a name of `ir.dtypes`) of the activation that arrives at a slot."""

    shape: tuple[int, ...]
    dtype: str = "float32"


class Result(NamedTuple):
    """The outcome of a node."""

    state: str  # one of STATES
    why: str = ""  # the reason for the state
    arrives: Mapping[int, Arrival] = {}  # the activations that its program brought to empty slots, by block


class TreeNode(NamedTuple):
    """A node by its number, from 0 for the root.

    The program of a node follows from the chain of its ancestors.
    """

    number: int
    parent: int | None  # None for the root
    level: int  # how many steps are inserted
    # The block that was chosen in this level's step, None for the root; the step's other blocks are as in the seed.
    block: int | None
    api: str
    call: str  # that block's call as text
    operator: str  # `root`, `original`, `AR`, `RG` or `BC` (`EV` in older trees)
    parameter: str = ""  # the parameter that the operator changed
    old: str = ""  # the expression before the change
    new: str = ""  # the expression after the change
    line: int = 0  # the line of the block in the seed
    positive: bool = True  # whether the program is expected to run
    base: int | None = None  # for a BC node, the sibling whose block it changed
    equivalence: str = ""  # its class for pruning
    state: str = PENDING
    why: str = ""
    kept: bool | None = None  # whether it has children; None until its level is pruned
    arrives: Mapping[int, Arrival] = {}  # the activations that its program brought to the blocks of the next step


def mutation_in_words(node: TreeNode) -> str:
    """Return the mutation of the block of a node, in words."""
    if node.operator in (GENERATED, CHECKED, EXTREME):
        old = node.old[:MAX_CALL] or "its default"
        return f"{node.operator} changed {node.parameter} of {node.api} from {old} to {node.new[:MAX_CALL]}"
    if node.old:
        return f"{node.operator} put {node.call[:MAX_CALL]} in the place of {node.old[:MAX_CALL]}"
    return f"{node.operator} {node.call[:MAX_CALL]}".strip()


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
