"""Tests that a run of a program shows its blocks, and that the program can be put together again without them."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from moco_programs import hidden, rooted, taken_apart

from fuzz_core.adapters.models import Models
from fuzz_core.ir.errors import CodecError, UserError
from fuzz_core.modelgen.moco.disassembly import Disassembly
from fuzz_core.modelgen.moco.program import assemble
from fuzz_core.programs.texts import grown_programs, traced_programs
from fuzz_core.worker.programs_flow import FlowWatch
from fuzz_core.worker.programs_ran import FlowRecord, JoinRecord, UseRecord

LIBRARIES = ("jittor", "tensorflow", "torch")
PROGRAM = """# -*- coding: utf-8 -*-
from __future__ import annotations
import numpy as np
import fakelib
from fakelib import nn

data = np.arange(24.0)  # é
x = nn.Window( 2,  # twice
    stride=1, )(data)
{body}
print(float(nn.Window(1)(x).sum()))
"""


@pytest.mark.parametrize(
    ("body", "blocks", "left"),
    [
        ("x = nn.Window(3)(x)", ["Window"], "x = (lambda x, *_, **__: x)(x)"),
        ("window = nn.Window(3)\nx = window(window(x))", ["Window"], "window = (lambda x, *_, **__: x)\n"),
        ("x = fakelib.scale(x, 2.0)", ["scale"], "x = (x)\n"),
        ("x = fakelib.scale(by=2.0, x=x)", ["scale"], "x = (x)\n"),
        ("by = fakelib.scale\nx = by(\n    x, 2.0)", ["scale"], "x = (x)\n"),
        ("by, add = fakelib.scale, fakelib.add\nx = by(x, 2.0)", ["scale"], "x = (x)\n"),
        ("x = nn.Pair()(x)[1]", ["Pair"], "x = (lambda x, *_, **__: (x, None))(x)[1]"),
        ("x = fakelib.add(x, fakelib.scale(x, 2.0))", ["scale"], "x = (x, (x))[0]"),
        ("x = fakelib.concat([fakelib.scale(x, 2.0), x])", ["scale"], "x = ([(x), x])[1]"),
        ("x = x + fakelib.scale(x, 2.0) * 3", ["scale"], "x = (x, (x) * 3)[0]"),
        (
            "def branch(x, by):\n    return fakelib.scale(x, by)\nx = fakelib.concat([branch(x, 2.0), branch(x, 3.0)])",
            ["scale"],
            "x = ([branch(x, 2.0), branch(x, 3.0)])[0]",
        ),
        ("y = x\ny += fakelib.scale(x, 2.0)\nx = y", ["scale"], "y = (y, (x))[0]\n"),
        ("x = nn.Window(3)(x)\nx = nn.Window(*[4])(x)", ["Window"], "nn.Window(*[4])(x)"),
        ("x = fakelib.scale(x, x[1])\nx = nn.Window(3)(x)", ["Window"], "x = fakelib.scale(x, x[1])"),
        ("for _ in range(3):\n    x = nn.Window(3)(x)", ["Window"], "    x = (lambda x, *_, **__: x)(x)"),
        ("x = (lambda y: nn.Window(3)(y))(x)", ["Window"], "(lambda y: (lambda x, *_, **__: x)(y))(x)"),
        ("print(f'{nn.Window(3)(x)}')\nx = nn.Window(4)(x)", ["Window"], "{nn.Window(3)(x)}"),
    ],
)
def test_an_absent_layer_gives_what_it_gets(body: str, blocks: list[str], left: str) -> None:
    program = taken_apart(PROGRAM.format(body=body))
    assert hidden(program) == blocks and program.style == "serial"
    assert left in rooted(program)


def test_imports_go_behind_the_data() -> None:
    program = taken_apart(PROGRAM.format(body="x = nn.Window(3)(x)"))
    before, after = assemble(program.template, {}, imports="import os\n").split("import os\n")
    assert before.endswith("data = np.arange(24.0)  # é\n") and after.startswith("x = ")


class Module:
    """The class of all layers and models."""

    def __call__(self, x: Any) -> Any:
        return self.forward(x)  # type: ignore[attr-defined]


class CopyLayer(Module):
    """A layer that gives an equal value."""

    def forward(self, x: Any) -> Any:
        """Return an equal value."""
        return x * 1


class ToyModels(Models):
    """The hooks of a library with these classes."""

    layer = Module


MODELS = """import numpy as np
import fakelib as toy

class Stage(toy.Module):
    def __init__(self):
        self.inner = toy.Layer()
    def forward(self, x):
        return self.inner(x)

class Net(toy.Module):
    def __init__(self):
        self.first, self.one, self.other, self.last = toy.Layer(), Stage(), Stage(), toy.Layer()
    def forward(self, x):
        x = toy.scale(self.first(x))
        return self.last(self.other(self.one(x)))

net = Net()
for _ in range(2):
    out = toy.scale(net(np.arange(4.0)))
"""


def test_a_function_of_what_a_model_gives_is_no_block_and_a_layer_of_two_objects_is_used_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    toy = ModuleType("fakelib")
    vars(toy).update(Module=Module, Layer=CopyLayer, scale=lambda x: x * 2)
    monkeypatch.setitem(sys.modules, "fakelib", toy)
    program = taken_apart(MODELS, models=ToyModels())
    assert (program.style, program.template.head) == ("class", (0, 3))
    found = [(block.call.api, block.line, block.once) for block in program.blocks]
    layer = "fakelib.Layer"
    assert found == [(layer, 12, True), ("fakelib.scale", 14, True), (layer, 6, False), (layer, 12, True)]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_shipped_program_has_hooks_and_is_python(library: str) -> None:
    for name, source in (*grown_programs(library), *traced_programs(library)):
        hooked = Disassembly(name, source, library).hooked
        assert compile(hooked, name, "exec")
        assert len(hooked) > len(source)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("print(1", "is not valid Python"),
        ("x = " + "(" * 5000 + ")" * 5000, "net.py (is not valid|has an expression)"),
        ("print('no model')\n", "it has no hidden layers"),
    ],
)
def test_a_program_without_layers_is_refused(source: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        taken_apart(source)


@pytest.mark.parametrize(
    "record",
    [
        FlowRecord((UseRecord(999, 0, False, 0, True, "x"),)),
        FlowRecord((UseRecord(0, 0, False, 0, True, "x"), UseRecord(1, 0, True, 0, True, "x"))),
    ],
)
def test_a_record_of_another_program_is_refused(record: FlowRecord) -> None:
    source = "import fakelib\nx = 1 + 2\nfakelib.nn.Window(x)\n"
    with pytest.raises(CodecError):
        Disassembly("net.py", source, "fakelib").program(record)


def test_text_of_a_record_does_not_get_into_a_program() -> None:
    text = Disassembly("net.py", PROGRAM.format(body="x = nn.Window(3)(x)"), "fakelib")
    watch = FlowWatch(Models())
    exec(text.hooked, {"__called__": watch.called, "__combined__": watch.combined})
    watch.restore()
    found = watch.record()
    told = FlowRecord(tuple(use._replace(gave="x, print(1)") for use in found.uses), (JoinRecord(0, (99,), ((), ())),))
    with pytest.raises(UserError, match="no hidden layers"):
        text.program(told)
