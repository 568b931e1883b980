"""Programs that are run with hooks and taken apart, here or in the process of a target."""

from __future__ import annotations

from fuzz_core.adapters.models import Models
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.modelgen.moco.disassembly import Disassembly
from fuzz_core.modelgen.moco.program import Call, Program, assemble
from fuzz_core.worker.programs import CALLED, COMBINED
from fuzz_core.worker.programs_flow import FlowWatch


def taken_apart(source: str, library: str = "fakelib", models: Models | None = None, name: str = "net.py") -> Program:
    """Return the parts of a program that runs in this process."""
    text, watch = Disassembly(name, source, library), FlowWatch(models or Models())
    try:
        exec(
            compile(text.hooked, name, "exec"), {"__name__": "__main__", CALLED: watch.called, COMBINED: watch.combined}
        )
    finally:
        watch.restore()
    return checked(text.program(watch.record()), source)


def taken_by(workshop: BlockWorkshop, name: str, source: str) -> Program:
    """Return the parts of a program that runs in the target's process."""
    text = Disassembly(name, source, workshop.dialect.library)
    ran = workshop.flow(text.hooked)
    assert ran.flow is not None, ran.outcome
    return checked(text.program(ran.flow), source)


def checked(program: Program, source: str) -> Program:
    """Return the program after a check that its parts give the source again, and a program without blocks as well."""
    assert assemble(program.template, calls(program)) == source
    for watched in (False, True):
        compile(rooted(program, watched), "root", "exec")
        compile(assemble(program.template, calls(program), watched), "whole", "exec")
    return program


def calls(program: Program) -> dict[int, Call]:
    """Return the original call of each block."""
    return {block.number: block.call for block in program.blocks}


def rooted(program: Program, watched: bool = False) -> str:
    """Return the text of the program with its head alone."""
    return assemble(program.template, {n: calls(program)[n] for n in program.template.head}, watched)


def hidden(program: Program) -> list[str]:
    """Return the last words of the apis of the blocks that can be taken out."""
    out = [block for block in program.blocks if block.number not in program.template.head]
    return [block.call.api.rpartition(".")[2] for block in out]
