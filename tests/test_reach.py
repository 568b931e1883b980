"""The choice of tests after a change: tests that import a changed module, or all tests in unclear cases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from reach import EVERYTHING, Reach, changed_files

FILES = {
    "tinyhouse/__init__.py": "",
    "tinyhouse/low.py": "LOW = 1\n",
    "tinyhouse/high.py": "from tinyhouse.low import LOW\n",
    "tinyhouse/plugin.py": "VALUE = 2\n",
    "tinyhouse/table.py": 'TABLE = {"plugin": "tinyhouse.plugin:VALUE"}\n',
    "tinyhouse/page.j2": "",
    "tests/conftest.py": "",
    "tests/common/helper.py": "from tinyhouse.high import LOW\n",
    "tests/common/planted/__init__.py": "",
    "tests/a/conftest.py": "",
    "tests/a/test_low.py": "from tinyhouse.low import LOW\n",
    "tests/a/test_helper.py": "import helper\n",
    "tests/b/test_table.py": "from tinyhouse import table\n",
    "tests/b/test_process.py": 'COMMAND = ["-m", "tinyhouse.high"]\n',
    "tests/b/test_apart.py": "import json\n",
}
LOW, HELPER = "tests/a/test_low.py", "tests/a/test_helper.py"
TABLE, PROCESS, APART = "tests/b/test_table.py", "tests/b/test_process.py", "tests/b/test_apart.py"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one package and tests, in a folder on the import path."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("tinyhouse/low.py", [HELPER, LOW, PROCESS]),
        ("tinyhouse/high.py", [HELPER, PROCESS]),
        ("tinyhouse/plugin.py", [TABLE]),
        ("tinyhouse/page.j2", [HELPER, LOW, PROCESS, TABLE]),
        ("tinyhouse/gone.py", [HELPER, LOW, PROCESS, TABLE]),
        ("tests/common/helper.py", [HELPER]),
        ("tests/b/test_apart.py", [APART]),
        ("tests/a/conftest.py", [HELPER, LOW]),
        ("tests/conftest.py", [HELPER, LOW, APART, PROCESS, TABLE]),
        ("tests/a/data.json", [HELPER, LOW]),
        ("tests/common/planted/__init__.py", EVERYTHING),
        ("pyproject.toml", EVERYTHING),
        ("docs/page.md", []),
        (".ci/tested", []),
    ],
)
def test_a_change_reaches_the_tests_behind_it(checkout: Path, changed: str, expected: list[str]) -> None:
    assert Reach(checkout).tests_of([changed]) == expected


def test_an_unknown_commit_reaches_everything(tmp_path: Path) -> None:
    assert changed_files("no-such-commit") is None
    assert changed_files("") is None
    assert changed_files("HEAD", tmp_path) is None


def test_the_script_prints_the_files_of_its_own_checkout() -> None:
    script = Path(__file__).parent / "common" / "reach.py"
    command = [sys.executable, str(script), "--files", "bot/issues/plan.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    assert "tests/bot/test_issue_plan.py" in done.stdout.split()


def test_the_project_itself_is_read() -> None:
    reach = Reach()
    assert "tests/reports/test_sarif.py" in reach.tests_of(["reports/sarif.py"])
    assert "tests/bot/test_issue_plan.py" not in reach.tests_of(["reports/sarif.py"])
    assert "tests/campaign/test_planted_bugs.py" in reach.tests_of(["fuzz_core/worker/loop.py"])
