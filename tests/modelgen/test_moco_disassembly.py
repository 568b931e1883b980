"""Tests that programs are taken apart into a template and blocks, and put together again byte for byte."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.disassembly import disassemble
from fuzz_core.modelgen.moco.program import Call, Program, assemble
from fuzz_core.programs.texts import grown_programs, traced_programs

LIBRARIES = ("jittor", "tensorflow", "torch")
KINDS = (traced_programs, grown_programs)
PROGRAMS = [(kind, library, *each) for kind in KINDS for library in LIBRARIES for each in kind(library)]

CLASS = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d( 1, 6,  # few channels
            kernel_size = 5, )
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.pool = nn.MaxPool2d(2)
        self.lstm = nn.LSTM(16, 16)
        self.fc = nn.Linear(256, 10)

    def forward(self, x, training=False):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x), inplace=True))
        x, _ = self.lstm(x)
        x = torch.cat([x, x], 1)
        return self.fc(x)

net = Net()
loss = nn.CrossEntropyLoss()(net(torch.rand(2, 1, 28, 28)), torch.tensor([1, 2]))
"""


def calls(program: Program) -> dict[int, Call]:
    """Returns the original call of each block."""
    return {block.number: block.call for block in program.blocks}


def rooted(program: Program, watched: bool = False) -> str:
    """Returns the text of the program with its head alone."""
    return assemble(program.template, {n: calls(program)[n] for n in program.template.head}, watched)


def test_nested_calls_of_a_class_are_blocks_in_the_order_of_computation() -> None:
    program = disassemble("net.py", CLASS, "torch")
    assert (program.style, program.library, program.name) == ("class", "torch", "net.py")
    assert [block.call.api for block in program.blocks] == [
        "torch.nn.Conv2d",
        "torch.nn.functional.relu",
        "torch.nn.MaxPool2d",
        "torch.nn.Conv2d",
        "torch.nn.functional.relu",
        "torch.nn.LSTM",
        "torch.nn.Linear",
    ]
    assert program.template.head == (0, 6)
    assert [block.line for block in program.blocks] == [9, 17, 12, 11, 18, 13, 14]


def test_what_is_absent_gives_what_it_gets() -> None:
    program = disassemble("net.py", CLASS, "torch")
    root = rooted(program)
    assert "x = ((self.conv1(x)))" in root and "x = (((x)))" in root and "x, _ = (x), None" in root
    assert "self.pool = None" in root and "torch.cat([x, x], 1)" in root
    watched = rooted(program, watched=True)
    assert "x, _ = __seen__(5, x), None" in watched
    assert "self.conv1 = __made__(0, nn.Conv2d)( 1, 6,  # few channels" in watched


@pytest.mark.parametrize(
    ("kind", "library", "name", "source"), PROGRAMS, ids=[f"{library}/{name}" for _, library, name, _ in PROGRAMS]
)
def test_the_original_blocks_give_the_original_program(
    kind: Callable[[str], object], library: str, name: str, source: str
) -> None:
    try:
        program = disassemble(name, source, library)
    except UserError as refusal:
        # Seed programs need hidden layers; programs that were written to be traced do not.
        assert kind is traced_programs
        pytest.skip(str(refusal))
    assert assemble(program.template, calls(program)) == source
    for watched in (False, True):
        compile(rooted(program, watched), name, "exec")
        compile(assemble(program.template, calls(program), watched), name, "exec")
