"""The share of sampled faults in our own code that the tests notice.

    python -m bench.mutants --count 40 --seed 1 [--all]

samples mutants of cosmic-ray (extra `bench`) from the packages below and runs, for each, the test files that reach the
mutated module, until the first failure. It works in a clone of the last commit and prints one line a mutant.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("fuzz_core/ir", "fuzz_core/mutation", "fuzz_core/triage", "fuzz_core/store", "bot/issues")
QUICK = "smoke or not (process or server or real or docker or chaos or quality or slow)"
# A mutant may turn a loop into an endless one.
TIMEOUT_SECONDS = 1200
NO_TESTS = 5  # pytest's exit code


class Mutant(NamedTuple):
    """One change of one place of a module."""

    module: str
    operator: str
    occurrence: int
    line: int


def mutants(root: Path) -> Iterator[Mutant]:
    """Every mutant of the packages that cosmic-ray knows without further arguments."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name) for name in sorted(operator_names())}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            tree = get_ast_from_path(path)
            for name, operator in operators.items():
                if operator.arguments():
                    continue
                places = (place for node in ast_nodes(tree) for place in operator().mutation_positions(node))
                for occurrence, (start, _) in enumerate(places):
                    yield Mutant(str(path.relative_to(root)), name, occurrence, start[0])


def is_killed(mutant: Mutant, copy: Path, marks: str) -> bool:
    """Whether a test that reaches the module fails with the mutant in place.

    Raises RuntimeError if pytest could not run the tests.
    """
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    reach = [sys.executable, "tests/common/reach.py", "--files", mutant.module]
    tests = subprocess.run(reach, cwd=copy, capture_output=True, text=True, check=True).stdout.split()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        *marks_of(marks),
        *tests,
    ]
    with use_mutation(copy / mutant.module, get_operator(mutant.operator)(), mutant.occurrence):
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            return True
    if done.returncode not in (0, 1, 2, NO_TESTS):
        raise RuntimeError(done.stdout.decode()[-2000:])
    return done.returncode not in (0, NO_TESTS)


def marks_of(marks: str) -> list[str]:
    """The option that chooses tests by marks; none for every test."""
    return ["-m", marks] if marks else []


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="mutants to sample")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample")
    parser.add_argument("--all", action="store_true", help="run the tests of `make test-all`, not of `make test`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "nightfuzz"
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(copy)], check=True)
        sample = Random(options.seed).sample(list(mutants(copy)), options.count)
        killed = 0
        for mutant in sample:
            died = is_killed(mutant, copy, "" if options.all else QUICK)
            killed += died
            print("killed  " if died else "SURVIVED", f"{mutant.module}:{mutant.line}", mutant.operator, flush=True)
    print(f"{killed} of {options.count} mutants killed ({killed / options.count:.0%}), seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
