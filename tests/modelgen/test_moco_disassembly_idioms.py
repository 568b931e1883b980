"""Tests of idioms in which programs write models: the blocks, the fixed text, and the text of an absent block."""

from __future__ import annotations

import textwrap

import pytest
from moco_parts import KERAS, TORCH, calls, hidden, module, rooted, taken

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.disassembly import disassemble
from fuzz_core.modelgen.moco.program import assemble


@pytest.mark.parametrize(
    ("init", "forward", "blocks", "left"),
    [
        ("self.a = nn.ReLU()", "x = self.a(x)", ["ReLU"], "x = (x)"),
        ("self.a, self.b = nn.ReLU(), nn.Tanh()", "x = self.b(self.a(x))", ["ReLU", "Tanh"], "x = ((x))"),
        ("self.a = nn.ReLU()", "x = self.a(x) + self.a(x * 2)", ["ReLU"], "x = ((x), (x * 2))[0]"),
        ("self.a = nn.LSTM(4, 4)", "x, _ = self.a(x)", ["LSTM"], "x, _ = (x), None"),
        ("self.a = nn.LSTM(4, 4)", "x, (h, c) = self.a(x)", ["LSTM"], "x, (h, c) = (x), (None, None, )"),
        ("self.a = nn.GRU(4, 4)", "_, y = self.a(x)\nx = y[-1]", ["GRU"], "_, y = None, (x)"),
        ("self.a = nn.GRU(4, 4)", "x = self.a(x)[0]", ["GRU"], "x = (x)"),
        ("self.a = nn.LSTMCell(4, 4)", "h = [x, x]\nx, _ = self.a(x, h)", ["LSTMCell"], "x, _ = (x), None"),
        (
            "self.a = nn.LSTMCell(4, 4)",
            "h = [torch.zeros(4) for _ in range(2)]\nx, _ = self.a(x, h)",
            ["LSTMCell"],
            "x, _ = (x), None",
        ),
        ("self.a = nn.GRU(4, 4)", "x = self.a(x)[:, -1]", ["GRU"], "x = (x)[:, -1]"),
        ("self.a = nn.LSTM(4, 4)", "x, h = self.a(x, None)\nprint(h)", [], "x, h = self.a(x, None)"),
        ("", "x = F.relu(x, inplace=True)", ["relu"], "x = (x)"),
        ("", "x = torch.relu(input = x )", ["relu"], "x = (x)"),
        ("", "x = F.relu(\n    # why\n    x)", ["relu"], "x = (x)"),
        ("", "x = torch.cat([x, F.relu(x)], 1)", ["relu"], "x = ([x, (x)])[0]"),
        ("", "x = torch.add(x, F.relu(x))", ["relu"], "x = (x, (x))[0]"),
        ("", "x = x.view(x.size(0), -1)\nx = F.relu(x.flatten(1))", ["relu"], "x = (x.flatten(1))"),
        ("", "n = torch.numel(x)\nx = F.dropout(x, 0.5, self.training)", ["dropout"], "n = torch.numel(x)"),
        ("self.w = nn.Parameter(torch.ones(4, 4))", "x = F.linear(x, self.w)", [], "x = F.linear(x, self.w)"),
        ("", "x = nn.Softplus(beta=2)(x)", ["Softplus"], "x = (x)"),
        ("self.a = F.gelu", "x = self.a(x)", ["gelu"], "x = (x)"),
        ("self.a = nn.Sequential(nn.ReLU(), nn.Tanh())", "x = self.a(x)", ["ReLU", "Tanh"], "nn.Sequential()"),
        (
            "self.a = nn.Sequential(\n    nn.ReLU(),  # one\n    nn.Sequential(nn.Tanh()),\n)",
            "x = self.a(x)",
            ["ReLU", "Tanh"],
            "nn.Sequential(\n            nn.Sequential(),\n        )",
        ),
        ("self.a = nn.Sequential(nn.ReLU(), nn.Tanh())", "x = self.a[1](x)", ["Tanh"], "nn.Sequential(nn.ReLU(), "),
        (
            "self.a = nn.ModuleList([nn.ReLU(), nn.Tanh()])",
            "for a in self.a:\n    x = a(x)",
            ["ReLU", "Tanh"],
            "self.a = nn.ModuleList([])",
        ),
        (
            "self.a = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])",
            "for a in self.a:\n    x = a(x)",
            ["Linear"],
            "self.a = nn.ModuleList([])",
        ),
        (
            "some = []\nsome.append(nn.ReLU())\nsome += [nn.Tanh(), nn.ELU()]\nself.a = nn.Sequential(*some)",
            "x = self.a(x)",
            ["ReLU", "Tanh", "ELU"],
            "some += []",
        ),
        ("self.a = nn.Identity()", "x = self.a(x) if self.training else x", ["Identity"], "x = (x) if"),
        (
            "self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)\nself.a = nn.Bilinear(4, 4, 4)",
            "x = self.a(self.q(x), self.k(x))",
            ["Linear", "Linear", "Bilinear"],
            "x = ((x), (x))[0]",
        ),
        ("self.a = nn.ReLU()", "with torch.no_grad():\n    y = self.a(x)\nx = x + y", ["ReLU"], "y = (x)"),
        ("self.a = nn.Linear(4, 4)", "x = self.a(x) @ self.a.weight", [], "self.a(x) @ self.a.weight"),
    ],
)
def test_what_a_torch_class_is_made_of(init: str, forward: str, blocks: list[str], left: str) -> None:
    # The additional layer can always be taken out: a program without such a layer is refused.
    source = module("self.spare = nn.SELU()\n" + init, "x = self.spare(x)\n" + forward)
    program = taken(source)
    assert program.style == "class"
    assert hidden(program) == ["SELU", *blocks]
    assert left in rooted(program)


def test_layers_of_classes_inside_are_blocks_in_the_order_of_computation() -> None:
    source = f"""{TORCH}
class Stage(nn.Module):
    def __init__(self, n):
        super(Stage, self).__init__()
        self.conv = nn.Conv2d(n, n, 1)
        self.act = nn.ReLU()
    def forward(self, x):
        return x + self.act(self.conv(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 1)
        self.stages = nn.Sequential(*[Stage(8) for _ in range(2)])
        self.flat = nn.Flatten()
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        return self.head(self.tail(self.stages(self.stem(x))))
    def tail(self, x):
        return self.flat(torch.mean(x, (2, 3)))
net = Net()
"""
    program = taken(source)
    assert [block.call.api.rpartition(".")[2] for block in program.blocks] == [
        "Conv2d",
        "Conv2d",
        "ReLU",
        "mean",
        "Flatten",
        "Linear",
    ]
    assert program.template.head == (0, 5)


def test_training_loss_and_evaluation_stay() -> None:
    source = module("self.a = nn.ReLU()", "x = self.a(x)") + textwrap.dedent("""
        net, criterion, soft = Net(), nn.CrossEntropyLoss(), nn.Softmax(dim=1)
        data = F.normalize(torch.rand(3, 4))
        for _ in range(2):
            out = net(data)
            loss = criterion(out, torch.tensor([0, 1, 1]))
            loss.backward()
        best = torch.argmax(soft(out), 1)
        print(F.mse_loss(soft(net(data)), data[:, :2]))
    """)
    assert hidden(taken(source)) == ["ReLU"]


KERAS_SERIAL = f"""{KERAS}
def block(x, filters):
    y = layers.Conv2D(filters, 3, padding="same")(x)
    return layers.ReLU()(layers.add([x, y]))

inputs = keras.Input((8, 8, 4))
x = block(inputs, 4)
x = tf.keras.activations.gelu(x)
x = layers.LSTM(3, return_sequences=True)(layers.Reshape((64, 4))(x))
a, b = layers.Dense(2)(x), layers.Dense(2, name="b")(inputs=x)
x = layers.Concatenate()([a, b])
outputs = layers.Dense(1)(x)
model = keras.Model(inputs, outputs)
loss = keras.losses.MeanSquaredError()(tf.zeros((2, 64, 1)), model(tf.zeros((2, 8, 8, 4))))
"""


def test_serial_calls_are_blocks_between_the_input_and_the_last_layer() -> None:
    program = taken(KERAS_SERIAL, "tensorflow")
    assert program.style == "serial"
    assert hidden(program) == ["Conv2D", "ReLU", "gelu", "Reshape", "LSTM", "Dense", "Dense"]
    assert [program.blocks[n].line for n in program.template.head] == [15]
    assert program.blocks[2].call.api == "tf.keras.activations.gelu"
    root = rooted(program, watched=True)
    assert "a, b = __seen__(5, x), __seen__(6, x)" in root
    assert "x = __seen__(4, __seen__(3, x))" in root


def test_added_layers_and_lists_of_layers_are_blocks() -> None:
    source = f"""{KERAS}
model = keras.models.Sequential(layers=[
    layers.InputLayer((4,)),
    layers.Dense(3)  # no comma
])
model.add(layers.Dense(8, activation="relu"))
if True:
    model.add(layers.Dropout(0.5))
model.add(layers.Dense(2))
model.compile("sgd", "mse")
"""
    program = taken(source, "tensorflow")
    assert hidden(program) == ["Dense", "Dense", "Dropout"]
    assert "if True:\n    pass\n" in rooted(program)
    assert "if True:\n    model.add(__seen__(3))\n" in rooted(program, watched=True)
    assert "layers.InputLayer((4,)),\n    __seen__(1)  # no comma" in rooted(program, watched=True).replace(
        "__made__(0, layers.InputLayer)", "layers.InputLayer"
    )


@pytest.mark.parametrize(
    ("imports", "spelled", "library", "api"),
    [
        ("import torch", "torch.nn.ReLU", "torch", "torch.nn.ReLU"),
        ("import torch as T", "T.nn.ReLU", "torch", "torch.nn.ReLU"),
        ("import torch.nn", "torch.nn.ReLU", "torch", "torch.nn.ReLU"),
        ("from torch import nn as N", "N.ReLU", "torch", "torch.nn.ReLU"),
        ("from torch.nn import ReLU as R", "R", "torch", "torch.nn.ReLU"),
        ("from torch.nn import *", "ReLU", "torch", "torch.nn.ReLU"),
        ("import torch\nR = torch.nn.ReLU", "R", "torch", "torch.nn.ReLU"),
        ("import torch\nN = torch.nn\nR = N.ReLU", "R", "torch", "torch.nn.ReLU"),
        ("try:\n    from torch.nn import ReLU\nexcept ImportError:\n    ReLU = None", "ReLU", "torch", "torch.nn.ReLU"),
        ("import tensorflow as tf\nL = tf.keras.layers", "L.ReLU", "tensorflow", "tf.keras.layers.ReLU"),
        ("from tensorflow.keras.layers import ReLU", "ReLU", "tensorflow", "tf.keras.layers.ReLU"),
        ("from keras import layers", "layers.ReLU", "tensorflow", "tf.keras.layers.ReLU"),
        ("import jittor as jt", "jt.nn.ReLU", "jittor", "jittor.nn.ReLU"),
        ("from other.nn import ReLU", "ReLU", "other", "other.nn.ReLU"),
        ("from torch.nn.modules.activation import ReLU", "ReLU", "torch", "torch.nn.ReLU"),
    ],
)
def test_apis_have_their_canonical_names_however_they_are_imported(
    imports: str, spelled: str, library: str, api: str
) -> None:
    root = spelled.rpartition(".")[0] or spelled
    source = f"{imports}\nmodel = {root}Sequential({spelled}(1), {spelled}(2), {spelled}(3))\n"
    source = source.replace(f"{root}Sequential", f"{root}.Sequential" if "." in spelled else "Sequential")
    if "." not in spelled:
        source = (
            f"from {'tensorflow.keras' if library == 'tensorflow' else library + '.nn'} import Sequential\n{source}"
        )
    program = disassemble("p.py", source, library, {"torch.nn.modules.activation.ReLU": "torch.nn.ReLU"})
    assert [block.call.api for block in program.blocks] == [api] * 3


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def (:", r"program\.py is not Python: line 1"),
        ("x = 1\n", "it imports nothing of torch"),
        ("import torch\nx = torch.zeros(3)\n", "it makes no layers that it uses"),
        (
            f"{TORCH}class Net(nn.Module):\n    def __init__(self):\n        for n in range(3):\n"
            "            setattr(self, f'a{n}', nn.Linear(4, 4))\n    def forward(self, x):\n"
            "        for n in range(3):\n            x = getattr(self, f'a{n}')(x)\n        return x\n",
            r"line 7: torch\.nn\.Linear gets its name when the program runs",
        ),
        (
            f"{TORCH}class Net(nn.Module):\n    def __init__(self):\n        self.a = {{'b': nn.Linear(4, 4)}}\n"
            "    def forward(self, x):\n        return self.a['b'](x)\n",
            r"line 6: torch\.nn\.Linear is kept in a dictionary",
        ),
        (module("", "").replace("x = self.first(x)\n", "").replace("first", "other"), "stays, as an end of the model"),
        ("import torch.nn as nn\nm = " + "nn.Sequential(" * 500 + ")" * 500, "nested too deeply"),
        ("x = '\udcff'", "is not text"),
    ],
)
def test_a_refusal_says_what_and_where(source: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        disassemble("program.py", source, "torch")


@pytest.mark.parametrize(
    "before",
    [
        "",
        '"""Doc."""\n',
        "# x\n\n",
        '"""Doc."""\nfrom __future__ import annotations\n',
        "from __future__ import division\n",
    ],
)
def test_imports_go_before_the_first_statement_that_may_need_them(before: str) -> None:
    program = disassemble("p.py", before + module("self.a = nn.ReLU()", "x = self.a(x)"), "torch")
    text = assemble(program.template, calls(program), imports="import torch.fft\n")
    assert text.replace("import torch.fft\n", "") == before + module("self.a = nn.ReLU()", "x = self.a(x)")
    compile(text, "p.py", "exec")
    assert text.index("import torch.fft") < text.index("import torch\n") + len(before)


def test_imports_go_before_what_decorates_the_first_statement() -> None:
    source = "@print\nclass First:\n    pass\n" + module("self.a = nn.ReLU()", "x = self.a(x)")
    program = disassemble("p.py", source, "torch")
    assert assemble(program.template, calls(program), imports="import os\n") == "import os\n" + source


def test_other_calls_take_the_places_of_the_original_ones() -> None:
    source = module("self.a = nn.ReLU()", "x = F.relu( self.a(x) , inplace=False)")
    program = taken(source)
    numbers = {block.call.api: block.number for block in program.blocks}
    relu = numbers["torch.nn.functional.relu"]
    other = program.blocks[relu].call._replace(
        api="torch.clamp", spelled="torch.clamp", arguments=(*program.blocks[relu].call.arguments[:1],)
    )
    text = assemble(program.template, {**calls(program), relu: other})
    assert "x = torch.clamp(self.a(x))" in text
    watched = assemble(program.template, {**calls(program), relu: other}, watched=True)
    assert f"x = __made__({relu}, torch.clamp)(self.a(x))" in watched
    assert "self.a = __made__(1, nn.ReLU)()" in watched
