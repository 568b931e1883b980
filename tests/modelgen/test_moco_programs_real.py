"""Tests of model programs of the real libraries in the persistent worker."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fakelib_plans import plan_of

from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.programs.texts import grown_programs
from fuzz_core.worker.programs_ran import ELSEWHERE, MAKE, USE, BlockTensors, TensorKind

pytestmark = pytest.mark.real


class RunningLibrary(NamedTuple):
    """A running library, and the first lines of its programs."""

    name: str
    python: str
    replayer: Replayer
    start: str


STARTS = {
    "torch": "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nx = torch.rand(4, 3, 8, 8)\n",
    "tensorflow": "import tensorflow as tf\nfrom tensorflow import keras\nfrom tensorflow.keras import layers\n"
    "keras.utils.set_random_seed(0)\nx = tf.random.uniform((4, 8, 8, 3))\n",
    "jittor": "import jittor as jt\nfrom jittor import nn\njt.set_global_seed(0)\nx = jt.rand(4, 3, 8, 8)\n",
}


@pytest.fixture(scope="module")
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, RunningLibrary]]:
    """Yields the libraries by name; a library starts when a test asks for it."""
    with ExitStack() as stack:
        yield (made := _Libraries(request, tmp_path_factory.mktemp("plans"), stack))
        made.clear()


class _Libraries(dict[str, RunningLibrary]):
    def __init__(self, request: pytest.FixtureRequest, folder: Path, stack: ExitStack) -> None:
        super().__init__()
        self.request, self.folder, self.stack = request, folder, stack

    def __missing__(self, name: str) -> RunningLibrary:
        python = str(self.request.getfixturevalue(f"{name}_python"))
        plan = plan_of(self.folder / name, [], library=name)
        zygote = self.stack.enter_context(Zygote(python, name, "fuzz", plan))
        replayer = Replayer(zygote, timeout=60.0, memory=4 << 30)
        self.stack.callback(replayer.close)
        self[name] = RunningLibrary(name, python, replayer, STARTS[name])
        return self[name]


TORCH = """
m = nn.Sequential(
    __made__(0, nn.Conv2d)(3, 4, 3), __made__(1, nn.BatchNorm2d)(4), __made__(2, nn.Dropout)(0.5), nn.Flatten(2),
)
out, _ = __made__(3, nn.LSTM)(36, 5, batch_first=True)(__seen__(4, m(x)))
loss = __made__(5, nn.functional.relu)(out).sum()
loss.backward()
assert type(m[0]) is nn.Conv2d and repr(m[2]) == "Dropout(p=0.5, inplace=False)"
print("loss", loss.item())
"""
TENSORFLOW = """
shown = keras.Input((8, 8, 3))
y = __made__(0, layers.Conv2D)(4, 3)(shown)
y = __made__(1, layers.BatchNormalization)()(y)
y = layers.Reshape((36, 4))(__made__(2, layers.Dropout)(0.5)(y))
y = __made__(3, layers.LSTM)(5, return_sequences=True)(__seen__(4, y))
model = keras.Model(shown, __made__(5, tf.keras.activations.relu)(y))
model.compile("sgd", "mse")
assert type(model.layers[1]) is layers.Conv2D and "Dropout name=dropout," in repr(model.layers[3])
print("loss", model.fit(x, tf.zeros((4, 36, 5)), verbose=0).history["loss"][0])
"""
JITTOR = """
m = nn.Sequential(__made__(0, nn.Conv)(3, 4, 3), __made__(1, nn.BatchNorm)(4), __made__(2, nn.Dropout)(0.5))
y = __seen__(4, m(x).reshape(4, 36, 4))
out = __made__(3, nn.Linear)(4, 5)(y)
loss = __made__(5, nn.relu)(out).sum()
assert type(m[0]) is nn.Conv
print("loss", loss.item())
"""
IMAGE, LAST, ROWS = (4, 4, 6, 6), (None, 6, 6, 4), (4, 4, 36)


def _saw(took: tuple[int | None, ...], gave: tuple[int | None, ...] | int) -> BlockTensors:
    return BlockTensors(TensorKind(took, "float32"), gave if isinstance(gave, int) else TensorKind(gave, "float32"))


@pytest.mark.parametrize(
    ("library", "program", "saw", "passed"),
    [
        (
            "torch",
            TORCH,
            [((4, 3, 8, 8), IMAGE), (IMAGE, IMAGE), (IMAGE, IMAGE), (ROWS, 2), ((4, 4, 5), (4, 4, 5))],
            ROWS,
        ),
        (
            "tensorflow",
            TENSORFLOW,
            [
                ((None, 8, 8, 3), LAST),
                (LAST, LAST),
                (LAST, LAST),
                ((None, 36, 4), (None, 36, 5)),
                ((None, 36, 5), (None, 36, 5)),
            ],
            (None, 36, 4),
        ),
        (
            "jittor",
            JITTOR,
            [
                ((4, 3, 8, 8), IMAGE),
                (IMAGE, IMAGE),
                (IMAGE, IMAGE),
                ((4, 36, 4), (4, 36, 5)),
                ((4, 36, 5), (4, 36, 5)),
            ],
            (4, 36, 4),
        ),
    ],
)
def test_layers_are_watched_and_stay_what_they_are(
    library: str, program: str, saw: list[Any], passed: tuple[int, ...], running: dict[str, RunningLibrary]
) -> None:
    asked = running[library]
    ran = [asked.replayer.program(asked.start + program, data) for data in (0, len(asked.start), len(asked.start))]
    assert {each.outcome.kind for each in ran} == {"ok"}, ran[0].outcome
    assert len({each.losses for each in ran}) == len(ran[0].losses) == 1
    seen = dict(ran[0].saw)
    assert seen == dict(zip((0, 1, 2, 3, 5), (_saw(*each) for each in saw), strict=True))
    assert ran[0].passed == {4: TensorKind(passed, "float32")}


@pytest.mark.parametrize("library", ["torch", "tensorflow"])
def test_random_numbers_after_the_data_are_the_same_when_it_is_reused(
    library: str, running: dict[str, RunningLibrary]
) -> None:
    asked = running[library]
    drawn = {
        "torch": "y = nn.Dropout(0.5)(torch.rand(5) + x[0, 0, 0, :5])\nprint('loss', y.sum().item())",
        "tensorflow": "y = tf.nn.dropout(tf.random.normal((5,)), 0.5) + tf.random.uniform((), seed=4)\n"
        "print('loss', float(tf.reduce_sum(y)))\nprint('loss', float(keras.random.normal(())))",
    }[library]
    data = len(asked.start)
    ran = [asked.replayer.program(asked.start + drawn, data) for _ in range(3)]
    assert [each.reused for each in ran[1:]] == [True, True]
    assert len({each.losses for each in ran}) == 1
    alone = subprocess.run(
        [asked.python, "-c", asked.start + drawn],
        env=asked.replayer.zygote.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert tuple(float(line.split()[1]) for line in alone.stdout.splitlines()) == ran[0].losses


def test_a_seed_that_a_program_sets_begins_every_stream_anew(running: dict[str, RunningLibrary]) -> None:
    asked = running["tensorflow"]
    seeded = "\ntf.random.set_seed(5)\nfor _ in range(2):\n  print('loss', float(tf.random.normal((), seed=3)))\n"
    ran = [asked.replayer.program("import tensorflow as tf" + 2 * seeded) for _ in range(2)]
    first, second = ran[0].losses[:2]
    assert first != second
    assert ran[0].losses == ran[1].losses == (first, second) * 2


@pytest.mark.parametrize(
    ("library", "program", "expected"),
    [
        ("torch", "__made__(1, nn.Conv2d)(3, 6, -3)", (1, MAKE, "call")),
        ("torch", "__made__(1, nn.LSTM)(8, 6)(x)", (1, USE, "raise")),
        ("torch", "__made__(1, nn.Linear)(3, 6)(x)", (1, USE, "call")),
        ("torch", "__made__(1, nn.LPPool2d)(0, 2)(x)", (1, USE, "expression")),
        ("torch", "x + torch.rand(5)", (None, ELSEWHERE, "call")),
        ("torch", "{}[5] + x", (None, ELSEWHERE, "program")),
        ("tensorflow", "__made__(1, layers.Dense)(-1)", (1, MAKE, "raise")),
        ("tensorflow", "__made__(1, layers.Conv2D)(6, 30)(x)", (1, USE, "raise")),
        ("tensorflow", "tf.nn.relu('a')", (None, ELSEWHERE, "call")),
        ("jittor", "__made__(1, nn.Conv)(3, 6, 0)", (1, MAKE, "raise")),
        ("jittor", "__made__(1, nn.Linear)(3, 6)(x)", (1, USE, "assert")),
        ("jittor", "__made__(1, nn.relu)('a')", (1, USE, "expression")),
    ],
)
def test_whether_an_error_was_meant_is_told(
    library: str, program: str, expected: tuple[int | None, str, str], running: dict[str, RunningLibrary]
) -> None:
    asked = running[library]
    ran = asked.replayer.program(asked.start + program, len(asked.start))
    assert ran.outcome.kind == "exception"
    assert (ran.inside, ran.phase, ran.how) == expected
    assert ran.line == asked.start.count("\n") + 1
    assert bool(ran.frames) == ("+" not in program)


def test_an_error_of_a_graph_names_its_layer(running: dict[str, RunningLibrary]) -> None:
    asked = running["tensorflow"]
    program = (
        "looked = __made__(1, layers.Embedding)(10, 4)\n"
        "model = keras.Sequential([keras.Input((3,)), looked, layers.Flatten(), __made__(2, layers.Dense)(2)])\n"
        "model.compile('sgd', 'mse')\n"
        "model.fit(tf.fill((4, 3), 70), tf.zeros((4, 2)), verbose=0)\n"
    )
    for _ in range(2):
        ran = asked.replayer.program(asked.start + program, len(asked.start))
        assert (ran.outcome.name, ran.inside, ran.phase) == ("InvalidArgumentError", 1, USE)
        assert ran.line == asked.start.count("\n") + 4


@pytest.mark.parametrize("library", ["torch", "tensorflow"])
def test_programs_leave_no_memory_behind(library: str, running: dict[str, RunningLibrary]) -> None:
    asked = running[library]
    source = dict(grown_programs(library))["lenet_serial"]
    ran = [asked.replayer.program(source) for _ in range(25)]
    assert {each.outcome.kind for each in ran} == {"ok"}
    assert len({each.losses for each in ran}) == 1
    assert ran[-1].memory[2] - ran[5].memory[2] < 24 << 20


MODELS = {
    "torch": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = __made__(0, nn.Linear)(8, 8), __made__(1, nn.Linear)(8, 2)
        self.c = __made__(2, nn.Linear)(8, 2)

    def forward(self, x):
        return self.b(torch.log(self.a(x) * FACTOR) if FACTOR else nn.functional.dropout(self.a(x)))

model = Model()
model(x).sum().backward()
print("loss", model(x).sum().item())
assert x.dtype == torch.get_default_dtype()
""",
    "tensorflow": """
class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = __made__(0, layers.Dense)(8), __made__(1, layers.Dense)(2)

    def call(self, x):
        y = self.a(tf.cast(x, keras.config.floatx()))
        return self.b(tf.math.log(y * FACTOR) if FACTOR else tf.nn.dropout(y, 0.5))

model = Model()
assert model(x).dtype == keras.config.floatx() == keras.config.dtype_policy().compute_dtype
print("loss", float(tf.reduce_sum(model(x))))
""",
}


@pytest.mark.parametrize("library", ["torch", "tensorflow"])
def test_a_model_is_compared_with_itself_compiled(library: str, running: dict[str, RunningLibrary]) -> None:
    asked = running[library]
    steady = asked.replayer.program(asked.start + "FACTOR = 2.0\n" + MODELS[library], compared=True)
    random = asked.replayer.program(asked.start + "FACTOR = 0\n" + MODELS[library], compared=True)
    assert (steady.outcome.kind, random.outcome.kind) == ("ok", "ok")
    assert steady.compiled is not None and steady.compiled.apart <= 1.0 and not steady.compiled.refused
    assert random.compiled is None
    assert not steady.spoilt and not random.spoilt


@pytest.mark.parametrize("library", ["torch", "tensorflow"])
def test_programs_run_in_double_precision(library: str, running: dict[str, RunningLibrary]) -> None:
    asked = running[library]
    source = asked.start + "FACTOR = 0.5\n" + MODELS[library]
    ran = [asked.replayer.program(source, len(asked.start), doubled=doubled) for doubled in (True, False, True, False)]
    assert [(each.outcome.kind, each.spoilt) for each in ran] == [("ok", False)] * 4, ran[0].outcome
    assert [each.reused for each in ran[2:]] == [True, True]
    assert [each.saw[1].took.dtype for each in ran if each.saw[1].took] == ["float64", "float32"] * 2


def test_gradients_of_blocks_are_told(running: dict[str, RunningLibrary]) -> None:
    asked = running["torch"]
    gradients = [
        asked.replayer.program(asked.start + f"FACTOR = {factor}\n" + MODELS["torch"]).gradients
        for factor in ("0", "-1e40")
    ]
    assert gradients[0] == {0: "finite", 1: "finite", 2: "missing"}
    assert gradients[1] == {0: "not finite", 1: "not finite", 2: "missing"}


TRAINED = {
    "torch": """
m = nn.Linear(8, 1)
for _ in range(2):
    m(x).square().mean().backward()
(m(x).sum() * float("nan")).backward()
torch.autograd.backward([m(x).sum()])
""",
    "tensorflow": """
m = keras.Sequential([layers.Flatten(), layers.Dense(1)])
for _ in range(2):
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean(m(x) ** 2)
    tape.gradient(m(x), m.trainable_weights)
    tape.gradient(loss, m.trainable_weights)
m.compile("sgd", "mse")
m.fit(x, tf.fill((4, 1), float("nan")), verbose=0)
""",
    "jittor": """
m = nn.Linear(8, 1)
optimizer = jt.optim.SGD(m.parameters(), 0.0)
for factor in (1.0, 2.0, float("nan")):
    optimizer.step((m(x) * factor).sqr().mean())
""",
}


@pytest.mark.parametrize(("library", "count"), [("torch", 3), ("tensorflow", 3), ("jittor", 1)])
def test_what_a_program_trains_by_is_its_loss_where_it_prints_none(
    library: str, count: int, running: dict[str, RunningLibrary]
) -> None:
    asked = running[library]
    source = asked.start + TRAINED[library]
    ran = [asked.replayer.program(text) for text in (source, source, source + 'print("loss", 7)')]
    assert [(each.outcome.kind, each.spoilt) for each in ran] == [("ok", False)] * 3, ran[0].outcome
    *before, last = ran[0].losses
    assert isnan(last) and len(before) == count - 1 and len(set(before)) <= 1
    assert ran[1].losses[:-1] == ran[0].losses[:-1] and ran[2].losses == (7.0,)


PASSING = {
    "torch": "m = nn.Sequential(nn.Conv2d(3, 4, 3), __seen__(1), nn.Flatten())\nout = m(x)\nm(x[:2])\n",
    "tensorflow": "m = keras.Sequential([layers.Conv2D(4, 3), __seen__(1), layers.Flatten()])\nout = m(x)\nm(x[:2])\n",
    "jittor": "m = nn.Sequential(nn.Conv(3, 4, 3), __seen__(1), nn.Flatten())\nout = m(x)\nm(x[:2])\n",
}


@pytest.mark.parametrize(
    ("name", "shape"), [("torch", (4, 4, 6, 6)), ("tensorflow", (4, 6, 6, 4)), ("jittor", (4, 4, 6, 6))]
)
def test_an_absent_element_of_a_sequence_passes_on_what_it_gets_and_tells_of_the_first(
    running: dict[str, RunningLibrary], name: str, shape: tuple[int, ...]
) -> None:
    library = running[name]
    ran = library.replayer.program(library.start + PASSING[name] + "assert tuple(out.shape) == (4, 144)\n")
    assert ran.outcome.kind == "ok", ran
    assert ran.passed == {1: TensorKind(shape, "float32")}
