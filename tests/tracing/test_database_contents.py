"""Tests of the digest of a test database's entry: it changes if the code or data that the entry reaches changes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import FunctionType

import pytest

from fuzz_core.adapters.pytorch.databases import Contents

ROOT = Path(__file__).parent.parent.parent
MODULE = """
SIZE = 5

def helper(n):
    "Makes sizes."
    return [n + SIZE]

def samples(op, dtype):
    return map(lambda n: helper(n), range(3))

def others():
    return 1
"""


def digest(text: str, name: str = "samples") -> str:
    namespace = {"__name__": "torch.testing._internal.made_up"}
    exec(compile(text, "made_up.py", "exec"), namespace)
    function = namespace[name]
    assert isinstance(function, FunctionType)
    return Contents().digest([function])


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("SIZE = 5", "\n\n# Another line.\nSIZE = 5", True),
        ("return 1", "return 2", True),
        ("SIZE = 5", "SIZE = 6", False),
        ("n + SIZE", "n - SIZE", False),
        ("range(3)", "range(4)", False),
        ("helper(n)", "others()", False),
    ],
)
def test_what_it_reaches_counts_and_where_it_stands_does_not(old: str, new: str, same: bool) -> None:
    assert old in MODULE
    assert (digest(MODULE) == digest(MODULE.replace(old, new))) == same


PRINT = """
import json
from fuzz_core.adapters.pytorch.databases import programs
print(json.dumps(programs()))
"""


@pytest.mark.real
def test_every_process_says_the_same_of_torch(torch_python: Path) -> None:
    def told() -> list[list[str]]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "random"}
        done = subprocess.run([torch_python, "-c", PRINT], env=environment, capture_output=True, text=True, check=True)
        found: list[list[str]] = json.loads(done.stdout.splitlines()[-1])
        return found

    first = told()
    assert first == told()
    assert len(first) > 500
    assert len({code.splitlines()[-1] for _, code in first}) > 100
