"""Graphs and operators for the tests of Gandalf, and processes that run their programs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fuzz_core.adapters.dialect import all_surroundings
from fuzz_core.modelgen.gandalf.table import Operator, read

RUNNER = Path(__file__).with_name("gandalf_runner.py")
ROOT = Path(__file__).resolve().parents[2]
HEAD = "family: tried\noperators:\n"
SPELLED = "    spelled: {torch: 'F.relu(x)', tensorflow: 'tf.nn.relu(x)', jittor: 'nn.relu(x)'}\n"


def operator(fields: str, spelled: str = SPELLED) -> Operator:
    """Returns one operator named `tried`. The lines of `fields` are indented by four."""
    return read(f"{HEAD}  tried:\n{fields}{spelled}", "tried.yaml")[0]


def results_of(python: Path, library: str, programs: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """Returns the results of each program, run in one process of a library: node -> array, or the text of its error."""
    given, made = folder / "programs.json", folder / "results.json"
    given.write_text(json.dumps(programs))
    around = {**os.environ, **all_surroundings(python), "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    command = [python, RUNNER, library, given, made]
    done = subprocess.run(command, env=around, capture_output=True, text=True, timeout=1100)
    assert made.exists(), done.stderr[-3000:]
    found = json.loads(made.read_text())
    return {name: each if isinstance(each, str) else _arrays(each) for name, each in found.items()}


def _arrays(told: Mapping[str, Any]) -> dict[int, np.ndarray]:
    return {int(node): _array(each) for node, each in told.items()}


def _array(told: Mapping[str, Any]) -> np.ndarray:
    values = [float(each) if each not in ("True", "False") else each == "True" for each in told["values"]]
    kind = np.dtype(told["dtype"]) if told["dtype"] != "bfloat16" else np.dtype("float32")
    return np.array(values).astype(kind).reshape(told["shape"])
