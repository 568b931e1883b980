"""Tests of joins of branches: while all branches but one have no layers, the result is that one branch."""

from __future__ import annotations

import pytest
from moco_parts import KERAS, TORCH, calls, hidden, module, rooted, taken

from fuzz_core.modelgen.moco.program import Program, assemble

TWO = "self.a, self.b = nn.ReLU(), nn.Tanh()"


def with_blocks(program: Program, *apis: str) -> str:
    """Returns the program with its head and the blocks of these apis."""
    there = {n for n, call in calls(program).items() if call.api.rpartition(".")[2] in apis}
    return assemble(program.template, {n: calls(program)[n] for n in {*program.template.head, *there}})


@pytest.mark.parametrize(
    ("init", "forward", "left"),
    [
        (TWO, "x = torch.cat([self.a(x), self.b(x)], dim=1)", "x = ([(x), (x)])[0]"),
        (TWO, "x = torch.cat(\n    (self.a(x), x, self.b(x)), dim=1)", "x = (((x), x, (x)))[1]"),
        (TWO, "y = self.a(x)\nx = torch.cat([y, self.b(x)], -1)", "x = ([y, (x)])[0]"),
        (TWO, "y = x\nx = self.b(self.a(x))\nx = x + y", "x = (x, y)[1]"),
        (TWO, "y = x\ny += self.b(self.a(x))\nx = y", "y = (y, ((x)))[0]"),
        (TWO, "x += (self.a(x))", "x = (x, ((x)))[0]"),
        (TWO, "x = self.b(x) * self.a(x) * 2 + x", "x = (((x), (x))[0] * 2, x)[1]"),
        (TWO, "x = (self.b(x) + self.a(x)) + (x)", "x = ((((x), (x))[0]), (x))[1]"),
        (TWO, "x = x - self.a(x) * self.b(x)", "x = (x, ((x), (x))[0])[0]"),
        (TWO, "x = self.b(self.a(x) + x)", "x = (((x), x)[1])"),
        (TWO, "x = torch.add(self.a(x), self.b(x), alpha=2)", "x = ((x), (x))[0]"),
        (TWO, "x = torch.mul(input=x, other=self.b(x))", "x = (x, (x))[0]"),
        (TWO, "x = torch.stack([self.a(x), self.b(x)], 1).sum(1)", "torch.stack([(x), (x)][0:1], 1)"),
        (TWO, "x = torch.stack(tensors=(x, self.b(x)), dim=1).sum(1)", "torch.stack(tensors=(x, (x))[0:1], dim=1)"),
        (TWO, "y = x if self.training else self.a(x)\nx = y + x", "x = (y, x)[1]"),
        (TWO, "y = x\nif self.training:\n    y = self.b(y)\nx = self.a(x) + y", "x = ((x), y)[1]"),
        (TWO, "x = torch.cat([self.a(x).abs(), self.b(x).abs()], 1)", "x = ([(x).abs(), (x).abs()])[0]"),
        (TWO, "y = [self.a(x)]\ny.append(self.b(x))\nx = torch.cat(y, 1)", "x = (y)[0]"),
        (TWO, "x = self.helped(x) + x", "x = (self.helped(x), x)[1]"),
        ("self.a = nn.Sequential(nn.ReLU(), nn.Tanh())", "x = self.a(x) + x", "x = (self.a(x), x)[1]"),
        ("self.a = nn.GRU(4, 4)", "y, _ = self.a(x)\nx = torch.cat([x, y], -1)", "x = ([x, y])[0]"),
        ("self.a = nn.GRU(4, 4)", "x = torch.cat([x, self.a(x)[0]], -1)", "x = ([x, (x)])[0]"),
        ("self.a = nn.ModuleList([nn.ReLU(), nn.Tanh()])", "x = torch.cat([a(x) for a in self.a], 1)", "x][0]"),
        (
            "self.a = nn.ModuleList([nn.ReLU(), nn.Sequential(nn.Tanh())])",
            "y = []\nfor a in self.a:\n    y.append(a(x))\nx = torch.stack(y).sum(0)",
            "torch.stack([*y, x][0:1]).sum(0)",
        ),
        (
            "self.a = nn.ModuleList([nn.LazyLinear(4) for _ in range(3)])",
            "y = [x]\nfor a in self.a:\n    y.append(a(torch.cat(y, 1)))\nx = torch.cat(y, 1)",
            "y.append(a((y)[0]))",
        ),
        (
            "self.a = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])",
            "for a in self.a:\n    x = x + a(x)",
            "x = (x, a(x))[0]",
        ),
        (TWO, "y = x\nwhile y is None:\n    y = self.a(y)\nx = self.b(x) + y", "x = ((x), y)[1]"),
    ],
)
def test_a_join_of_what_is_the_same_without_layers_is_absent_with_them(init: str, forward: str, left: str) -> None:
    source = module(init, forward).replace(
        "def forward", "def helped(self, x):\n        return F.elu(x)\n    def forward"
    )
    assert left in rooted(taken(source))


@pytest.mark.parametrize(
    "forward",
    [
        # The branches are the same, with and without layers.
        "x = torch.cat([x, x], 1)",
        "x = x + x * 2",
        # The branches differ if layers are absent.
        "a, b = torch.chunk(x, 2, 1)\nx = torch.cat([self.a(a), b], 1)",
        "x = torch.cat([self.a(x[:, :2]), self.b(x[:, 2:])], 1)",
        "x = self.a(x) + x.mean()",
        "x = torch.matmul(self.a(x), x.t())",
        # A layer that cannot be taken out is on the way.
        "x = x + self.keeps(x)",
        # The values of the two arguments are unknown.
        "x = self.a(x) + self.b(y)",
        "for b in (x, x):\n    x = self.a(x) + b",
        # No activations are joined.
        "x = self.a(x) + self.weight",
        "x = torch.cat([self.a(x), torch.zeros(2, 4)], 1)",
        "x = x.view(x.size(0) * x.size(1)).view(2, 4)",
    ],
)
def test_every_other_join_stays(forward: str) -> None:
    init = f"{TWO}\nself.spare = nn.SELU()\nself.keeps = nn.Linear(4, 4)\nprint(self.keeps.weight)"
    last = forward.rpartition("\n")[2]
    source = module(init, f"x = self.spare(x)\n{forward}", "self, x, y=None")
    said = rooted(taken(source))
    for layer in ("self.a", "self.b"):
        last = last.replace(layer, "")
    assert last.replace("(x[:, :2])", "(x[:, :2])") in said


def test_a_join_is_there_with_the_first_block_of_another_branch_than_the_one_that_is_computed_first() -> None:
    forward = (
        "y = self.b(self.a(x))\nz = F.elu(x)\nx = torch.cat([y, z, x * 1], 1)\nx = torch.cat([F.selu(x), F.celu(x)], 1)"
    )
    program = taken(module(TWO, forward))
    joined, other = "torch.cat([y, z, x * 1], 1)", "torch.cat([F.selu(x), F.celu(x)], 1)"
    assert "x = ([y, z, x * 1])[2]" in with_blocks(program)
    for apis in (["Tanh"], ["elu"], ["ReLU", "elu"]):
        assert joined in with_blocks(program, *apis)
    assert joined not in with_blocks(program, "selu", "celu")
    assert "([F.selu(x), (x)])[0]" in with_blocks(program, "selu")
    assert "torch.cat([(x), F.celu(x)], 1)" in with_blocks(program, "celu")
    assert other in with_blocks(program, "selu", "celu")


def test_layers_that_join_are_left_out_where_they_are_used() -> None:
    source = f"""{KERAS}
def branch(x, size):
    x = layers.Conv2D(4, size, padding="same")(x)
    return layers.ReLU()(x)

inputs = keras.Input((8, 8, 4))
x = layers.Conv2D(4, 1)(inputs)
x = layers.Concatenate(axis=-1)([branch(x, 1), branch(x, 3)])
y = layers.Dense(4)(x)
x = layers.add([x, y])
add = layers.Multiply()
x = add([x, layers.Dropout(0.1)(x)])
model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
"""
    program = taken(source, "tensorflow")
    assert hidden(program) == ["Conv2D", "Conv2D", "ReLU", "Dense", "Dropout", "Flatten"]
    root = rooted(program)
    assert "x = ([branch(x, 1), branch(x, 3)])[0]" in root
    assert "x = ([x, y])[0]" in root and "x = ([x, (x)])[0]" in root and "add = layers.Multiply()" in root
    # Both branches have the same layers: if the layers are there, the branches are joined.
    assert "layers.Concatenate(axis=-1)([branch(x, 1), branch(x, 3)])" in with_blocks(program, "ReLU")


def test_joins_inside_of_a_class_depend_on_its_own_layers_and_those_around_it_on_them() -> None:
    source = f"""{TORCH}
class Stage(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv = nn.Conv2d(n, n, 1)
        self.act = nn.ReLU()
    def forward(self, x):
        return x + self.act(self.conv(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 1)
        self.near, self.far = Stage(8), nn.Sequential(*[Stage(8) for _ in range(2)])
        self.flat = nn.Flatten()
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        x = self.stem(x)
        x = torch.cat([self.near(x), self.far(x)], 1)
        return self.head(self.flat(x))
net = Net()
"""
    program = taken(source)
    assert "return (x, ((x)))[0]" in rooted(program) and "x = ([self.near(x), self.far(x)])[0]" in rooted(program)
    some = with_blocks(program, "ReLU")
    assert "return x + self.act((x))" in some and "torch.cat([self.near(x), self.far(x)], 1)" in some


def test_what_a_loop_joins_is_as_much_in_a_watched_program() -> None:
    init = "self.a = nn.ModuleList([nn.ReLU(), nn.Sequential(nn.Tanh())])"
    program = taken(module(init, "x = torch.cat([a(x) for a in self.a], 1)"))
    # In the place of an absent layer, a layer that passes values on would add one more value to the join.
    assert "nn.ModuleList([nn.Sequential(__seen__(2))])" in rooted(program, watched=True)
