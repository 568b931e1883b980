"""Tests of running seeds: snippets statement by statement, scripts as a whole, test files test by test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzz_core.execution.zygote import Job, JobResult, Zygote, run_jobs

Trace = Callable[..., Any]
TESTS = """
import unittest
import tinylib

class Sums(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(tinylib.add(1, 2), 3)

    def test_wrong(self):
        self.assertEqual(tinylib.add(1, 2), 4)

    def test_error(self):
        tinylib.fail(5)
"""
FAKELIB_TESTS = """
import fakelib
import numpy as np
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_sum(n):
    assert fakelib.add(np.ones(n), np.ones(n)).sum() == 2 * n

def test_wrong():
    assert fakelib.add(np.ones(3), np.ones(3)).sum() == 0

@pytest.fixture
def broken():
    raise OSError("no such thing")

def test_broken(broken):
    fakelib.add(np.ones(4), np.ones(4))

def test_skipped():
    pytest.skip("not here")
"""


def counts(traced: Any) -> tuple[int, int]:
    return traced.end["parts"], traced.end["failed"]


def test_a_snippet_goes_on_behind_a_statement_that_fails(trace: Trace) -> None:
    traced = trace("import tinylib\ntinylib.add(1)\nundefined\ntinylib.add(2)\nraise SystemExit(3)\ntinylib.add(3)")
    assert counts(traced) == (6, 2)
    assert traced.end["reason"] == "NameError: name 'undefined' is not defined"
    assert len(traced.good) == 3


@pytest.mark.parametrize("code", ["raise SystemExit", "import sys; sys.exit(0)"])
def test_a_good_exit_is_no_failure(trace: Trace, code: str) -> None:
    assert trace(code).end["failed"] == 0
    assert counts(trace(code, "script")) == (1, 0)


@pytest.mark.parametrize("kind", ["snippet", "script"])
@pytest.mark.parametrize("code", ["def :", "x = '\0'", "return 1", "(" * 300 + ")" * 300])
def test_code_that_is_none_is_a_failure_that_is_counted(trace: Trace, kind: str, code: str) -> None:
    traced = trace(code, kind)
    assert counts(traced) == (1, 1)
    assert "Error" in traced.end["reason"]


@pytest.mark.parametrize("kind", ["snippet", "script"])
def test_a_seed_is_compiled_by_its_own_rules(trace: Trace, kind: str) -> None:
    function = "def f(x: int): pass\n"
    plain = function + "assert f.__annotations__['x'] is int"
    future = "from __future__ import annotations\n" + function + "assert f.__annotations__['x'] == 'int'"
    assert trace(plain, kind).end["failed"] == 0
    assert trace(future, kind).end["failed"] == 0


@pytest.mark.parametrize("kind", ["snippet", "script"])
def test_the_source_and_the_classes_of_a_seed_are_found(trace: Trace, kind: str) -> None:
    code = "import inspect, pickle\nclass C: pass\ndef f(x):\n    return x\n"
    code += "assert inspect.getsource(f).startswith('def f')\nassert type(pickle.loads(pickle.dumps(C()))) is C"
    assert trace(code, kind).end["reason"] == ""


def test_a_script_is_one_part_and_runs_as_main(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("number = 7\n")
    script = tmp_path / "program.py"
    script.write_text("import tinylib, helper\nif __name__ == '__main__':\n    tinylib.add(helper.number)\nundefined\n")
    traced = trace("", "script", str(script))
    assert counts(traced) == (1, 1)
    assert traced.good == ['["tinylib.add",[7],[],null]']


def test_tests_are_run_by_unittest_where_there_is_no_pytest(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pytest", None)
    path = tmp_path / "test_of_tinylib.py"
    path.write_text(TESTS)
    traced = trace("", "tests", str(path))
    assert counts(traced) == (3, 2)
    assert ([len(traced.good), len(traced.calls)]) == [1, 2]


def run_file(python: str, path: Path) -> JobResult:
    with Zygote(python, "fakelib", "trace") as zygote:
        job = Job("seed", {"seed": {"kind": "tests", "code": "", "path": str(path)}}, 60.0)
        return next(run_jobs(zygote, [job], 1, 1 << 30))


def test_pytest_files_are_counted_by_test(fakelib_python: str, tmp_path: Path) -> None:
    path = tmp_path / "test_of_fakelib.py"
    path.write_text(FAKELIB_TESTS)
    result = run_file(fakelib_python, path)
    assert result.complete, result.outcome
    end = result.messages[-1]
    assert (end["parts"], end["failed"]) == (5, 2)
    assert sum("call" in message for message in result.messages) == 3


def test_a_file_that_pytest_cannot_collect_is_a_failure(fakelib_python: str, tmp_path: Path) -> None:
    path = tmp_path / "test_broken.py"
    path.write_text("import fakelib\nimport no_such_module\n")
    end = run_file(fakelib_python, path).messages[-1]
    assert (end["parts"], end["failed"]) == (1, 1)
    assert "no_such_module" in end["reason"]
