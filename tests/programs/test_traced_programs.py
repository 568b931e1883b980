"""Tests of the shipped model programs: well-formed files that run on the real library."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

import pytest

import fuzz_core.programs
from fuzz_core.adapters.dialect import dialect_of, surroundings

PROGRAMS = Path(fuzz_core.programs.__file__).parent / "traced"
LIBRARIES = ("jittor", "tensorflow", "torch")
EVERYWHERE = {"cnn", "custom_autograd", "gaussian_process", "quantised", "sparse", "super_resolution"}
LEAST = 12
ALLOWED_IMPORTS = {"copy", "functools", "itertools", "math", "warnings", "numpy"}

RUN_ALL = """
import runpy, sys, traceback
from pathlib import Path

failed = []
for path in sorted(Path(sys.argv[1]).glob("*.py")):
    try:
        runpy.run_path(str(path), run_name="__main__")
    except Exception:
        failed.append(path.stem)
        traceback.print_exc()
print("failed:", *failed)
sys.exit(bool(failed))
"""


RUN_NAMES = """
import ast, importlib, sys
from pathlib import Path

def parts(node):
    if isinstance(node, ast.Attribute):
        return [*parts(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]

missing = []
for path in sorted(Path(sys.argv[1]).glob("*.py")):
    tree, bound = ast.parse(path.read_text(encoding="utf-8")), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound |= {alias.asname or alias.name: importlib.import_module(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            exec(ast.unparse(node), bound)
    for node in ast.walk(tree):
        name, *rest = parts(node)
        found = bound.get(name)
        for attribute in rest if name in bound else ():
            if not hasattr(found, attribute):
                missing.append(f"{path.stem}: {ast.unparse(node)}")
                break
            found = getattr(found, attribute)
print("missing:", *missing)
sys.exit(bool(missing))
"""
# Programs of Jittor that compile least: a first run of all programs takes half an hour.
COMPILED_SOON = ("custom_autograd", "meta_operators", "sparse")


def programs() -> list[Path]:
    return sorted(path for library in LIBRARIES for path in (PROGRAMS / library).glob("*.py"))


def label(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


each_program = pytest.mark.parametrize("path", programs(), ids=label)


def imported(tree: ast.Module) -> set[str]:
    """Returns the top-level packages that the module imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or ".").partition(".")[0])
    return names


def run_all(
    interpreter: Path, library: str, folder: Path, code: str = RUN_ALL, programs: Path = PROGRAMS
) -> subprocess.CompletedProcess[str]:
    command = [str(interpreter), "-c", code, str(programs / library)]
    own = surroundings(dialect_of(library), interpreter)
    one_core = {**os.environ, **own, "OMP_NUM_THREADS": "1"}  # threads cost tiny models more than they save
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=one_core, timeout=500)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_has_enough_programs_and_those_that_all_have(library: str) -> None:
    names = {path.stem for path in (PROGRAMS / library).glob("*.py")}
    assert len(names) >= LEAST and names >= EVERYWHERE


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_set_is_data_and_no_package(library: str) -> None:
    assert not (PROGRAMS / library / "__init__.py").exists()


@each_program
def test_a_program_compiles(path: Path) -> None:
    compile(path.read_text(encoding="utf-8"), str(path), "exec")


@each_program
def test_a_program_says_what_model_it_is(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring and docstring.endswith(".")


@each_program
def test_a_program_calls_main_only_as_a_script(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert "main" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert ast.unparse(tree.body[-1]) == "if __name__ == '__main__':\n    main()"


@each_program
def test_a_program_imports_nothing_but_its_library_and_the_standard_library(path: Path) -> None:
    names = imported(ast.parse(path.read_text(encoding="utf-8")))
    assert path.parent.name in names
    assert names <= {path.parent.name, *ALLOWED_IMPORTS}


@each_program
def test_a_program_is_short_and_checks_its_loss(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert 40 <= len(lines) <= 120
    assert max(map(len, lines)) <= 120
    assert "isfinite(" in text


@pytest.mark.real
def test_every_torch_program_runs(torch_python: Path, tmp_path: Path) -> None:
    done = run_all(torch_python, "torch", tmp_path)
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr[-4000:]}"


@pytest.mark.real
def test_every_tensorflow_program_runs(tensorflow_python: Path, tmp_path: Path) -> None:
    done = run_all(tensorflow_python, "tensorflow", tmp_path)
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr[-4000:]}"


@pytest.mark.real
def test_every_name_of_jittor_that_a_program_uses_is_there(jittor_python: Path, tmp_path: Path) -> None:
    done = run_all(jittor_python, "jittor", tmp_path, RUN_NAMES)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.real
def test_programs_of_jittor_run(jittor_python: Path, tmp_path: Path) -> None:
    for name in COMPILED_SOON:
        copied = tmp_path / "jittor" / f"{name}.py"
        copied.parent.mkdir(exist_ok=True)
        copied.write_bytes((PROGRAMS / "jittor" / copied.name).read_bytes())
    done = run_all(jittor_python, "jittor", tmp_path, programs=tmp_path)
    assert done.returncode == 0, f"{done.stdout[-500:]}\n{done.stderr[-4000:]}"
