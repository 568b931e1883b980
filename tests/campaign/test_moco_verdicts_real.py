"""Whole programs on the real libraries: compiled, in double precision and in training, with planted faults and none."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from moco_branches import workshop_of

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.campaign.session import Session
from fuzz_core.execution.replay import COMPILED, DEEP, DOUBLED, TRAINING
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

pytestmark = pytest.mark.real
TORCH = '''import torch
from torch import nn

torch.manual_seed(0)


class Own(nn.Module):
    """A layer."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.inner = nn.Dropout(0.5)

    def forward(self, x):
        return {forward}


x = torch.rand(10, 4)
model = nn.Sequential(nn.Linear(4, 8), Own(), nn.BatchNorm1d(8), nn.Linear(8, 1))
{before}
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
{after}
with torch.no_grad():
    print("loss", nn.MSELoss()(model(x), torch.zeros(10, 1)).item())
'''
TENSORFLOW = '''import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(0)


@tf.custom_gradient
def cut(x, scale):
    """Their product, of which the scale gets no gradient."""
    return x * scale, lambda slope: (slope * scale, None)


class Own(keras.layers.Layer):
    """A layer."""

    def __init__(self):
        super().__init__()
        self.weight = self.add_weight(shape=(8,), initializer="ones")

    def call(self, x, training=False):
        return {forward}


x = tf.random.uniform((10, 4))
model = keras.Sequential([keras.layers.Dense(8), Own(), keras.layers.Dense(1)])
{before}
optimizer = keras.optimizers.SGD(0.1)
for _ in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print("loss", float(tf.reduce_mean(tf.square(model(x)))))
'''
JITTOR = '''import jittor as jt
from jittor import nn

jt.set_global_seed(0)


class Own(nn.Module):
    """A layer."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Dropout(0.5)

    def execute(self, x):
        return {forward}


x = jt.rand(10, 4)
model = nn.Sequential(nn.Linear(4, 8), Own(), nn.Linear(8, 1))
{before}
optimizer = jt.optim.SGD(model.parameters(), 0.1)
optimizer.step(model(x).sqr().mean())
{after}
print("loss", model(x).sqr().mean().item())
'''
TEXTS = {"torch": TORCH, "tensorflow": TENSORFLOW, "jittor": JITTOR}
LAYERS = {"torch": "torch.nn", "tensorflow": "tf.keras.layers", "jittor": "jittor.nn"}
PLANTED = [
    ("jittor", COMPILED, "x if jt.flags.lazy_execution else x + 1", "wrong-result"),
    ("torch", COMPILED, "x.flip(1) if torch.compiler.is_compiling() else x", "wrong-result"),
    ("torch", TRAINING, "(x * self.weight.detach()).cumsum(1)", "wrong-gradient"),
    ("torch", DOUBLED, "x * float('nan') if x.dtype == torch.float32 else x", "nonfinite"),
    ("tensorflow", COMPILED, "x if tf.executing_eagerly() else x + 1", "wrong-result"),
    ("tensorflow", TRAINING, "tf.math.cumsum(cut(x, tf.convert_to_tensor(self.weight)), 1)", "wrong-gradient"),
    ("tensorflow", DOUBLED, "x * float('nan') if x.dtype == 'float32' else x", "nonfinite"),
]
# Makes the layer look like one of the library.
LIBRARYS = "Own.__module__ = 'library'"
HARMLESS = [
    ("jittor", "x", "", ""),
    ("jittor", "self.inner(x)", "", ""),
    ("jittor", "jt.exp(200 * x) * 0", "", "model.eval()"),
    ("jittor", "x if jt.flags.lazy_execution else x + float('inf')", "", ""),
    ("jittor", "jt.floor(8 * nn.softmax(x, 1).cumsum(1))", "", ""),
    ("torch", "x * self.weight", "", ""),
    ("torch", "self.inner(x) * self.weight", "", ""),
    ("torch", "self.inner(x) * self.weight", "", "model.eval()"),
    ("torch", "torch.rand_like(x) + x", "", "model.eval()"),
    ("torch", "x", "", "model.eval()"),
    ("torch", "x * self.weight", "model[0].requires_grad_(False)", ""),
    ("torch", "x.round()", "", ""),
    ("torch", "x.sort(0).values", "", ""),
    ("torch", "x.detach() * self.weight", "", ""),
    ("torch", "x * self.weight", "model[0].forward = torch.no_grad()(model[0].forward)", ""),
    ("torch", "(x * self.weight).long().float()", "model[3].requires_grad_(True)", ""),
    ("torch", "x * float('nan')", "", ""),
    ("torch", "(200 * x).exp()", "", ""),
    ("torch", "torch.softmax(200 * x, 1).log()", "", ""),
    ("torch", "x * 1e30", "", ""),
    ("tensorflow", "x", "", ""),
    ("tensorflow", "tf.nn.dropout(x, 0.5)", "", ""),
    ("tensorflow", "tf.exp(200 * x)", "", ""),
    ("tensorflow", "tf.round(x)", "", ""),
    ("tensorflow", "cut(x, tf.convert_to_tensor(self.weight))", "", ""),
    ("tensorflow", "cut(x, tf.convert_to_tensor(self.weight))", f"{LIBRARYS}; model.layers[1].trainable = False", ""),
    ("tensorflow", "x", LIBRARYS, ""),
    ("tensorflow", "x * self.weight", LIBRARYS, ""),
    ("tensorflow", "tf.stop_gradient(x) * self.weight", LIBRARYS, ""),
    ("tensorflow", "x * tf.stop_gradient(self.weight)", LIBRARYS, ""),
    ("tensorflow", "x * tf.round(5.0 * self.weight)", LIBRARYS, ""),
    ("tensorflow", "tf.round(5.0 * x * self.weight)", LIBRARYS, ""),
    ("tensorflow", "x * tf.cast(self.weight > 0.0, x.dtype)", LIBRARYS, ""),
    ("tensorflow", "tf.one_hot(tf.argmax(x * self.weight, 1), 8)", LIBRARYS, ""),
    ("tensorflow", "tf.nn.relu(cut(x, tf.convert_to_tensor(self.weight)) - 1e6)", LIBRARYS, ""),
    ("tensorflow", "cut(tf.ones_like(x), self.weight + 0.0) * float('nan')", LIBRARYS, ""),
    ("tensorflow", "cut(tf.random.uniform(tf.shape(x)), tf.convert_to_tensor(self.weight))", LIBRARYS, ""),
]


class TargetProcesses(NamedTuple):
    """A target with the processes for its programs."""

    session: Session
    workshop: BlockWorkshop


@pytest.fixture(scope="module")
def places(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, TargetProcesses]]:
    with ExitStack() as stack:
        found = {}
        for library in TEXTS:
            python: Path = request.getfixturevalue(f"{library}_python")
            folder = tmp_path_factory.mktemp(library)
            store = stack.enter_context(open_store(folder / "state.db"))
            store.save_target(target := TargetRecord(f"{library}-1", library, library, "1", str(python), {}))
            session = Session(store, target, folder, workers=1)
            found[library] = TargetProcesses(session, stack.enter_context(workshop_of(session)))
        yield found


def program(library: str, forward: str, before: str = "", after: str = "") -> TestCase:
    text = TEXTS[library].replace("{forward}", forward).replace("{before}", before).replace("{after}", after)
    return TestCase(Invocation(f"{LAYERS[library]}.Own"), 0, program=text)


@pytest.mark.parametrize(("library", "mode", "forward", "kind"), PLANTED)
def test_a_planted_fault_is_found_and_confirmed_by_a_script(
    library: str, mode: str, forward: str, kind: str, places: dict[str, TargetProcesses]
) -> None:
    session, workshop = places[library]
    # A program's own layer may change numbers, and on TensorFlow the training, on purpose. A fault there is reported
    # only in a layer of the library.
    is_shown = mode == COMPILED or (library, mode) == ("torch", TRAINING)
    test = program(library, forward, "" if is_shown else LIBRARYS)
    ((verdict, outcome),) = workshop.verdicts_in_mode(test, mode)
    assert (verdict.kind, verdict.mode) == (kind, mode)
    store = session.store
    store.add_finding(session.target.key, store.start_run(session.target.key, 1, {}), test, verdict, outcome, "here")
    examine(session, TriageOptions(runs=1, bug_seconds=5.0))
    (found,) = store.findings(session.target.key)[-1:]
    assert found.status == "confirmed", found.reason
    bug = store.bug(found.bug or 0)
    assert (bug.kind, bug.origin) == (kind, "here")
    # In Jittor's minimised program, the use of the model that stays is a training step.
    assert "# expected: " in bug.script and ("model(x)" if library == "jittor" else "print(") in bug.script


@pytest.mark.parametrize("library", ["torch", "tensorflow"])
def test_a_loss_that_a_program_does_not_print_is_looked_at_too(
    library: str, places: dict[str, TargetProcesses], tmp_path: Path
) -> None:
    """The training loss is not finite, and the program checks that itself: in single precision, it fails there."""
    session, workshop = places[library]
    forward = next(each[2] for each in PLANTED if each[:2] == (library, DOUBLED))
    test = program(library, forward, LIBRARYS)
    text = test.program.replace('print("loss", ', 'assert __import__("math").isfinite(')
    test = TestCase(test.invocation._replace(api=f"{test.invocation.api}Silent"), 0, program=text)
    assert workshop.programs.run(test).outcome.name == "AssertionError"
    ((verdict, outcome),) = workshop.verdicts_in_mode(test, DOUBLED)
    assert verdict.kind == "nonfinite"
    store = session.store
    store.add_finding(session.target.key, store.start_run(session.target.key, 1, {}), test, verdict, outcome, "asserts")
    examine(session, TriageOptions(runs=1, bug_seconds=5.0))
    (found,) = store.findings(session.target.key)[-1:]
    assert found.status == "confirmed"
    (tmp_path / "repro.py").write_text(store.bug(found.bug or 0).script)
    done = subprocess.run(
        [session.target.python, "repro.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert "AssertionError: [nan" in done.stderr and done.returncode == 1


def test_programs_are_compiled_whatever_program_was_before(places: dict[str, TargetProcesses]) -> None:
    """The code of a layer looks up names in the module of its own program."""
    programs = places["torch"].workshop.programs
    test = program("torch", "torch.abs(x) * self.weight", "", "model.eval()")
    told = [programs.program(test.program, seed=seed, compared=True).compiled for seed in (1, 2, 3)]
    assert [each is not None and (each.refused, each.apart < 1.0) for each in told] == [("", True)] * 3


@pytest.mark.parametrize(("library", "forward", "before", "after"), HARMLESS)
def test_what_is_random_frozen_badly_scaled_or_by_design_is_no_fault(
    library: str, forward: str, before: str, after: str, places: dict[str, TargetProcesses]
) -> None:
    _, workshop = places[library]
    test = program(library, forward, before, after)
    assert workshop.programs.run(test).outcome.kind == "ok", workshop.programs.run(test).outcome
    assert not any(workshop.verdicts_in_mode(test, mode) for mode in DEEP)
