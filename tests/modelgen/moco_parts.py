"""Programs of a few lines and their parts, for tests of disassembly."""

from __future__ import annotations

import textwrap

from fuzz_core.modelgen.moco.disassembly import disassemble
from fuzz_core.modelgen.moco.program import Call, Program, assemble

TORCH = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
KERAS = "import tensorflow as tf\nfrom tensorflow import keras\nfrom tensorflow.keras import layers\n"


def module(init: str, forward: str, arguments: str = "self, x") -> str:
    """Returns a torch class with these bodies between an input and an output layer."""
    made = textwrap.indent("self.first = nn.Linear(4, 4)\n" + init + "\nself.last = nn.Linear(4, 2)", " " * 8)
    computed = textwrap.indent("x = self.first(x)\n" + forward + "\nreturn self.last(x)", " " * 8)
    return f"{TORCH}class Net(nn.Module):\n    def __init__(self):\n{made}\n    def forward({arguments}):\n{computed}\n"


def taken(source: str, library: str = "torch") -> Program:
    """Returns the disassembled program, after a check that its parts give the same source again."""
    program = disassemble("program.py", source, library)
    assert assemble(program.template, calls(program)) == source
    for watched in (False, True):
        compile(rooted(program, watched), "root", "exec")
    return program


def calls(program: Program) -> dict[int, Call]:
    return {block.number: block.call for block in program.blocks}


def rooted(program: Program, watched: bool = False) -> str:
    """Returns the text of the program with its head alone."""
    return assemble(program.template, {n: calls(program)[n] for n in program.template.head}, watched)


def hidden(program: Program) -> list[str]:
    """Returns the last words of the apis of the blocks that can be taken out."""
    out = [block for block in program.blocks if block.number not in program.template.head]
    return [block.call.api.rpartition(".")[2] for block in out]
