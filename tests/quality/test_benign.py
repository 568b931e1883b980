"""Tests that correct calls of the real libraries are reported by no oracle in any mode."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import benign_invalid
import benign_rounding
import benign_tensorflow
import benign_torch
import pytest
from cases import Case

import fuzz_core
from fuzz_core.ir.codec import encode_test
from fuzz_core.ir.values import TestCase

PROGRAM = Path(__file__).parent / "judge.py"
LIBRARIES = {
    "torch": (*benign_torch.CASES, *benign_rounding.TORCH, *benign_invalid.CASES),
    "tensorflow": (*benign_tensorflow.CASES, *benign_rounding.TENSORFLOW),
}
# PyTorch's layouts follow from the seed: one for each.
SEEDS = {"torch": (0, 3, 5, 6), "tensorflow": (0,)}
# Processes per library, so that several can share the work.
PARTS = 3
SECONDS = 500


def part_of(library: str, part: int) -> list[tuple[Case, int]]:
    """Returns every `PARTS`-th case, with each seed."""
    return [(case, seed) for case in LIBRARIES[library][part::PARTS] for seed in SEEDS[library]]


def judged(python: Path, library: str, cases: list[tuple[Case, int]]) -> tuple[list[str], dict[str, list[str]]]:
    """Returns the reports on cases, and the modes that were left out.

    A report is the reason of a case that is not clean, and the verdict. If the process dies, its death is the single
    report.
    """
    lines = [json.dumps(encode_test(TestCase(case.call, seed))) for case, seed in cases]
    command = [str(python), str(PROGRAM), library]
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1])}
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, timeout=SECONDS, env=env)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("[", "{"))]
    if len(told) <= len(cases):
        return [f"died in {[*cases, ('nothing',)][len(told)]}: {done.stderr[-2000:]}"], {}
    wrong = [f"{cases[index][0].reason}: {verdict}" for index, _, verdicts in told[:-1] for verdict in verdicts]
    return wrong, told[-1]


@pytest.mark.real
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_is_reported_of_what_is_right(library: str, part: int, request: pytest.FixtureRequest) -> None:
    python = request.getfixturevalue(f"{library}_python")
    wrong, tried = judged(python, library, part_of(library, part))
    assert wrong == []
    assert tried == {"idle": []}


def test_the_set_is_large_enough() -> None:
    assert sum(map(len, LIBRARIES.values())) >= 60
    for cases in LIBRARIES.values():
        assert len({case.reason for case in cases}) >= 20
        assert len(set(cases)) == len(cases)
