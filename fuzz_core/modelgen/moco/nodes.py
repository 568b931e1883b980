"""A node of the derivation tree (MoCo 2024, section III-D): one block or step inserted into its parent's program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ROOT, ORIGINAL, REPLACED, GENERATED, CHECKED, EXTREME = "root", "original", "AR", "RG", "BC", "EV"
# What became of a node; "" where it has not been run. SKIPPED: there was nothing to run.
PENDING = ""
OK, REFUSED, MISFIT, TRAINING, SYNTAX, RESOURCES, FINDING, SKIPPED = (
    "ok",
    "refused",
    "misfit",
    "training configuration",
    "syntax",
    "resources",
    "finding",
    "skipped",
)
STATES = (OK, REFUSED, MISFIT, TRAINING, SYNTAX, RESOURCES, FINDING, SKIPPED)


class Arrival(NamedTuple):
    """What arrives at a slot: sizes and element type (a name of `ir.dtypes`) of the activation."""

    shape: tuple[int, ...]
    dtype: str = "float32"


class Result(NamedTuple):
    """What became of a node: one of STATES, and why. arrives: what its program brought to empty slots, by block."""

    state: str
    why: str = ""
    arrives: Mapping[int, Arrival] = {}


class Node(NamedTuple):
    """A node by its number, from 0 for the root. The program of a node follows from the chain of its ancestors.

    parent: None for the root. level: how many steps are inserted. block: the one that was chosen in this level's step,
    None for the root; the other blocks of the step are as in the seed. call: that block's call as text. operator:
    `root`, `original`, `AR`, `RG` or `BC` (`EV` in older trees). parameter, old, new: what it changed, from
    which expression to which.
    line: where the block stands in the seed. positive: whether it is to run. base: of a BC node, the sibling
    whose block it changed. equivalence: its class for pruning. kept: whether it has children, None until its level is
    pruned. arrives: what its program brought to the blocks of the next step.
    """

    number: int
    parent: int | None
    level: int
    block: int | None
    api: str
    call: str
    operator: str
    parameter: str = ""
    old: str = ""
    new: str = ""
    line: int = 0
    positive: bool = True
    base: int | None = None
    equivalence: str = ""
    state: str = PENDING
    why: str = ""
    kept: bool | None = None
    arrives: Mapping[int, Arrival] = {}
