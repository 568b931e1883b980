"""A campaign under faults: no finding is lost, no finding is false, and the run ends in time."""

from __future__ import annotations

import os
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions, FuzzReport, fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.watch import Watch
from fuzz_core.cli.errors import USER_ERROR, guarded
from fuzz_core.execution.scratch import sweep
from fuzz_core.ir.errors import UserError
from fuzz_core.store.statefile import open_store
from fuzz_core.worker.limits import children

ROOT = Path(__file__).parent.parent.parent
PEACEFUL = ("fakelib.add", "fakelib.outer", "fakelib.row_sum", "fakelib.scale")
PLANTED = {("fakelib.outer", "internal-error"), ("fakelib.row_sum", "crash"), ("fakelib.scale", "internal-error")}
GRACE = 10.0
# Far longer than a test takes on a busy machine, so that only a real hang reaches it.
TIMEOUT = 30.0


class Disturbed(Watch):
    """A watch that calls one function at the start of fuzzing and another at every step."""

    def __init__(self, first: Callable[[], object] = lambda: None, always: Callable[[], object] = lambda: None) -> None:
        self.first = first
        self.always = always

    def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
        """Calls the first function."""
        if name == "fuzzing":
            self.first()

    def advance(self, done: float, **figures: object) -> None:
        """Calls the second function."""
        self.always()


def counted(session: Session, tests: int, *patterns: str, seed: int = 1) -> FuzzReport:
    return fuzz(session, FuzzOptions(seconds=None, tests=tests, patterns=patterns, seed=seed, timeout=TIMEOUT))


def timed(session: Session, seconds: float, *patterns: str) -> FuzzReport:
    """Runs for some seconds; the run must end within them and a grace period."""
    began = time.monotonic()
    report = fuzz(session, FuzzOptions(seconds=seconds, patterns=patterns, seed=1, timeout=TIMEOUT))
    assert time.monotonic() - began < seconds + GRACE
    return report


def found(session: Session) -> set[tuple[str, str]]:
    """Returns api and kind of each finding, without rejected hangs.

    A timeout of one api's short limit is only suspected to be a hang, so triage runs it again with the full timeout.
    """
    rows = session.store.findings(session.target.key)
    if any(row.verdict.kind == "hang" for row in rows):
        examine(session, TriageOptions(runs=1, timeout=TIMEOUT))
        rows = session.store.findings(session.target.key)
    return {(row.api, row.verdict.kind) for row in rows if (row.verdict.kind, row.status) != ("hang", "rejected")}


def test_a_library_that_fights_back_is_fuzzed_like_any_other(session: Session) -> None:
    report = timed(session, 16.0)
    assert found(session) == PLANTED
    assert report.apis == len(PEACEFUL) + 2 + 13
    assert report.deaths > 0
    assert [run.status for run in session.store.runs()] == ["done"]


def test_workers_and_zygotes_killed_at_random_moments_cost_no_finding(session: Session) -> None:
    luck = Random(5)
    killed = []

    def kill_somebody() -> None:
        zygotes = [pid for guardian in children() for pid in children(guardian)]
        victims = zygotes if luck.random() < 0.05 else [pid for zygote in zygotes for pid in children(zygote)]
        if victims and luck.random() < 0.3:
            killed.append(luck.choice(victims))
            with suppress(ProcessLookupError):
                os.kill(killed[-1], signal.SIGKILL)

    session.watch = Disturbed(always=kill_somebody)
    counted(session, 3000, *PEACEFUL)
    assert len(killed) > 20
    assert found(session) == PLANTED


CONTROLLER = """
import sys
from pathlib import Path

from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store

state, seed = Path(sys.argv[1]), int(sys.argv[2])
add = Store.add_finding


def told_add(self, *arguments):
    number = add(self, *arguments)
    print("added", number, flush=True)
    return number


Store.add_finding = told_add
with open_store(state / "state.db") as store:
    session = Session(store, store.targets()[0], state, workers=2)
    fuzz(session, FuzzOptions(seconds=600.0, seed=seed, timeout=30.0))
"""


def test_a_killed_controller_leaves_its_findings_and_nothing_else(
    state: Path, temporary: Path, processes_of: Callable[[Path], set[int]]
) -> None:
    added: list[str] = []
    for turn, lines in enumerate((1, 4, 9)):
        command = [sys.executable, "-c", CONTROLLER, str(state), str(turn)]
        path = os.pathsep.join([str(ROOT), os.environ["NIGHTFUZZ_PATH"]])
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as controller:
            assert controller.stdout is not None
            added += [controller.stdout.readline() for _ in range(lines)]
            guardians = [os.pidfd_open(pid) for pid in children(controller.pid)]
            controller.kill()
            added += controller.stdout.readlines()
        assert guardians
        for guardian in guardians:
            assert select.select([guardian], [], [], 60.0)[0]
            os.close(guardian)
        assert processes_of(temporary) == set()
        assert list(temporary.glob("*/zygote.log")) == []
        sweep()
        assert list(temporary.glob("*/owner.lock")) == []
    numbers = {int(line.split()[1]) for line in added if line.endswith("\n") and "None" not in line}
    with open_store(state / "state.db") as store:
        kept = {row.id: (row.api, row.verdict.kind) for row in store.findings(store.targets()[0].key)}
        assert numbers <= kept.keys()
        assert set(kept.values()) <= PLANTED
        assert {run.status for run in store.runs()} == {"killed"}


def intact(state: Path) -> bool:
    connection = sqlite3.connect(state / "state.db")
    try:
        return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    finally:
        connection.close()


class Keeping:
    """A wrapper of the store's `add_finding` that collects the numbers of the kept findings."""

    def __init__(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        self.numbers: set[int] = set()
        add = session.store.add_finding

        def told(*arguments: object) -> int | None:
            number = add(*arguments)  # type: ignore[arg-type]
            if number is not None:
                self.numbers.add(number)
            return number

        monkeypatch.setattr(session.store, "add_finding", told)


def endless(session: Session) -> int:
    """Fuzzes up to 1000 times; an error is expected to end it earlier."""
    for seed in range(1000):
        counted(session, 200, "fakelib.scale", "fakelib.outer", seed=seed)
    return 0


def test_a_full_disk_under_the_state_is_the_users_error_and_loses_nothing(
    traced: Path,
    temporary: Path,
    tmp_path: Path,
    mounted: Callable[[Path, str], Path],
    fill_up: Callable[[Path], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = mounted(tmp_path / "small", "size=16m")
    state = Path(shutil.copytree(traced, place / "state"))
    with open_store(state / "state.db") as store:
        session = Session(store, store.targets()[0], state, workers=2)
        keeping = Keeping(session, monkeypatch)
        counted(session, 200, "fakelib.scale")
        session.watch = Disturbed(first=lambda: fill_up(place))
        with pytest.raises(UserError, match=rf"no space left for the state file {state}[^$]*free some space"):
            endless(session)
        (place / "filler").unlink()
    assert intact(state)
    with open_store(state / "state.db") as store:
        assert keeping.numbers and keeping.numbers <= {row.id for row in store.findings(store.targets()[0].key)}


def test_a_state_file_that_may_not_grow_ends_the_command_with_one_clear_error_and_loses_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    keeping = Keeping(session, monkeypatch)
    session.watch = Disturbed(first=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, before[1])))
    try:
        assert guarded(lambda: endless(session)) == USER_ERROR
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    said = capsys.readouterr().err
    assert re.match(rf"error: (the state file|no space left for the state file) {session.state_dir}", said)
    assert len(said.splitlines()) == 2 and "->" in said
    assert keeping.numbers <= {row.id for row in session.store.findings(session.target.key)}


def test_a_library_that_fills_a_small_temporary_disk_costs_nothing_but_time(
    session: Session, temporary: Path, mounted: Callable[[Path, str], Path]
) -> None:
    mounted(temporary, "size=24m")
    timed(session, 4.0, "fakelib.hostile.fill", *PEACEFUL)
    assert found(session) == PLANTED


def test_a_temporary_disk_that_stays_full_is_the_users_error(
    session: Session, temporary: Path, mounted: Callable[[Path, str], Path]
) -> None:
    mounted(temporary, "nr_inodes=40")

    def crowd() -> None:
        with suppress(OSError):
            for number in range(100):
                (temporary / f"crowd-{number}").touch()

    session.watch = Disturbed(first=crowd)
    with pytest.raises(UserError, match=rf"no space left in the temporary directory {temporary}[^$]*TMPDIR"):
        counted(session, 400, "fakelib.row_sum")
