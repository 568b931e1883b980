"""The share of sampled faults in our own code that the tests notice.

The module samples mutants of cosmic-ray (extra `bench`) from the packages below. For each mutant, test files that reach
the mutated module run until the first failure. The files of the same package run first, because they notice most. The
module works in a clone of the last commit and prints one line a mutant.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import typer

from bench.harness import Measurement

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("fuzz_core/ir", "fuzz_core/mutation", "fuzz_core/triage", "fuzz_core/store", "bot/issues")
# A mutant may turn a loop into an endless one.
TIMEOUT_SECONDS = 1200
NO_TESTS = 5  # pytest's exit code


class CodeMutant(NamedTuple):
    """A change of one place of a module."""

    module: str
    operator: str
    occurrence: int
    line: int


class _Annotations(ast.NodeTransformer):
    """Drops annotations, which no test can notice."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return ast.AnnAssign(node.target, ast.Constant(None), node.value, node.simple)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def mutants(root: Path) -> list[CodeMutant]:
    """Return every mutant of the packages that cosmic-ray knows without further arguments."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name) for name in sorted(operator_names()) if not get_operator(name).arguments()}
    found = []
    for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*.py")):
        tree, module = get_ast_from_path(path), str(path.relative_to(root))
        for name, operator in operators.items():
            places = (place for node in ast_nodes(tree) for place in operator().mutation_positions(node))
            found += [CodeMutant(module, name, number, start[0]) for number, (start, _) in enumerate(places)]
    return found


def sampled(root: Path, seed: int) -> Iterator[CodeMutant]:
    """Yield the mutants in random order, without those that do not parse or change annotations alone."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    order = mutants(root)
    Random(seed).shuffle(order)
    for mutant in order:
        code = (root / mutant.module).read_text(encoding="utf-8")
        changed = mutate_code(code, get_operator(mutant.operator)(), mutant.occurrence)
        if _behaviour(changed or "") not in ("", _behaviour(code)):
            yield mutant


def _behaviour(code: str) -> str:
    """Return the code without its annotations; empty for code that does not parse."""
    try:
        return ast.dump(_Annotations().visit(ast.parse(code))) if code else ""
    except SyntaxError:
        return ""


def is_killed(mutant: CodeMutant, copy: Path, marks: str) -> bool:
    """Return whether a test that reaches the module fails with the mutant in place.

    Raises:
        RuntimeError: pytest could not run the tests.
    """
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    reach = [sys.executable, "tests/common/reach.py", "--files", mutant.module]
    tests = subprocess.run(reach, cwd=copy, capture_output=True, text=True, check=True).stdout.split()
    folder = f"tests/{Path(mutant.module).parts[1]}/"
    near, far = ([each for each in tests if each.startswith(folder) is is_near] for is_near in (True, False))
    with use_mutation(copy / mutant.module, get_operator(mutant.operator)(), mutant.occurrence):
        return any(_fails(part, copy, marks) for part in (near, far) if part)


def _fails(tests: Sequence[str], copy: Path, marks: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", marks]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests], cwd=copy, env=environment, capture_output=True, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return True
    if done.returncode not in (0, 1, 2, NO_TESTS):
        raise RuntimeError(done.stdout.decode()[-2000:])
    return done.returncode not in (0, NO_TESTS)


def measure(
    count: Annotated[int, typer.Option(help="Number of sampled faults")] = 40,
    seed: Annotated[int, typer.Option(help="Random seed of the sample")] = 1,
    marks: Annotated[str, typer.Option(help="Run only tests with these marks, in the form of pytest's -m")] = "",
) -> Measurement:
    """Measure the share of sampled faults in our own code that the tests notice."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "nightfuzz"
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(copy)], check=True)
        killed = 0
        for mutant in islice(sampled(copy, seed), count):
            is_dead = is_killed(mutant, copy, marks)
            killed += is_dead
            print("killed  " if is_dead else "SURVIVED", f"{mutant.module}:{mutant.line}", mutant.operator, flush=True)
    return Measurement([{"mutants": count, "killed": killed, "share": f"{killed / count:.0%}", "seed": seed}])
