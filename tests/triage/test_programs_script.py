"""Tests of programs between the statements of a mode: standalone, in order, with required statements first."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from fuzz_core.adapters.dialect import Around, dialect_of
from fuzz_core.adapters.program_checks import last_use, losses_in_doubles
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.triage.script import render_around, render_comparison

PROGRAM = '''"""A model."""

from __future__ import annotations

import layers

class Twice(layers.Layer):
    def __call__(self, x):
        return 2 * x

class Model(layers.Layer):
    def __init__(self):
        self.layer = Twice()

    def __call__(self, x, more=0):
        return self.layer(x) + more

def main():
    model = Model()
    model(1)
    model(3, more=4)
    layers.Loss()(5)

main()
'''
LAYERS = """
class Layer:
    def __call__(self, *args, **kwargs):
        raise NotImplementedError

class Loss(Layer):
    pass
"""
TEST = TestCase(Invocation("torch.nn.Conv2d"), 1, program=PROGRAM)


class OneLayer:
    """The smallest dialect that these tests need."""

    programs: ClassVar = {
        "compiled": Around("before = 1", "after = 2"),
        "twice": losses_in_doubles("import layers", "print('loss', 'nan' if sys.argv[1] == 'float32' else 0.5)"),
        "same": losses_in_doubles("import layers", "print('loss', 0.5)"),
    }


def test_the_program_stands_between_the_statements_behind_what_comes_first() -> None:
    script = render_around(TEST, "compiled", OneLayer())  # type: ignore[arg-type]
    places = [
        script.index(part) for part in ('"""A model."""', "from __future__", "before = 1", "main()\n", "after = 2")
    ]
    assert places == sorted(places)
    compile(script, "repro.py", "exec")


@pytest.mark.parametrize("library", ["torch", "tensorflow"])
def test_every_mode_of_a_library_makes_a_program_a_script(library: str) -> None:
    dialect = dialect_of(library)
    assert {"compiled", "cpu-fp64"} <= {*dialect.programs}
    for mode in dialect.programs:
        script = render_comparison(TEST, mode, dialect, "the same", "wrong-result: other")
        ast.parse(script)
        assert script.startswith('"""A model."""') and "{told}" not in script
        assert script.endswith("# expected: the same\n# observed: wrong-result: other\n")


@pytest.mark.parametrize(("program", "mode"), [(PROGRAM, "nowhere"), ("x = (\n", "compiled"), ("\0", "compiled")])
def test_what_cannot_be_written_is_refused(program: str, mode: str) -> None:
    with pytest.raises(CodecError):
        render_around(TEST._replace(program=program), mode, OneLayer())  # type: ignore[arg-type]


def run(tmp_path: Path, script: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "repro.py").write_text(script)
    return subprocess.run([sys.executable, "repro.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)


def test_the_last_use_of_a_model_is_kept_not_that_of_a_layer_without_others(tmp_path: Path) -> None:
    """Here each class has its own `__call__`, so that each use of a layer is noted at its place."""
    kept = last_use("import layers", "layers.Layer", "print(type(model).__name__, args, kwargs)\n")
    program = PROGRAM.replace("def __call__", "def call").replace("raise NotImplementedError", "return self.call(0)")
    layers = LAYERS.replace("raise NotImplementedError", "return self.call(*args, **kwargs)").replace(
        "    pass", "    call = lambda self, x: x"
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "layers.py").write_text(layers)
    (tmp_path / "more" / "repro.py").write_text(f"{kept.before}{program.partition('annotations')[2]}{kept.after}")
    done = subprocess.run(
        [sys.executable, "repro.py"], cwd=tmp_path / "more", capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("Model (3,) {'more': 4}\n", "")


@pytest.mark.parametrize(
    ("mode", "words"), [("twice", "AssertionError: [nan], in double precision [0.5]"), ("same", "")]
)
def test_both_precisions_are_run_and_their_losses_told_apart(mode: str, words: str, tmp_path: Path) -> None:
    test = TEST._replace(program="import layers\n")
    done = run(tmp_path, render_around(test, mode, OneLayer()))  # type: ignore[arg-type]
    assert (done.returncode, (done.stderr.splitlines() or [""])[-1]) == (int(bool(words)), words)
