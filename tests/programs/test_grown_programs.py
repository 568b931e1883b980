"""Tests of the nine models of table II: they can be taken apart line by line, and train on the real library."""

from __future__ import annotations

import ast
import json
import math
import os
import subprocess
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TypeGuard

import pytest

from fuzz_core.adapters.dialect import dialect_of, surroundings
from fuzz_core.programs.texts import MODELS, SPELLINGS, grown_programs

LIBRARIES = ("jittor", "tensorflow", "torch")
# Layers of each model as table II counts them. For ResNet18 and GoogLeNet the count leaves out joins of branches.
LAYERS = {
    "lenet": 10,
    "squeezenet": 14,
    "pointnet": 15,
    "alexnet": 17,
    "vgg19": 26,
    "mobilenet": 32,
    "resnet18": 60,
    "googlenet": 130,
    "lstm": 5,
}
SMALL = ("lenet", "lstm", "pointnet")
SEEDED = {"jittor": "jt.set_global_seed", "tensorflow": "keras.utils.set_random_seed", "torch": "torch.manual_seed"}
MADE = {"nn", "layers"}
CONTAINERS = {"Module", "ModuleList", "Sequential"}
APPLIED = {"flatten", "max", "relu", "relu6", "tanh"}
DRAWING = {"rand", "randint", "uniform"}
BOTH_STYLES = ("lenet", "lstm", "squeezenet")
LINES = 300

# The model of Jittor that compiles least: a first run of all models takes a quarter of an hour.
COMPILED_SOON = ("lenet",)

# Prints the loss of each program, by name, each time that it is run.
RUN = """
import contextlib, io, json, runpy, sys
from pathlib import Path

losses = {}
for path in sys.argv[1:]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(path, run_name="__main__")
    losses.setdefault(Path(path).stem, []).append(float(out.getvalue().removeprefix("loss ")))
print("losses:", json.dumps(losses))
"""


def programs() -> list[tuple[str, str, str]]:
    return [(library, *each) for library in LIBRARIES for each in grown_programs(library)]


each_program = pytest.mark.parametrize(
    ("library", "name", "source"), programs(), ids=[f"{library}-{name}" for library, name, _ in programs()]
)


def is_layer(call: ast.Call) -> bool:
    """Returns whether the call makes a layer or applies a function to the activation."""
    if not isinstance(call.func, ast.Attribute):
        return False
    root, last = ast.unparse(call.func.value), call.func.attr
    made = root in MADE and last[0].isupper() and last not in CONTAINERS and not last.endswith("Loss")
    return made or (last in APPLIED and not root.startswith("self"))


def makes_layers(node: ast.stmt) -> TypeGuard[ast.ClassDef]:
    """Returns whether the statement is a class with an `__init__`."""
    return isinstance(node, ast.ClassDef) and any(getattr(each, "name", "") == "__init__" for each in node.body)


def calls_of(source: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_model_is_a_class_and_some_are_serial_calls(library: str) -> None:
    names = [name for name, _ in grown_programs(library)]
    assert names == sorted([f"{model}_class" for model in LAYERS] + [f"{model}_serial" for model in BOTH_STYLES])


def test_a_library_without_a_set_has_no_seeds() -> None:
    assert list(grown_programs("numpy")) == []


@each_program
def test_a_program_has_each_layer_on_a_line_of_its_own(library: str, name: str, source: str) -> None:
    lines = Counter(call.lineno for call in calls_of(source) if is_layer(call))
    assert len(lines) >= LAYERS[name.partition("_")[0]]
    assert set(lines.values()) == {1}


@each_program
def test_a_program_fixes_its_random_state_before_it_draws(library: str, name: str, source: str) -> None:
    calls = calls_of(source)
    seeded = [call.lineno for call in calls if ast.unparse(call) == f"{SEEDED[library]}(0)"]
    drawn = [call.lineno for call in calls if ast.unparse(call.func).rpartition(".")[2] in DRAWING]
    assert len(seeded) == 1 and all(seeded[0] < line for line in drawn)


@each_program
def test_a_program_trains_on_100_samples_and_prints_its_loss(library: str, name: str, source: str) -> None:
    assert "samples[100:]" in source and "(120," in source
    printed = [call for call in calls_of(source) if ast.unparse(call.func) == "print"]
    assert [ast.unparse(call.args[0]) for call in printed] == ["'loss'"]


@each_program
def test_a_program_is_a_class_or_serial_calls(library: str, name: str, source: str) -> None:
    bases = {ast.unparse(base) for node in ast.parse(source).body if makes_layers(node) for base in node.bases}
    model = "keras.Model" if library == "tensorflow" else "nn.Module"
    assert bases == ({model} if name.endswith("_class") else set())


@each_program
def test_a_program_can_be_read(library: str, name: str, source: str) -> None:
    docstring = ast.get_docstring(ast.parse(source))
    assert docstring and docstring.endswith(".")
    assert len(source.splitlines()) <= LINES and max(map(len, source.splitlines())) <= 120


def test_each_line_of_the_translation_is_needed() -> None:
    """If an entry changes no program of PyTorch, its program has changed."""
    texts = dict(grown_programs("torch"))
    for before, after in SPELLINGS:
        assert any(before in text for text in texts.values()), before
        texts = {name: text.replace(before, after) for name, text in texts.items()}
    for model, entries in MODELS.items():
        for before, _ in entries:
            assert any(before in text for name, text in texts.items() if name.startswith(model)), before


@pytest.mark.parametrize(("name", "source"), list(grown_programs("jittor")))
def test_nothing_of_torch_is_left_in_a_translated_program(name: str, source: str) -> None:
    roots = {node.value.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)
             and isinstance(node.value, ast.Name)}  # fmt: skip
    assert "torch" not in source and "F" not in roots and {"jt", "nn"} <= roots


def losses(interpreter: Path, library: str, folder: Path, models: Collection[str]) -> dict[str, list[float]]:
    """Returns the losses that the seeds of these models print; the small models are run a second time."""
    paths = []
    for name, source in grown_programs(library):
        path, model = folder / f"{name}.py", name.partition("_")[0]
        path.write_text(source, encoding="utf-8")
        paths += [str(path)] * (model in models) * (2 if model in SMALL else 1)
    own = surroundings(dialect_of(library), interpreter)
    one_core = {**os.environ, **own, "OMP_NUM_THREADS": "1"}
    command = [str(interpreter), "-c", RUN, *paths]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=one_core, timeout=500)
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr[-4000:]}"
    found: dict[str, list[float]] = json.loads(done.stdout.rpartition("losses: ")[2])
    return found


def consistent(found: dict[str, list[float]]) -> bool:
    """Returns whether every loss is finite, and each model has the same loss in each run and in both styles."""
    runs = [found[name] + found.get(name.replace("_class", "_serial"), []) for name in found if name.endswith("_class")]
    return all(math.isfinite(each[0]) and len(set(each)) == 1 for each in runs)


@pytest.mark.real
def test_programs_of_torch_train_to_the_same_loss_in_both_styles(torch_python: Path, tmp_path: Path) -> None:
    found = losses(torch_python, "torch", tmp_path, LAYERS)
    assert consistent(found), found


@pytest.mark.real
def test_programs_of_tensorflow_train_to_the_same_loss_in_both_styles(tensorflow_python: Path, tmp_path: Path) -> None:
    found = losses(tensorflow_python, "tensorflow", tmp_path, LAYERS)
    assert consistent(found), found


@pytest.mark.real
def test_a_program_of_jittor_trains_to_the_same_loss_in_both_styles(jittor_python: Path, tmp_path: Path) -> None:
    found = losses(jittor_python, "jittor", tmp_path, COMPILED_SOON)
    assert consistent(found) and len(found["lenet_serial"]) == 2, found
