"""Running one seed under the recorder: snippets statement by statement, scripts and test files whole."""

from __future__ import annotations

import ast
import codeop
import contextlib
import functools
import io
import json
import linecache
import runpy
import sys
import types
import unittest
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from fuzz_core.adapters.base import Adapter, Listed
from fuzz_core.tracing.describe import Describer
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.tracing.recorder import Recorder

MAX_REASON = 300
_NAME = "<seed>"


class Tally:
    """How many parts of a seed (statements, tests) ran and failed, and why the first failure."""

    def __init__(self) -> None:
        self.parts = 0
        self.failed = 0
        self.reason = ""

    def run(self, part: Callable[[], Any]) -> None:
        """Runs one part; a failure, even SystemExit, is counted with its reason."""
        self.parts += 1
        try:
            part()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a seed is foreign code: its failure is a count
            if not (isinstance(error, SystemExit) and not error.code):
                self.fail(f"{type(error).__name__}: {error}")

    def fail(self, reason: str) -> None:
        """Counts a failure."""
        self.failed += 1
        self.reason = self.reason or reason[:MAX_REASON]


def run_seed(
    adapter: Adapter, listed: list[Listed], hooks: Hooks, seed: dict[str, str], write: Callable[[str], Any]
) -> None:
    """Executes a seed, writing a JSON line per invocation and a last one with `"end"` and the counts."""
    recorder = Recorder(Describer(adapter, listed), write)
    tally = Tally()
    began = perf_counter()
    adapter.prepare()
    hooks.recorder = recorder
    try:
        _RUNNERS[seed["kind"]](seed, tally)
    finally:
        hooks.recorder = None
    end = {"end": True, "parts": tally.parts, "failed": tally.failed, "reason": tally.reason}
    write(json.dumps({**end, "seconds": perf_counter() - began, **recorder.summary()}) + "\n")


def _module(name: str) -> dict[str, Any]:
    """A namespace that is a module of its own, so that classes defined in it pickle and introspect."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    return vars(module)


def _keep_source(code: str) -> None:
    """Makes the source found by `inspect`: AutoGraph and TorchScript compile functions from it."""
    linecache.cache[_NAME] = (len(code), None, code.splitlines(keepends=True), _NAME)


def _run_snippet(seed: dict[str, str], tally: Tally) -> None:
    namespace = _module("seed")
    _keep_source(seed["code"])
    # It remembers a seed's own `from __future__` from statement to statement, and has none of this file's.
    compiled = codeop.Compile()

    def execute(statement: ast.stmt) -> None:
        exec(compiled(ast.Module([statement], []), _NAME, "exec"), namespace)  # type: ignore[arg-type] # passed on

    for statement in _statements(seed["code"], tally):
        tally.run(functools.partial(execute, statement))


def _statements(code: str, tally: Tally) -> list[ast.stmt]:
    """The statements of a snippet; one that this Python cannot parse is one part that failed."""
    found: list[ast.stmt] = []
    tally.run(lambda: found.extend(ast.parse(code).body))
    tally.parts = tally.failed
    return found


def _run_script(seed: dict[str, str], tally: Tally) -> None:
    if seed.get("path"):
        sys.path.insert(0, str(Path(seed["path"]).parent))
        tally.run(lambda: runpy.run_path(seed["path"], run_name="__main__"))
        return
    _keep_source(seed["code"])
    namespace = _module("__main__")
    tally.run(lambda: exec(compile(seed["code"], _NAME, "exec", dont_inherit=True), namespace))


def _run_tests(seed: dict[str, str], tally: Tally) -> None:
    path = Path(seed["path"])
    sys.path.insert(0, str(path.parent))
    try:
        import pytest
    except ImportError:
        return _run_unittest(path, tally)
    pytest.main(
        ["-q", "--no-header", "-p", "no:cacheprovider", "--import-mode=importlib", str(path)],
        plugins=[_PytestTally(tally)],
    )
    return None


class _PytestTally:
    """A pytest plug-in that counts tests instead of printing them."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest after each phase of a test."""
        self.tally.parts += report.when == "setup"
        if report.failed:
            self.tally.fail(str(getattr(report.longrepr, "reprcrash", report.longrepr)))

    def pytest_collectreport(self, report: Any) -> None:
        """Called by pytest for each file it could not collect."""
        if report.failed:
            self.tally.parts += 1
            self.tally.fail(str(report.longrepr)[-MAX_REASON:])


def _run_unittest(path: Path, tally: Tally) -> None:
    suite = unittest.defaultTestLoader.discover(str(path.parent), path.name)
    with contextlib.redirect_stderr(io.StringIO()):
        result = unittest.TextTestRunner().run(suite)
    tally.parts += result.testsRun
    for _, reason in result.failures + result.errors:
        tally.fail(reason.strip().splitlines()[-1])


_RUNNERS: dict[str, Callable[[dict[str, str], Tally], None]] = {
    "snippet": _run_snippet,
    "script": _run_script,
    "database": _run_script,
    "tests": _run_tests,
}
