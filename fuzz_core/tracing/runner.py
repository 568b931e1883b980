"""Execution of one seed under the recorder: snippets statement by statement, scripts and test files whole."""

from __future__ import annotations

import ast
import codeop
import contextlib
import functools
import io
import itertools
import json
import linecache
import os
import runpy
import site
import sys
import types
import unittest
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.codec import decode_invocation
from fuzz_core.ir.signatures import NEIGHBOUR
from fuzz_core.ir.values import TestCase
from fuzz_core.tracing.describe import Describer
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.tracing.recorder import Recorder

MAX_REASON = 300
_NAME = "<seed>"
# Entries in the root folder of a project, in any layout.
_ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt")


class Tally:
    """Counts of a seed's parts (statements, tests) that ran and failed, with the reason of the first failure."""

    def __init__(self) -> None:
        self.parts = 0
        self.failed = 0
        self.reason = ""

    def run(self, part: Callable[[], Any]) -> None:
        """Run one part; a failure, even SystemExit, is counted with its reason."""
        self.parts += 1
        try:
            part()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a seed is foreign code: its failure is a count
            if not (isinstance(error, SystemExit) and not error.code):
                self.fail(f"{type(error).__name__}: {error}")

    def fail(self, reason: str) -> None:
        """Count a failure."""
        self.failed += 1
        self.reason = self.reason or reason[:MAX_REASON]


def run_seed(
    adapter: Adapter, listed: list[Listed], hooks: Hooks, seed: dict[str, str], write: Callable[[str], Any]
) -> None:
    """Execute a seed, writing a JSON line per invocation and a last one with `"end"` and the counts."""
    recorder = Recorder(Describer(adapter, listed), write)
    tally = Tally()
    began = perf_counter()
    adapter.prepare()
    hooks.recorder = recorder
    try:
        if seed["kind"] == NEIGHBOUR:
            _run_neighbours(adapter, seed, tally)
        else:
            _RUNNERS[seed["kind"]](seed, tally)
    finally:
        hooks.recorder = None
    end = {"end": True, "parts": tally.parts, "failed": tally.failed, "reason": tally.reason}
    write(json.dumps({**end, "seconds": perf_counter() - began, **recorder.summary()}) + "\n")


def _module(name: str) -> dict[str, Any]:
    """Return the namespace of a new module, so that classes defined in it pickle and introspect."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    return vars(module)


def _keep_source(code: str) -> None:
    """Make `inspect` find the source: AutoGraph and TorchScript compile functions from it."""
    linecache.cache[_NAME] = (len(code), None, code.splitlines(keepends=True), _NAME)


def _run_snippet(seed: dict[str, str], tally: Tally) -> None:
    namespace = _module("seed")
    _keep_source(seed["code"])
    # The compiler keeps a seed's own `from __future__` from statement to statement, and inherits none from this file.
    compiled = codeop.Compile()

    def execute(statement: ast.stmt) -> None:
        exec(compiled(ast.Module([statement], []), _NAME, "exec"), namespace)  # type: ignore[arg-type] # passed on

    for statement in _statements(seed["code"], tally):
        tally.run(functools.partial(execute, statement))


def _statements(code: str, tally: Tally) -> list[ast.stmt]:
    """Return the statements of a snippet; a snippet that this Python cannot parse counts as one failed part."""
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
    # The folder of installed packages that the test file lies in. There, tests import each other by their package's
    # name. Tests have a package even if the folder has no `__init__.py`.
    home = next((home for home in map(Path, site.getsitepackages()) if home in path.parents), None)
    # The project of the file, by the entries of its root folder. The project comes last on the path: pytest knows
    # better.
    roots = (each for each in path.parents if any((each / mark).exists() for mark in _ROOT_MARKS))
    sys.path += [place for root in itertools.islice(roots, 1) for place in _importable(root)]
    try:
        import pytest
    except ImportError:
        return _run_unittest(path, home, tally)
    # A tuple: pytest adds the options of a configuration to the very list that it gets.
    shared = ("-o", f"consider_namespace_packages={home is not None}")
    arguments = ("-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", *shared, str(path))
    said = io.StringIO()
    plugin = _PytestTally(tally)
    with contextlib.redirect_stderr(said):
        code = pytest.main([*arguments], plugins=[plugin])
        if code == pytest.ExitCode.USAGE_ERROR:
            # The options in the user's own configuration may be those of plug-ins that the target does not have.
            said.truncate(said.seek(0))
            code = pytest.main(["-o", "addopts=", "-o", "required_plugins=", *arguments], plugins=[plugin])
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        tally.parts += 1
        tally.fail(f"RuntimeError: pytest cannot start: {_last_error(said.getvalue())}")
    return None


def _importable(root: Path) -> list[str]:
    return [str(each) for each in (root, root / "src") if each.is_dir()]


class _PytestTally:
    """A pytest plug-in that counts tests instead of printing them."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def pytest_load_initial_conftests(self, early_config: Any) -> None:
        """Let packages in pytest's root be found, as by `python -m pytest`, once pytest knows it."""
        sys.path[:0] = _importable(early_config.rootpath)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take the report that pytest makes after each phase of a test."""
        self.tally.parts += report.when == "setup"
        if report.failed:
            self.tally.fail(str(getattr(report.longrepr, "reprcrash", report.longrepr)))

    def pytest_collectreport(self, report: Any) -> None:
        """Take pytest's report of a file that it could not collect."""
        if report.failed:
            self.tally.parts += 1
            self.tally.fail(_last_error(str(report.longrepr)))


def _last_error(text: str) -> str:
    """Return the line of a report that names the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    return (errors or lines or [""])[-1]


class _NamedResult(unittest.TextTestResult):
    """A test result that names the running test in the environment, as pytest does."""

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - the name that unittest calls
        """Take a test that unittest starts now."""
        os.environ["PYTEST_CURRENT_TEST"] = f"::{'::'.join(test.id().split('.')[-2:])} (call)"
        super().startTest(test)


def _run_unittest(path: Path, home: Path | None, tally: Tally) -> None:
    loader = unittest.defaultTestLoader
    suite = unittest.TestSuite()
    if home is None:
        suite.addTest(loader.discover(str(path.parent), path.name))
    else:
        name = ".".join(path.relative_to(home).with_suffix("").parts)
        tally.run(lambda: suite.addTest(loader.loadTestsFromName(name)))
        tally.parts = tally.failed
    with contextlib.redirect_stderr(io.StringIO()):
        result = unittest.TextTestRunner(resultclass=_NamedResult).run(suite)  # type: ignore[arg-type] # stubs: a generic
    tally.parts += result.testsRun
    for _, reason in result.failures + result.errors:
        tally.fail(reason.strip().splitlines()[-1])


def _run_neighbours(adapter: Adapter, seed: dict[str, str], tally: Tally) -> None:
    """Run recorded calls in further ways."""
    ways = adapter.neighbours()
    for call in map(decode_invocation, json.loads(seed["code"])):
        for way in ways:
            tally.run(functools.partial(way, TestCase(call, 0)))


_RUNNERS: dict[str, Callable[[dict[str, str], Tally], None]] = {
    "snippet": _run_snippet,
    "script": _run_script,
    "database": _run_script,
    "tests": _run_tests,
}
