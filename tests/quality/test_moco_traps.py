"""Tests that traps, programs that look buggy without a bug, are never reported, and that planted bugs are reported.

A program of `traps/LIBRARY` is a seed with comments above its blocks. `# STATE: CALL` puts this call in the place of
the next block and changes no further block. The branch of the tree must end in this state. The call `as it is` keeps
the next block too. `# finding KIND: CALL` is a planted bug. `# not yet STATE: CALL` is a trap that still springs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from moco_branches import workshop_on
from moco_programs import taken_by

from fuzz_core.campaign.moco import judge
from fuzz_core.campaign.moco.growth import NodeResult, ProgramBench, TreeGrowth
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.modelgen.moco.calls import parse_call
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Parameter
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import (
    CHECKED,
    FINDING,
    OK,
    ORIGINAL,
    REFUSED,
    REPLACED,
    ROOT,
    SKIPPED,
    STATES,
    TreeNode,
)
from fuzz_core.modelgen.moco.program import Block, Call, Program
from fuzz_core.modelgen.moco.tree import Tree, steps_of

REAL = ("torch", "tensorflow", "jittor")
PROGRAMS = Path(__file__).parent / "traps"
UNCHANGED = "as it is"
TRAP = re.compile(rf"^ *# (not yet )?({'|'.join(STATES)})(?: ([\w-]+))?: (.+)$")
TIMEOUT = 3.0
# Checks that cost further executions are made at the trap's node alone, not at the further nodes of its branch.
ALWAYS, NEVER = 1, 1 << 64
# The facts about these apis: the first parameter, and the axis that it is bound to.
BOUND = {
    "torch.nn.Linear": ("in_features", -1),
    "torch.nn.Conv2d": ("in_channels", -3),
    "torch.nn.BatchNorm1d": ("num_features", 1),
    "torch.nn.BatchNorm2d": ("num_features", 1),
    "jittor.nn.Linear": ("in_features", -1),
}


class Trap(NamedTuple):
    """A program with another call for one of its blocks, and the state that its branch must end in."""

    program: Program
    line: int
    block: int
    call: Call
    state: str
    kind: str  # of the finding; empty for other states
    springs: bool  # whether the branch still ends in another state: a trap marked `not yet`

    @property
    def place(self) -> str:
        """File and line of the trap's comment."""
        return f"{self.program.library}/{self.program.name}:{self.line}"


def traps_of(library: str, workshop: BlockWorkshop) -> Iterator[Trap]:
    """Yields the traps of all programs of a library."""
    for path in sorted((PROGRAMS / library).glob("*.py")):
        program = taken_by(workshop, path.name, path.read_text())
        for line, found in comments(path):
            block = next(each for each in program.blocks if each.line > line)
            call = block.call if found[4] == UNCHANGED else called(program, block, found[4])
            yield Trap(program, line, block.number, call, found[2], found[3] or "", bool(found[1]))


def comments(path: Path) -> Iterator[tuple[int, re.Match[str]]]:
    """Yields the lines of a program that state a trap or a planted bug."""
    for line, text in enumerate(path.read_text().splitlines(), 1):
        if (found := TRAP.match(text)) is not None:
            yield line, found


def called(program: Program, block: Block, text: str) -> Call:
    """Returns a call as the program writes it, for the place of a block."""
    made = parse_call(text, "", block.call.applied)
    return made._replace(api=ModuleNames.of(program).public(made.spelled) or made.spelled)


def known(calls: Sequence[Call], library: str) -> Knowledge:
    """Returns the knowledge that a tree needs of the apis of these calls."""
    return Knowledge(library=library, build=f"{library}-1", apis={call.api: facts(call) for call in calls})


def facts(call: Call) -> Facts:
    """Returns facts of an api: whether it is made or applied, and its bound parameter."""
    name, axis = BOUND.get(call.api, ("", None))
    parameters = (Parameter(name=name, dtype="int", required=True, binds=axis),) if name else ()
    return Facts(api=call.api, kind="function" if call.applied else "class", parameters=parameters)


def come_to(trap: Trap, workshop: BlockWorkshop, patch: pytest.MonkeyPatch) -> list[NodeResult]:
    """Grows a branch of a tree: the blocks in their order as they are, with the trap's call in the place of its block.

    Returns the results of its nodes up to the first node that has no children.
    """
    program = trap.program
    knowledge = known([*(block.call for block in program.blocks), trap.call], program.library)
    bench = ProgramBench(program, knowledge, 0)
    tree = Tree(program, knowledge, bench.seed)
    growth, found = TreeGrowth(bench, tree), list[NodeResult]()
    for node in branch(trap):
        tree.nodes[node.number :] = [node]
        patch.setattr(judge, "COMPARED_EVERY", ALWAYS if node.block == trap.block else NEVER)
        grown = growth.grown(workshop, node)
        tree.nodes[node.number] = node._replace(**grown.result._asdict())
        found.append(grown)
        if grown.result.state != OK or not node.positive:
            break
    return found


def branch(trap: Trap) -> Iterator[TreeNode]:
    """Yields the root and one node of each level."""
    numbers = count()
    yield TreeNode(next(numbers), None, 0, None, "", "", ROOT)
    for (block,) in steps_of(trap.program):
        changed = block.number == trap.block and trap.call != block.call
        call = trap.call if changed else block.call
        positive = not changed or trap.state != REFUSED
        operator = (REPLACED if positive else CHECKED) if changed else ORIGINAL
        number = next(numbers)
        node = TreeNode(number, number - 1, number, block.number, call.api, call.written, operator, line=block.line)
        yield node._replace(positive=positive)


def wrong(trap: Trap, branch: Sequence[NodeResult]) -> str:
    """Returns how a trap's result differs from the expected result; empty if it does not differ."""
    *_, (result, *_) = branch
    kinds = {found.verdict.kind for grown in branch for found in grown.found}
    is_told = f"{trap.place}: {trap.call.written} is {result.state} {sorted(kinds)}"
    if (result.state == trap.state and kinds == ({trap.kind} if trap.state == FINDING else set())) is trap.springs:
        return (
            f"{is_told}, as it should be: no 'not yet'"
            if trap.springs
            else f"{is_told}, not {trap.state}: {result.why}"
        )
    return ""


@pytest.mark.parametrize("library", ["fakelib", *(pytest.param(each, marks=pytest.mark.real) for each in REAL)])
def test_no_trap_is_reported_and_each_planted_bug_is(
    library: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = request.getfixturevalue(f"{library}_python")
    told = []
    with workshop_on(library, python, tmp_path, TIMEOUT) as workshop:
        for trap in list(traps_of(library, workshop)):
            told.append(wrong(trap, come_to(trap, workshop, monkeypatch)))
            if trap.state == FINDING:
                # Planted code stays in its process, so the process ends here.
                workshop.programs.close()
    assert [each for each in told if each] == []


@pytest.mark.parametrize(("library", "traps", "bugs"), [("torch", 60, 5), ("tensorflow", 30, 3), ("jittor", 4, 1)])
def test_there_are_enough_traps_and_planted_bugs(library: str, traps: int, bugs: int) -> None:
    every = [found for path in (PROGRAMS / library).glob("*.py") for _, found in comments(path)]
    planted = [found for found in every if found[2] == FINDING]
    assert len(every) - len(planted) >= traps and len(planted) >= bugs
    assert all(found[3] for found in planted)
    # A skipped block cannot be built alone: no program executes it.
    assert library != "torch" or {found[2] for found in every} == set(STATES) - {SKIPPED}
