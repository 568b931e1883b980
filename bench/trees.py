"""What a large derivation tree costs by itself: `python -m bench.trees` grows one, keeps it, loads it and goes on.

No program is run, and every node works: nothing but the tree is measured.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from fuzz_core.modelgen.moco.disassembly import disassemble
from fuzz_core.modelgen.moco.drawing import svg
from fuzz_core.modelgen.moco.facts import Bounds, Facts, Knowledge, Origin, Parameter
from fuzz_core.modelgen.moco.nodes import OK, REFUSED, Arrival, Node, Result
from fuzz_core.modelgen.moco.program import Program
from fuzz_core.modelgen.moco.seeds import shipped
from fuzz_core.modelgen.moco.tree import Tree
from fuzz_core.store import TargetRecord, open_store

SEED = 1
MIB = 1 << 20
TARGET = TargetRecord("torch-bench", "torch==0", "torch", "0", "python", {})
T = TypeVar("T")


def main(
    nodes: Annotated[int, typer.Option(help="how large a tree")] = 100_000,
    every: Annotated[int, typer.Option(help="nodes that are kept on record at once")] = 500,
    name: Annotated[str, typer.Option(help="the seed program that it grows from")] = "vgg19_class",
) -> None:
    """Prints seconds on the clock and of CPU, mebibytes in memory and mebibytes on disk."""
    program = disassemble(name, dict(shipped("torch"))[name], "torch")
    knowledge = _knowledge(program)
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "state.db") as store:
        store.save_target(TARGET)
        number = store.begin_tree(TARGET.key, name, "", SEED, {})
        tree = Tree(program, knowledge, SEED)
        keep = partial(store.save_nodes, number)
        for most in (nodes * share // 4 for share in range(1, 5)):
            _timed(f"to {most:,} nodes", partial(_grow, tree, most, every, keep))
        print(f"  on disk: {store.path.stat().st_size / MIB:.0f} MiB")
        record = _timed("load", lambda: store.tree_nodes(number))
        _timed("go on", lambda: Tree(program, knowledge, SEED, nodes=record).take())
        _timed("draw", lambda: svg(record, name))
        assert record == tree.nodes


def _knowledge(program: Program) -> Knowledge:
    """Enough of every api of a program for all operators to have something to do."""
    kinds = {block.call.api: block.call.applied for block in program.blocks}
    share = Bounds(least=0, most=1, origin=Origin(source="docstring"))
    apis = {
        api: Facts(
            api=api,
            kind="function" if applied else "class",
            parameters=(
                *([Parameter(name="input", dtype="tensor", required=True)] if applied else []),
                Parameter(name="share", dtype="float", default="0.5", bounds=(share,)),
                Parameter(name="inplace", dtype="bool", default="False"),
            ),
            ranks=(4,),
            returns="tensor",
            similar={other: 0.5 for other, same in kinds.items() if other != api and same == applied},
        )
        for api, applied in kinds.items()
    }
    return Knowledge(library="torch", build="", apis=apis)


def _grow(tree: Tree, most: int, every: int, keep: Callable[[list[Node]], None]) -> None:
    arrives = {block.number: Arrival((20, 16, 8, 8)) for block in tree.ground.program.blocks}
    while len(tree.nodes) < most:
        for _ in range(every):
            if (node := tree.take()) is not None:
                tree.tell(node.number, Result(OK if node.positive else REFUSED, "", arrives))
        keep(tree.changed())


def _timed(what: str, call: Callable[[], T]) -> T:
    before, worked = time.perf_counter(), time.process_time()
    done = call()
    seconds, cpu = time.perf_counter() - before, time.process_time() - worked
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  {what}: {seconds:.2f} s, {cpu:.2f} s of CPU, {memory:.0f} MiB", flush=True)
    return done


if __name__ == "__main__":
    typer.run(main)
