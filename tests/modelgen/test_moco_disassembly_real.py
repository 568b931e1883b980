"""Tests on the real libraries: a disassembled and watched program computes the same as before.

One model of each library is run, or all nine if NIGHTFUZZ_EVERY_PROGRAM is set.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from fuzz_core.adapters.dialect import dialect_of, surroundings
from fuzz_core.modelgen.moco.disassembly import disassemble
from fuzz_core.modelgen.moco.disassembly_steps import RunObservations, steps
from fuzz_core.modelgen.moco.program import Call, Program, assemble
from fuzz_core.programs.texts import grown_programs

pytestmark = pytest.mark.real
WHOLE = bool(os.environ.get("NIGHTFUZZ_EVERY_PROGRAM"))

# A program that runs programs, one line of JSON each, and prints the output of each or its error.
RUN = """
import contextlib, importlib, io, json, sys, warnings

warnings.simplefilter("ignore")
library = importlib.import_module(sys.argv[1])
layers = getattr(library, "nn", None) if sys.argv[1] != "tensorflow" else library.keras.layers

def seen(number, *value):
    return value[0] if value else layers.Identity()

for line in sys.stdin:
    out = io.StringIO()
    names = {"__name__": "__main__", "__made__": lambda number, target: target, "__seen__": seen}
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(json.loads(line), "program.py", "exec"), names)
        said = out.getvalue()
    except Exception as error:
        said = f"failed: {type(error).__name__}: {error}"
    sys.__stdout__.write(json.dumps(said) + chr(10))
    sys.__stdout__.flush()
"""

RESIDUAL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(6, 8)
        self.wide = nn.Linear(8, 12)
        self.act = nn.ReLU()
        self.skip = nn.Linear(8, 12)
        self.drop = nn.Dropout(0.1)
        self.narrow = nn.Linear(12, 8)
        self.leave = nn.Linear(8, 2)

    def forward(self, x):
        x = self.enter(x)
        x = self.act(self.wide(x)) + self.skip(x)
        x = self.narrow(self.drop(x))
        return self.leave(x)

torch.manual_seed(0)
print("loss", Net()(torch.rand(3, 6)).square().mean().item())
"""


@contextmanager
def interpreter(python: Path, library: str) -> Iterator[subprocess.Popen[str]]:
    """Yields a process of the target that runs programs."""
    settings = {**os.environ, **surroundings(dialect_of(library), python), "OMP_NUM_THREADS": "1"}
    command = [str(python), "-c", RUN, library]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=settings) as made:
        yield made
        assert made.stdin is not None
        made.stdin.close()


def said(process: subprocess.Popen[str], source: str) -> str:
    """Returns the output of a program."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(source) + "\n")
    process.stdin.flush()
    while not (line := process.stdout.readline()).startswith('"'):
        assert line, "the interpreter has ended"
    return str(json.loads(line))


def calls(program: Program) -> dict[int, Call]:
    return {block.number: block.call for block in program.blocks}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("library", ["torch", "tensorflow", "jittor"])
def test_watched_programs_lose_as_much_as_the_originals(library: str, request: pytest.FixtureRequest) -> None:
    python = request.getfixturevalue(f"{library}_python")
    with interpreter(python, library) as process:
        for name, source in grown_programs(library):
            if WHOLE or name.startswith("lenet_"):
                program = disassemble(name, source, library)
                loss = said(process, source)
                assert loss.startswith("loss ")
                assert assemble(program.template, calls(program)) == source
                assert said(process, assemble(program.template, calls(program), watched=True)) == loss


def test_steps_of_a_residual_network_are_those_that_torch_takes(torch_python: Path) -> None:
    program = disassemble("residual.py", RESIDUAL, "torch")
    with interpreter(torch_python, "torch") as process:

        def runs(there: Mapping[int, Call]) -> RunObservations | None:
            ran = said(process, assemble(program.template, there, watched=True)).startswith("loss ")
            return RunObservations() if ran else None

        found = steps(program, runs)
        names = ["enter", "wide", "act", "skip", "drop", "narrow", "leave"]
        groups: dict[int, list[str]] = {}
        for block in found.blocks:
            if block.number not in found.template.head:
                groups.setdefault(block.step, []).append(names[block.number])
        # If sizes are not adapted, a layer that widens is grouped with the layer that narrows again.
        assert list(groups.values()) == [["wide", "narrow"], ["act"], ["skip"], ["drop"]]
        assert [names[number] for number in found.template.head] == ["enter", "leave"]
        inserted = set(found.template.head)
        for group in groups.values():
            inserted |= {number for number, name in enumerate(names) if name in group}
            assert runs({number: call for number, call in calls(program).items() if number in inserted}) is not None
