"""`recheck` and `history`, and the status of a bug in `bugs` and `show`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Cli
from fakebuilds import BROKEN, IMPORTS, NONE, RIGHT, SCALE, Builds, found

from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.statefile import open_store

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    """A state with four builds, broken, right, right and broken again, and a bug of the first."""
    builds = Builds(tmp_path)
    with open_store(tmp_path / "state" / "state.db") as store:
        for version, source in {"1": BROKEN, "2": RIGHT, "3": RIGHT, "4": BROKEN}.items():
            store.save_target(builds.make(version, source))
        found(store, "fakelib-1")
    return tmp_path / "state"


def recheck(cli: Cli, state: Path, *more: object) -> dict[str, object]:
    done = cli("recheck", "--state", state, "--runs", 1, "--json", *more)
    assert done.code == 0, done
    (report,) = done.json
    (checked,) = report["checked"]
    return {"target": report["target"], **checked}


def test_a_fix_and_its_return(cli: Cli, versions: Path) -> None:
    assert recheck(cli, versions, "--target", "fakelib-2")["status"] == "open"
    fixed = recheck(cli, versions, "--target", "fakelib-3")
    assert (fixed["turn"], fixed["check"], fixed["hits"], fixed["runs"]) == ("fixed", "clean", 0, 1)
    (bug,) = cli("bugs", "--state", versions, "--json").json
    assert (bug["status"], bug["severity"]["regression"]) == ("fixed", False)
    assert "status: fixed (fixed on fakelib-2)" in cli("show", 1, "--state", versions).out
    back = recheck(cli, versions)
    assert (back["target"], back["turn"], back["status"]) == ("fakelib-4", "regression", "open")
    assert "internal-error, regression" in cli("bugs", "--state", versions).out
    shown = cli("show", 1, "--state", versions, "--json").json
    assert [turn["kind"] for turn in shown["turns"]] == ["fixed", "regressed"]
    assert [check["target"] for check in shown["checks"]] == ["fakelib-2", "fakelib-1", "fakelib-3", "fakelib-4"]


def test_history_tells_every_build_in_order(cli: Cli, versions: Path) -> None:
    for target in ("fakelib-2", "fakelib-3", "fakelib-4"):
        recheck(cli, versions, "--target", target)
    builds = cli("history", "--state", versions, "--json").json
    assert [(each["version"], each["opened"], each["fixed"], each["regressed"]) for each in builds] == [
        ("1", 1, [], []),
        ("2", 0, [1], []),
        ("3", 0, [], []),
        ("4", 0, [], [1]),
    ]
    assert (builds[0]["runs"], builds[0]["findings"], builds[0]["tests"]) == (1, 1, 0)
    (line,) = cli("history", "--state", versions, "--target", "fakelib-4").out.splitlines()[1:]
    assert line.split() == ["fakelib-4", "2026-01-04", "0s", "0", "0", "0", "0", "0", "1"]


def test_the_table_says_what_is_not_as_it_was(cli: Cli, versions: Path, tmp_path: Path) -> None:
    with open_store(versions / "state.db") as store:
        store.save_target(Builds(tmp_path / "more").make("5", NONE))
    done = cli("recheck", 1, "--state", versions, "--runs", 2)
    assert done.code == 0
    assert "unrunnable" in done.out and "has no attribute 'scale'" in done.out
    assert done.out.splitlines()[-1] == "fakelib-5: 1 bugs checked: 1 unrunnable"


def test_a_bug_of_two_builds_has_one_line(cli: Cli, versions: Path) -> None:
    with open_store(versions / "state.db") as store:
        assert found(store, "fakelib-4") == 2
    assert [bug["id"] for bug in cli("bugs", "--state", versions, "--json").json] == [1]
    (bug,) = cli("bugs", "--state", versions, "--target", "fakelib-4", "--json").json
    assert (bug["id"], bug["first"]) == (2, 1)
    assert "the same as bug 1" in cli("show", 2, "--state", versions).out


def test_fail_on_bugs_is_about_what_is_back(cli: Cli, versions: Path) -> None:
    command = ("recheck", "--state", versions, "--runs", 1, "--fail-on-bugs", "--target")
    assert [cli(*command, f"fakelib-{version}").code for version in (1, 2, 3, 4)] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("recheck", "7"), "no bug 7"),
        (("recheck", "--runs", "0"), "--runs"),
        (("history", "--target", "nothing"), "no target 'nothing'"),
    ],
)
def test_bad_input(cli: Cli, versions: Path, arguments: tuple[str, ...], said: str) -> None:
    done = cli(*arguments, "--state", versions)
    assert done.code == 2
    assert said in done.err


def test_an_interrupt_ends_it_between_two_bugs_and_keeps_what_was_checked(cli: Cli, versions: Path) -> None:
    recheck(cli, versions, "--target", "fakelib-2")
    with open_store(versions / "state.db") as store:
        endless = f"{IMPORTS}while True:\n    pass\n"
        other = Outcome("exception", "SystemError", "another one")
        assert found(store, "fakelib-1", SCALE._replace(seed=2), endless, other) == 2
    program = "from fuzz_core.cli.app import main; main()"
    options = ["1", "2", "--state", str(versions), "--target", "fakelib-3", "--runs", "1", "--workers", "2"]
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program, "recheck", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "common")))},
    ) as command:
        assert command.stdout is not None
        while "bug 1: fixed" not in (line := command.stdout.readline()):
            assert line
        command.send_signal(signal.SIGINT)
        try:
            rest, _ = command.communicate(timeout=10.0)
        finally:
            command.kill()
    assert command.returncode == 130, rest
    assert "1 bugs checked: 1 clean, 1 fixed; 1 wait for the next recheck" in rest
    with open_store(versions / "state.db") as store:
        assert [(check.bug, check.target) for check in store.checks()][-1] == (1, "fakelib-3")
