"""Tests on the real libraries: programs with hooks, without blocks and with all of them compute as the originals.

The smallest models of each library are run, or all if NIGHTFUZZ_EVERY_PROGRAM is set.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from moco_branches import workshop_on
from moco_programs import calls, hidden, rooted, taken_by

from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.modelgen.moco.disassembly import Disassembly
from fuzz_core.modelgen.moco.disassembly_steps import RunObservations, steps
from fuzz_core.modelgen.moco.program import Call, assemble
from fuzz_core.programs.texts import grown_programs

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]
WHOLE = bool(os.environ.get("NIGHTFUZZ_EVERY_PROGRAM"))
# The blocks of the models that are run.
BLOCKS = {"torch": {"class": 13, "serial": 13}, "tensorflow": {"class": 12, "serial": 12}, "jittor": {"class": 13}}

TORCH = """import torch
from torch import nn
import torch.nn.functional as F

class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
    def forward(self, x):
        return self.act(x)

class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.first = nn.Linear(4, 4)
{init}
        self.last = nn.Linear(4, 2)
    def forward(self, x):
        x = self.first(x)
{forward}
        return self.last(x)

torch.manual_seed(0)
net = Net()
print("loss", F.relu(net(torch.rand(3, 4))).square().mean().item())
"""
TWO = "self.a, self.b = nn.ReLU(), nn.Tanh()"
LIST = "self.a = nn.ModuleList([nn.ReLU(), nn.Tanh()])"
NORMAL = "self.a = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))"
BOTH = ["ReLU", "Tanh"]
KERAS = """import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(0)

def branch(x, size):
    return layers.ReLU()(layers.Conv2D(4, size, padding="same")(x))

inputs = keras.Input((8, 8, 4))
x = layers.Conv2D(4, 1)(inputs)
x = layers.Concatenate(axis=-1)([branch(x, 1), branch(x, 3)])
x = layers.Dropout(0.1)(x, training=True)
add = layers.Multiply()
x = add([x, layers.Dense(8)(x)])
model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
print("loss", float(tf.reduce_mean(model(tf.ones((2, 8, 8, 4))))))
"""

KERAS_CLASS = """import tensorflow as tf
from tensorflow.keras import layers

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.last = layers.Dense(4), layers.Dense(1)
        self.feed = tf.keras.Sequential([layers.Dense(8), layers.ReLU(), layers.Dense(4)])
    def call(self, x):
        x = self.first(x)
        return self.last(layers.add([x, self.feed(x)]))

net = Net()
net.compile("sgd", "mse")
net.fit(tf.ones((8, 4)), tf.ones((8, 1)), verbose=0)
"""


@pytest.fixture(scope="module")
def torch_workshop(torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockWorkshop]:
    with workshop_on("torch", torch_python, tmp_path_factory.mktemp("torch")) as made:
        yield made


@pytest.mark.parametrize("library", ["torch", "tensorflow", "jittor"])
def test_hooks_and_watches_change_no_loss(library: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with workshop_on(library, request.getfixturevalue(f"{library}_python"), tmp_path) as workshop:
        for name, source in grown_programs(library):
            style = name.rpartition("_")[2]
            if not WHOLE and (not name.startswith("lenet_") or style not in BLOCKS[library]):
                continue
            program = taken_by(workshop, name, source)
            assert WHOLE or len(program.blocks) == BLOCKS[library][style]
            assert program.style == style
            losses = workshop.program(source, 0, 0).losses
            assert losses and workshop.flow(Disassembly(name, source, library).hooked).losses == losses
            watched = workshop.program(assemble(program.template, calls(program), watched=True), 0, 0)
            # Jittor fuses other operators in a watched program.
            assert watched.losses == pytest.approx(losses, rel=1e-3)


@pytest.mark.parametrize(
    ("init", "forward", "blocks", "left"),
    [
        ("self.a = nn.ReLU()", "x = self.a(x)", ["ReLU"], "self.a = nn.Identity()"),
        ("self.a = nn.ReLU()", "x = self.a(x) + self.a(x * 2)", ["ReLU"], "x = (self.a(x), self.a(x * 2))[0]"),
        ("self.a = nn.LSTM(4, 4)", "x, _ = self.a(x)", ["LSTM"], "lambda self, x, *_, **__: (x, (None, None))})()"),
        ("self.a = nn.LSTM(4, 4)", "x, (h, c) = self.a(x)", ["LSTM"], "x, (h, c) = self.a(x)"),
        ("self.a = nn.GRU(4, 4)", "x = self.a(x)[0]", ["GRU"], "lambda self, x, *_, **__: (x, None)})()"),
        (
            "self.a = nn.MultiheadAttention(4, 1)",
            "x, _ = self.a(x, x, x)",
            ["MultiheadAttention"],
            "lambda self, x, *_",
        ),
        ("", "x = F.relu(x, inplace=True)", ["relu"], "x = (x)"),
        ("", "x = torch.relu(input = x )", ["relu"], "x = (x)"),
        ("", "x, _ = F.max_pool1d(x, 1, return_indices=True)", ["max_pool1d"], "x, _ = ((x), None)"),
        ("self.w = nn.Parameter(torch.ones(4, 4))", "x = F.linear(x, self.w)", [], "x = F.linear(x, self.w)"),
        ("self.a = F.gelu", "x = self.a(x)", [], "x = self.a(x)"),
        ("", "act = F.gelu\nx = act(x)", ["gelu"], "x = (x)"),
        ("", "x = nn.Softplus(beta=2)(x)", ["Softplus"], "x = nn.Identity()(x)"),
        (
            "self.a = nn.Sequential(nn.ReLU(), nn.Tanh())",
            "x = self.a(x)",
            ["ReLU", "Tanh"],
            "(nn.Identity(), nn.Identity())",
        ),
        (
            "self.a = nn.ModuleList([nn.GRU(4, 4)])",
            "x = self.a[0](x)[0]",
            ["GRU"],
            "[type('Absent', (nn.Identity,), {'forward': lambda self, x, *_, **__: (x, None)})()]",
        ),
        (
            "self.a = nn.ModuleList([nn.ReLU(), nn.Tanh()])",
            "for a in self.a: x = a(x)",
            ["ReLU", "Tanh"],
            "[nn.Identity(),",
        ),
        (
            "self.a = nn.ModuleList([nn.Tanh() for _ in range(3)])",
            "for a in self.a: x = x + a(x)",
            ["Tanh"],
            "(x, a(x))[0]",
        ),
        ("setattr(self, 'a', nn.ReLU())", "x = getattr(self, 'a')(x)", ["ReLU"], "setattr(self, 'a', nn.Identity())"),
        ("self.a = {'b': nn.ReLU()}", "x = self.a['b'](x)", ["ReLU"], "{'b': nn.Identity()}"),
        ("self.a, self.b = Stage(), Stage()", "x = self.b(self.a(x))", ["ReLU"], "self.act = nn.Identity()"),
        (
            "self.a = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))",
            "x = self.a(x)",
            ["weight_norm"],
            "nn.Identity()",
        ),
        (
            TWO,
            "x = torch.cat([self.a(x), self.b(x)], dim=1)[:, :4]",
            ["ReLU", "Tanh"],
            "([self.a(x), self.b(x)])[0][",
        ),
        (TWO, "x = torch.stack([self.a(x), self.b(x)], 1).sum(1)", BOTH, "[self.a(x), self.b(x)][0:1], 1)"),
        (TWO, "x = torch.add(self.a(x), self.b(x), alpha=2)", BOTH, "x = (self.a(x), self.b(x))[0]"),
        (TWO, "y = [x]\ny.append(self.b(self.a(x)))\nx = torch.cat(y, 0)", BOTH, "x = (y)[0]"),
        (TWO, "x = x - self.a(x) * self.b(x)", BOTH, "x = (x, (self.a(x), self.b(x))[0])[0]"),
    ],
)
def test_what_a_torch_class_is_made_of(
    init: str, forward: str, blocks: list[str], left: str, torch_workshop: BlockWorkshop
) -> None:
    # The additional layer can always be taken out: a program without such a layer is refused.
    made = textwrap.indent(f"self.spare = nn.SELU()\n{init}", " " * 8)
    source = TORCH.format(init=made, forward=textwrap.indent(f"x = self.spare(x)\n{forward}", " " * 8))
    program = taken_by(torch_workshop, "net.py", source)
    assert program.style == "class" and hidden(program) == ["SELU", *blocks]
    assert left in rooted(program)
    root = torch_workshop.program(rooted(program, watched=True), 0, 0)
    assert root.outcome.kind == "ok", root.outcome
    # Each absent layer observes the input that it would have.
    assert {n for n in calls(program) if n not in program.template.head} <= root.passed.keys()


def test_serial_calls_of_keras_join_branches(tensorflow_python: Path, tmp_path: Path) -> None:
    with workshop_on("tensorflow", tensorflow_python, tmp_path) as workshop:
        program = taken_by(workshop, "net.py", KERAS)
        assert hidden(program) == ["Conv2D", "Conv2D", "ReLU", "Dropout", "Dense", "Flatten"]
        root = rooted(program)
        assert "x = ([branch(x, 1), branch(x, 3)])[0]" in root and "x = ([x, layers.Identity()(x)])[0]" in root
        assert "x = (lambda x, *_, **__: x)(x, training=True)" in root
        assert workshop.program(rooted(program, watched=True), 0, 0).outcome.kind == "ok"


def test_layers_of_a_container_in_a_class_of_keras_are_blocks(tensorflow_python: Path, tmp_path: Path) -> None:
    with workshop_on("tensorflow", tensorflow_python, tmp_path) as workshop:
        program = taken_by(workshop, "net.py", KERAS_CLASS)
        assert hidden(program) == ["Dense", "ReLU", "Dense"]
        assert "self.last(([x, self.feed(x)])[0])" in rooted(program)
        assert workshop.program(rooted(program, watched=True), 0, 0).outcome.kind == "ok"


def test_steps_of_a_residual_network_are_those_that_torch_takes(torch_workshop: BlockWorkshop) -> None:
    init = "self.wide, self.act, self.skip, self.narrow = nn.Linear(4, 8), nn.ReLU(), nn.Linear(4, 8), nn.Linear(8, 4)"
    forward = "        x = self.narrow(self.act(self.wide(x)) + self.skip(x))"
    program = taken_by(torch_workshop, "net.py", TORCH.format(init=textwrap.indent(init, " " * 8), forward=forward))

    def runs(there: Mapping[int, Call]) -> RunObservations | None:
        ran = torch_workshop.program(assemble(program.template, there, watched=True), 0, 0)
        return RunObservations() if ran.outcome.kind == "ok" else None

    found = steps(program, runs)
    # If sizes are not adapted, a layer that widens is grouped with the layer that narrows again.
    assert found.template.head == (0, 5)
    assert [block.step for block in found.blocks] == [0, 1, 2, 3, 1, 5]
