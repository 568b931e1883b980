"""A branch of a derivation tree, with the calls that a test wants in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from moco_programs import taken_by

from fuzz_core.campaign.moco.growth import NodeResult, ProgramBench, TreeGrowth
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.campaign.plans import NO_SPACE, make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.modelgen.moco.calls import parse_call
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import OK, ORIGINAL, REPLACED, ROOT, TreeNode
from fuzz_core.modelgen.moco.tree import Tree, steps_of
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store


@contextmanager
def workshop_of(session: Session, timeout: float = 3.0) -> Iterator[BlockWorkshop]:
    """Yield a workshop with the processes of the session's target and with all oracles."""
    plan = session.state_dir / "branch.jsonl"
    make_plan(session, plan, (), seed=0, oracles=list(ORACLES), space=NO_SPACE)
    made = BlockWorkshop(session, plan, timeout)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def workshop_on(library: str, python: str | Path, folder: Path, timeout: float = 3.0) -> Iterator[BlockWorkshop]:
    """Yield a workshop with the processes of an interpreter's library and with all oracles."""
    target = TargetRecord(f"{library}-1", f"python:{python}", library, "1", str(python), {})
    with open_store(folder / "state.db") as store:
        store.save_target(target)
        with workshop_of(Session(store, target, folder, workers=1), timeout) as made:
            yield made


def grown(workshop: BlockWorkshop, source: str, calls: Mapping[int, str], name: str = "own.py") -> list[NodeResult]:
    """Return the result of each block of a program, in order, up to the first leaf.

    The knowledge of an api is only whether a call makes a layer or applies a function.

    Args:
        calls: replacements of blocks, by the block's number.
    """
    program = taken_by(workshop, name, source)
    names = ModuleNames.of(program)
    own = {block.number: block.call for block in program.blocks}
    for number, text in calls.items():
        made = parse_call(text, "", own[number].applied)
        own[number] = made._replace(api=names.public(made.spelled) or made.spelled)
    every = [*own.values(), *(block.call for block in program.blocks)]
    facts = {call.api: Facts(api=call.api, kind="function" if call.applied else "class") for call in every}
    bench = ProgramBench(program, Knowledge(library=program.library, build="1", apis=facts), 0)
    tree = Tree(program, bench.knowledge, bench.seed)
    growth, found = TreeGrowth(bench, tree), list[NodeResult]()
    tree.nodes[:] = [TreeNode(0, None, 0, None, "", "", ROOT)]
    for place, (block,) in enumerate(steps_of(program), 1):
        call, changed = own[block.number], block.number in calls
        node = TreeNode(place, place - 1, place, block.number, call.api, call.written, ORIGINAL, line=block.line)
        tree.nodes.append(node._replace(operator=REPLACED, old=block.call.api, new=call.api) if changed else node)
    for node in list(tree.nodes):
        found.append(growth.grown(workshop, node))
        state, _, arrives = found[-1].result
        tree.nodes[node.number] = node._replace(state=state, arrives=arrives)
        if state != OK:
            break
    return found
