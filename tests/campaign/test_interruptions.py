"""A controller killed or interrupted at any moment: each reported finding is kept, and settled once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

KEY = "fakelib-1"
ROOT = Path(__file__).parent.parent.parent

CONTROLLER = """
import sys
from itertools import count
from pathlib import Path

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions
from fuzz_core.campaign.fuzz import fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store

state, first = Path(sys.argv[1]), int(sys.argv[2])
add, settle = Store.add_finding, Store.settle_finding


def told_add(self, *arguments):
    number = add(self, *arguments)
    if number is not None:
        print("added", number, flush=True)
    return number


def told_settle(self, finding, status, **rest):
    print("settling", finding, flush=True)
    number = settle(self, finding, status, **rest)
    print("settled", finding, flush=True)
    return number


Store.add_finding, Store.settle_finding = told_add, told_settle
with open_store(state) as store:
    session = Session(store, store.targets()[0], state.parent, workers=1)
    apis = ["fakelib.scale", "fakelib.outer", "fakelib.row_sum"]
    for seed in count(first):
        fuzz(session, FuzzOptions(seconds=None, tests=90, seed=seed, patterns=apis, timeout=30.0))
        examine(session, TriageOptions(runs=1, timeout=30.0, bug_seconds=600.0))
"""


@pytest.fixture
def state(tmp_path: Path, fakelib_python: str) -> Path:
    path = tmp_path / "state" / "state.db"
    info = {"summary": "fakelib 1", "notes": [], "devices": ["cpu"]}
    target = TargetRecord(KEY, f"python:{fakelib_python}", "fakelib", "1", fakelib_python, info)
    with open_store(path) as store:
        store.save_target(target)
        trace(Session(store, target, path.parent, workers=1), TraceOptions(sources=["docs"]))
    return path


def environment(state: Path) -> dict[str, str]:
    """Returns variables with the project and fakelib on the path; temporary files go into the test's own folder."""
    path = os.pathsep.join([str(ROOT), os.environ["NIGHTFUZZ_PATH"]])
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(state.parent), "COLUMNS": "200"}


def killed_after(lines: int, state: Path, first: int) -> list[tuple[str, int]]:
    """Returns the lines of a controller as word and number. The controller is killed `lines` lines after its start."""
    command = [sys.executable, "-c", CONTROLLER, str(state), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(state)) as controller:
        assert controller.stdout is not None
        said = [controller.stdout.readline() for _ in range(lines)]
        controller.kill()
        said += controller.stdout.readlines()
    assert controller.returncode == -signal.SIGKILL
    return [(line.split()[0], int(line.split()[1])) for line in said if line.endswith("\n")]


def check(state: Path, said: list[tuple[str, int]]) -> None:
    connection = sqlite3.connect(state)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with open_store(state) as store:
        findings = {row.id: row for row in store.findings(KEY)}
        assert {number for word, number in said if word == "added"} <= findings.keys()
        settled = Counter(number for word, number in said if word == "settled")
        assert set(settled.values()) <= {1}
        assert {findings[number].status for number in settled} <= {"confirmed", "duplicate"}
        assert Counter(row.bug for row in findings.values() if row.bug) == {b.id: b.findings for b in store.bugs()}
        assert Counter(row.bug for row in findings.values() if row.status == "confirmed") <= Counter(
            bug.id for bug in store.bugs()
        )
        assert {run.status for run in store.runs()} <= {"done", "killed"}


def test_a_controller_killed_twenty_times_loses_no_finding_and_settles_none_twice(state: Path) -> None:
    moments = Random(20220521)
    said: list[tuple[str, int]] = []
    for turn in range(20):
        said += killed_after(moments.randint(1, 14), state, first=turn * 1000)
        check(state, said)
    with open_store(state) as store:
        assert {bug.api for bug in store.bugs()} == {"fakelib.scale", "fakelib.outer", "fakelib.row_sum"}
        assert "killed" in {run.status for run in store.runs()}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_command_line_with_its_code_and_a_summary(number: signal.Signals, state: Path) -> None:
    program = "from fuzz_core.cli.app import main; main()"
    options = ["--state", str(state.parent), "--target", KEY, "--time", "1h", "--seed", "1", "--workers", "1"]
    apis = ["--api", "fakelib.add", "--api", "fakelib.row_sum"]
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program, "fuzz", *options, *apis],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(state),
    ) as command:
        assert command.stdout is not None
        said = []
        while not said or "fuzzing" not in said[-1]:
            said.append(command.stdout.readline())
            assert said[-1], "".join(said)
        command.send_signal(number)
        try:
            rest, _ = command.communicate(timeout=5.0)
        finally:
            command.kill()
    assert command.returncode == 130, rest
    assert "of 2 apis" in rest or "stopped" in rest
    with open_store(state) as store:
        assert [run.status for run in store.runs()] == ["interrupted"]


# Two Ctrl-C in the middle of a fuzz, as soon as the first finding is on record.
TWICE = """
import os, signal
from fuzz_core.store.store import Store

add = Store.add_finding


def add_and_interrupt(self, *arguments):
    number = add(self, *arguments)
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    return number


Store.add_finding = add_and_interrupt
from fuzz_core.cli.app import main
main()
"""


def test_a_second_ctrl_c_ends_at_once_and_what_was_found_is_kept(state: Path) -> None:
    options = ["--state", str(state.parent), "--target", KEY, "--time", "1h", "--seed", "1", "--workers", "1"]
    done = subprocess.run(
        [sys.executable, "-c", TWICE, "fuzz", *options, "--api", "fakelib.scale"],
        capture_output=True,
        text=True,
        env=environment(state),
        timeout=60.0,
    )
    assert done.returncode == 130 and "Traceback" not in done.stderr, done
    assert done.stderr.endswith("interrupted; all findings so far are kept\n"), done.stderr
    with open_store(state) as store:
        assert [run.status for run in store.runs()] == ["interrupted"]
        assert [finding.status for finding in store.findings(KEY)] == ["pending"]
    again = subprocess.run(
        [sys.executable, "-m", "fuzz_core.cli", "fuzz", *options, "--tests-count", "1", "--api", "fakelib.scale"],
        capture_output=True,
        text=True,
        env=environment(state),
    )
    assert "new bugs: 1" in again.stdout, again
