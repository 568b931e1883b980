"""Tests of test files in a user's project: packages, options and fixtures are found as pytest finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fuzz_core.execution.zygote import Job, Zygote, run_jobs

TEST = """
import fakelib
import numpy as np
import pytest
from mine.work import double


class TestDouble:
    @pytest.mark.parametrize("size", [2, 3])
    def test_of(self, size):
        assert double(np.ones(size)).sum() == 2 * size
"""
WORK = "import fakelib\n\n\ndef double(x):\n    return fakelib.scale(x, 2.0)\n"
LAYOUTS = {
    "a package beside, and a configuration": ("mine", "tests/test_mine.py", {"pyproject.toml": "[project]\n"}),
    "in src": ("src/mine", "tests/unit/test_mine.py", {"setup.py": ""}),
    "no configuration": ("mine", "tests/test_mine.py", {"requirements.txt": "fakelib\n"}),
    "tests that are a package": ("mine", "tests/test_mine.py", {"tests/__init__.py": ""}),
    "a conftest.py at the root": ("mine", "tests/test_mine.py", {"conftest.py": "import mine.work\n", "tox.ini": ""}),
    "pythonpath": ("lib/mine", "tests/test_mine.py", {"pytest.ini": "[pytest]\npythonpath = lib\n"}),
    "options of a missing plug-in": (
        "mine",
        "tests/test_mine.py",
        {"pytest.ini": "[pytest]\naddopts = --no-such-option\nrequired_plugins = pytest-none\n"},
    ),
}


def traced(python: str, path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the last message, and the messages of invocations."""
    with Zygote(python, "fakelib", "trace") as zygote:
        job = Job("seed", {"seed": {"kind": "tests", "code": "", "path": str(path)}}, 60.0)
        result = next(run_jobs(zygote, [job], 1, 1 << 30))
    assert result.complete, result.outcome
    return result.messages[-1], [message for message in result.messages if "call" in message]


def made(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_package_under_test_is_found(fakelib_python: str, tmp_path: Path, layout: str) -> None:
    package, test, files = LAYOUTS[layout]
    made(tmp_path, {f"{package}/__init__.py": "", f"{package}/work.py": WORK, test: TEST, **files})
    end, calls = traced(fakelib_python, tmp_path / test)
    assert (end["parts"], end["failed"], end["reason"]) == (2, 0, "")
    assert [call["part"] for call in calls] == ["TestDouble::test_of[2]", "TestDouble::test_of[3]"]


def test_a_conftest_that_cannot_be_imported_is_a_failure_that_says_why(fakelib_python: str, tmp_path: Path) -> None:
    made(tmp_path, {"conftest.py": "import no_such_module\n", "test_mine.py": "def test_it():\n    pass\n"})
    end, calls = traced(fakelib_python, tmp_path / "test_mine.py")
    assert (end["parts"], end["failed"], calls) == (1, 1, [])
    assert "pytest cannot start: ModuleNotFoundError: No module named 'no_such_module'" in end["reason"]


def test_a_file_that_cannot_be_imported_is_told_in_one_line(fakelib_python: str, tmp_path: Path) -> None:
    made(tmp_path, {"test_mine.py": "import os\nimport no_such_module\n"})
    end, _ = traced(fakelib_python, tmp_path / "test_mine.py")
    assert end["reason"] == "ModuleNotFoundError: No module named 'no_such_module'"


def test_tests_of_unittest_have_names_without_pytest(fakelib_python: str, tmp_path: Path) -> None:
    text = "import unittest\nimport fakelib\nimport numpy as np\nfrom mine.work import double\n\n\n"
    text += "class Doubles(unittest.TestCase):\n    def test_of(self):\n        double(np.ones(2))\n"
    # A module that cannot be imported stands for a target without pytest.
    hidden = {"pytest.py": "raise ImportError\n", "setup.cfg": "", "mine/__init__.py": "", "mine/work.py": WORK}
    made(tmp_path, {**hidden, "test_mine.py": text})
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{fakelib_python}" "$@"\n')
    python.chmod(0o755)
    end, calls = traced(str(python), tmp_path / "test_mine.py")
    assert (end["parts"], end["failed"], end["reason"]) == (1, 0, "")
    assert [call["part"] for call in calls] == ["Doubles::test_of"]
