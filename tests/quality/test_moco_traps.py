"""What looks like a bug in a model program and is none is told by its state and never reported; planted bugs are.

A program of `traps/LIBRARY` is a seed with comments above its blocks: `# STATE: CALL` says what becomes of a branch of
its tree that has this call in the place of the next block, and the other blocks as they are; `as it is` stands for no
change at all, and `# finding KIND: CALL` for a planted bug. `# not yet STATE: CALL` is a trap that still springs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from fuzz_core.campaign.moco import judge
from fuzz_core.campaign.moco.growth import NodeResult, ProgramBench, TreeGrowth
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.campaign.plans import make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.modelgen.moco.calls import parsed
from fuzz_core.modelgen.moco.disassembly import disassemble
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Parameter
from fuzz_core.modelgen.moco.generation import steps_of
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
from fuzz_core.modelgen.moco.tree import Tree
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

REAL = ("torch", "tensorflow", "jittor")
PROGRAMS = Path(__file__).parent / "traps"
UNCHANGED = "as it is"
TRAP = re.compile(rf"^ *# (not yet )?({'|'.join(STATES)})(?: ([\w-]+))?: (.+)$")
TIMEOUT = 3.0
# Of a branch, the trap's node alone is looked at in all ways that cost further executions.
ALWAYS, NEVER = 1, 1 << 64
# The parameter that comes first, and the axis it is bound to: all that is known of these apis.
BOUND = {
    "torch.nn.Linear": ("in_features", -1),
    "torch.nn.Conv2d": ("in_channels", -3),
    "torch.nn.BatchNorm1d": ("num_features", 1),
    "torch.nn.BatchNorm2d": ("num_features", 1),
    "jittor.nn.Linear": ("in_features", -1),
}


class Trap(NamedTuple):
    """A program with another call for its block number so-and-so, what becomes of it, and of a finding its kind.

    springs: it becomes something else as yet.
    """

    program: Program
    line: int
    block: int
    call: Call
    state: str
    kind: str
    springs: bool

    @property
    def place(self) -> str:
        """Where it is told of."""
        return f"{self.program.library}/{self.program.name}:{self.line}"


def traps_of(library: str) -> Iterator[Trap]:
    """Those of all programs of a library."""
    for path in sorted((PROGRAMS / library).glob("*.py")):
        source = path.read_text()
        program = disassemble(path.name, source, library)
        for line, text in enumerate(source.splitlines(), 1):
            if (found := TRAP.match(text)) is not None:
                block = next(each for each in program.blocks if each.line > line)
                call = block.call if found[4] == UNCHANGED else called(program, block, found[4])
                yield Trap(program, line, block.number, call, found[2], found[3] or "", bool(found[1]))


def called(program: Program, block: Block, text: str) -> Call:
    """A call as the program writes it, in the place of a block."""
    made = parsed(text, "", block.call.applied)
    return made._replace(api=ModuleNames.of(program).public(made.spelled) or made.spelled)


def known(calls: Sequence[Call], library: str) -> Knowledge:
    """What a tree has to know of these apis."""
    return Knowledge(library=library, build=f"{library}-1", apis={call.api: facts(call) for call in calls})


def facts(call: Call) -> Facts:
    """Whether an api is made or applied, and its bound parameter."""
    name, axis = BOUND.get(call.api, ("", None))
    parameters = (Parameter(name=name, dtype="int", required=True, binds=axis),) if name else ()
    return Facts(api=call.api, kind="function" if call.applied else "class", parameters=parameters)


def come_to(trap: Trap, workshop: BlockWorkshop, patch: pytest.MonkeyPatch) -> list[NodeResult]:
    """What becomes of a branch of a tree: of the blocks one after the other as they are, the trap's in its place.

    It ends with the first node that has no children.
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
    """The root and one node of each level."""
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


@contextmanager
def opened(library: str, python: str | Path, folder: Path) -> Iterator[BlockWorkshop]:
    """The processes of a target, with all oracles."""
    target = TargetRecord(f"{library}-1", f"python:{python}", library, "1", str(python), {})
    with open_store(folder / "state.db") as store:
        store.save_target(target)
        session = Session(store, target, folder, workers=1)
        make_plan(session, folder / "plan.jsonl", (), seed=0, oracles=list(ORACLES), mutating=False)
        workshop = BlockWorkshop(session, folder / "plan.jsonl", TIMEOUT)
        try:
            yield workshop
        finally:
            workshop.close()


def wrong(trap: Trap, branch: Sequence[NodeResult]) -> str:
    """What is not as it is to be; empty where all is well."""
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
    with opened(library, python, tmp_path) as workshop:
        for trap in traps_of(library):
            told.append(wrong(trap, come_to(trap, workshop, monkeypatch)))
            if trap.state == FINDING:
                # What is planted stays in its process.
                workshop.programs.close()
    assert [each for each in told if each] == []


@pytest.mark.parametrize(("library", "traps", "bugs"), [("torch", 60, 5), ("tensorflow", 30, 3), ("jittor", 4, 1)])
def test_there_are_enough_traps_and_planted_bugs(library: str, traps: int, bugs: int) -> None:
    every = list(traps_of(library))
    planted = [trap for trap in every if trap.state == FINDING]
    assert len(every) - len(planted) >= traps and len(planted) >= bugs
    assert all(trap.kind for trap in planted)
    # A skipped block cannot be built alone: no program executes it.
    assert library != "torch" or {trap.state for trap in every} == set(STATES) - {SKIPPED}
