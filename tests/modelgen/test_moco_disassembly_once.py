"""Tests of layers that a model uses in one place: one execution shows which of them keep the shape."""

from __future__ import annotations

import pytest
from moco_parts import KERAS, TORCH, module, taken

from fuzz_core.modelgen.moco.program import Program

STAGE = "class Stage(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.act = nn.ReLU()\n"
STAGE += "    def forward(self, x):\n        return self.act(x)\n"


def once(program: Program, api: str = "ReLU") -> list[bool]:
    """Returns for each block of this api whether it is used once."""
    return [block.once for block in program.blocks if block.call.api.endswith(f".{api}")]


@pytest.mark.parametrize(
    ("init", "forward", "single"),
    [
        ("self.a = nn.ReLU()", "x = self.a(x)", True),
        ("self.a = nn.ReLU()", "x = self.a(self.a(x))", False),
        ("self.a = nn.ReLU()", "for _ in range(2):\n    x = self.a(x)", False),
        ("self.a = nn.Sequential(nn.ReLU())", "x = self.a(x)", True),
        ("self.a = nn.Sequential(nn.ReLU())", "x = self.a(x)\nx = self.a(x)", False),
        ("self.a = nn.Sequential(*[nn.ReLU() for _ in range(2)])", "x = self.a(x)", False),
        ("self.a = nn.ModuleList([nn.ReLU(), nn.Tanh()])", "for a in self.a:\n    x = a(x)", False),
        ("self.a = Stage()", "x = self.a(x)", True),
        ("self.a, self.b = Stage(), Stage()", "x = self.b(self.a(x))", False),
        ("self.a = Stage()", "x = self.a(x) + self.a(x * 2)", False),
        ("", "x = nn.ReLU()(x)", True),
        ("self.a = nn.ReLU()", "x = self.helped(x)", True),
        ("self.a = nn.ReLU()", "x = self.helped(self.helped(x))", False),
    ],
)
def test_a_layer_of_a_class_is_used_once_where_that_can_be_seen(init: str, forward: str, single: bool) -> None:
    source = module(f"self.spare = nn.SELU()\n{init}", f"x = self.spare(x)\n{forward}")
    if "helped" in forward:
        helper = "    def helped(self, x):\n        return self.a(x)\n"
        source = source.replace("    def forward", f"{helper}    def forward")
    made = source.replace(TORCH, TORCH + STAGE) if "Stage" in init else source
    assert once(taken(made + "net = Net()\nfor _ in range(2):\n    net(torch.rand(2, 4))\n")) == [single]


def test_what_a_model_is_called_for_does_not_count() -> None:
    source = f"""{TORCH}
first = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
middle = nn.Sequential(nn.ReLU())
last = nn.Sequential(nn.Tanh(), nn.Linear(4, 2))
def model(x):
    x = first(x)
    x = middle(x)
    return last(x)
data = torch.rand(8, 4)
for _ in range(2):
    model(data[:6]).sum().backward()
print("loss", model(data[6:]).sum().item())
"""
    assert once(taken(source)) == [True]


def test_serial_calls_are_uses_of_layers_of_their_own() -> None:
    source = f"""{KERAS}
def block(x):
    return layers.ReLU()(x)
x = keras.Input((8,))
x = layers.Dense(4)(x)
x = block(x)
act = layers.ReLU()
x = act(act(x))
x = layers.ReLU()(x)
model = keras.Model(x, layers.Dense(1)(x))
"""
    assert once(taken(source, "tensorflow")) == [True, False, True]
    assert once(taken(source.replace("x = block(x)\n", "x = block(block(x))\n"), "tensorflow")) == [False, False, True]
