"""Sixty bad inputs and environments (`bad_cases.py`): no traceback, one remedy, and the states stay as they were."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bad_cases import CASES, COMMAND_LINE, ENVIRONMENTS, BadCase

from fuzz_core.cli.errors import guarded
from fuzz_core.store.statefile import open_store

NIGHTFUZZ = f"{sys.executable} -c 'from nightfuzz.bot.main import main; main()'"
# If this variable names a file, the output of each case is written there; docs/lab has it as a table.
TABLE = os.environ.get("NIGHTFUZZ_BAD_CASES")


def test_there_are_sixty_cases_with_names_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


@pytest.fixture
def folder(worked_once: Path, traced_once: Path, tmp_path: Path) -> Path:
    """A directory with the two states of `bad_cases.py`."""
    shutil.copytree(worked_once, tmp_path / "work/state")
    shutil.copytree(traced_once, tmp_path / "work/traced")
    return tmp_path / "work"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_bad_case_has_one_remedy_and_loses_nothing(case: BadCase, folder: Path, fakelib_python: str) -> None:
    case.make(folder)
    before = contents(folder)
    done = run(case, folder, fakelib_python)
    said = done.stderr if case.code else done.stdout
    assert done.returncode == case.code, done
    assert "Traceback" not in done.stdout + done.stderr
    assert case.problem in " ".join(said.split()) and case.remedy in " ".join(said.split()), done
    if case in COMMAND_LINE:
        assert done.stderr.startswith("error: "), done
    if case.code and done.stderr.startswith("error: "):
        assert done.stderr.count("\n  -> ") == 1, "one remedy"
    if case not in ENVIRONMENTS:
        assert contents(folder) == before
    note(case, done)


def run(case: BadCase, folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Runs a case as a process of its own, which can reach no package index and no target of the user's."""
    index = {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "FORCE_", "CI"))}
    env = {**plain, **index, "NIGHTFUZZ_CACHE": str(folder.parent / "cache"), "COLUMNS": "100", **case.env}
    words = case.words.replace("$PYTHON", python)
    line = words.replace("$NF", NIGHTFUZZ) if case.shell else f"{NIGHTFUZZ} {shlex.join(shlex.split(words))}"
    command = ["bash", "-c", line]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", timeout=120)


def contents(folder: Path) -> dict[str, int]:
    """Returns the number of records of each state; for a damaged state, the size of its largest file."""
    found = {}
    for name in ("state", "traced"):
        try:
            with open_store(folder / name / "state.db", read_only=True) as store:
                found[name] = len(store.bugs()) + sum(row.invocations for row in store.coverage("fakelib-1"))
        except Exception:  # noqa: BLE001 - a state that is damaged on purpose is told by its bytes
            pieces = [each for each in (folder / name).glob("state.db*") if each.suffix not in (".lock", "")]
            found[name] = max(each.stat().st_size for each in pieces)
    return found


def note(case: BadCase, done: subprocess.CompletedProcess[str]) -> None:
    """Writes the output of a case to the file of `TABLE`, if there is one."""
    if TABLE:
        with Path(TABLE).open("a", encoding="utf-8") as file:
            said = done.stderr if case.code else done.stdout
            json.dump([case.name, case.words, sorted(case.env.items()), done.returncode, said], file)
            file.write("\n")


def test_a_file_that_the_disk_does_not_take_whole_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text("the old report")
    code = (
        "from pathlib import Path; from fuzz_core.ir.files import write_whole; write_whole(Path('old.md'), 'x' * 5000)"
    )
    line = f"ulimit -f 1; {shlex.join([sys.executable, '-c', code])}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("old.md", "the old report")]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EROFS, "", "state/protection.txt"), "the file system is read-only: state/protection.txt"),
        (OSError(errno.ENOSPC, "", "report.md"), "no space is left on the disk: report.md"),
        (OSError(errno.EDQUOT, "", "report.md"), "the disk quota is used up: report.md"),
        (PermissionError(errno.EACCES, "", "state"), "this user has no permission: state"),
        (MemoryError(), "no memory is left"),
        (BlockingIOError(errno.EAGAIN, ""), "no further process can be started"),
    ],
)
def test_a_fault_of_the_machine_is_the_users_with_a_remedy(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> int:
        try:
            raise error
        finally:
            # An exception that is raised while another one is handled would hide the cause.
            raise RuntimeError("the worker is gone")

    assert guarded(work) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {said}\n  -> ") and shown.count("\n") == 2
