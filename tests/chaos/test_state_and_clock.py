"""A lost state directory and a clock that is set back: findings are kept, and the run ends in time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.session import Session, steady_clock
from fuzz_core.campaign.watch import Watch
from fuzz_core.cli.errors import USER_ERROR, guarded
from fuzz_core.store.statefile import open_store

OPTIONS = FuzzOptions(seconds=None, tests=400, patterns=("fakelib.scale", "fakelib.outer"), seed=1, timeout=30.0)


class When(Watch):
    """A watch that calls a function at the first finding."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    def advance(self, done: float, **figures: object) -> None:
        """Calls the function once the figures count a finding."""
        if figures.get("findings"):
            self.act()
            self.act = lambda: None


def move_away(state: Path) -> None:
    state.rename(state.with_name("elsewhere"))


def replace(state: Path) -> None:
    """Replaces the state file by a copy, as a program that synchronizes folders does."""
    copy = state / "copy"
    shutil.copy(state / "state.db", copy)
    copy.rename(state / "state.db")


@pytest.mark.parametrize("way", [shutil.rmtree, move_away, replace], ids=["removed", "moved", "replaced"])
def test_a_state_directory_that_goes_is_one_clear_error_and_its_findings_are_saved(
    way: Callable[[Path], object], session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.watch = When(lambda: way(session.state_dir))
    assert guarded(lambda: fuzz(session, OPTIONS).kept) == USER_ERROR
    said = capsys.readouterr().err
    assert said.startswith(f"error: the state file {session.state_dir / 'state.db'} is gone")
    assert len(said.splitlines()) == 2 and f"move that file to {session.state_dir / 'state.db'}" in said
    (saved,) = [*session.state_dir.parent.glob("state-rescued-*.db"), *session.state_dir.glob("state-rescued-*.db")]
    expected = {row.id for row in session.store.findings(session.target.key)}
    session.store.close()
    with open_store(saved) as store:
        assert expected
        assert {row.id for row in store.findings(session.target.key)} == expected
    assert str(saved) in said


def test_a_clock_that_is_set_back_does_not_prolong_the_run(session: Session) -> None:
    began = time.monotonic()

    def clock() -> float:
        now = time.monotonic()
        return now - 3600 if now > began + 2.0 else now

    session.clock = steady_clock(clock)
    report = fuzz(session, FuzzOptions(seconds=4.0, patterns=("fakelib.add", "fakelib.scale"), seed=1, timeout=30.0))
    assert time.monotonic() - began < 14.0
    assert {row.api for row in session.store.findings(session.target.key)} == {"fakelib.scale"}
    assert report.seconds >= 0


def test_a_session_never_sees_its_clock_go_backwards(session: Session) -> None:
    readings = iter([10.0, 11.0, 5.0, 6.5, 2.0])
    made = Session(session.store, session.target, session.state_dir, clock=lambda: next(readings))
    assert [made.clock() for _ in range(4)] == [11.0, 11.0, 12.5, 12.5]
