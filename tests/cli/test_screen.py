"""The live screen, the status that it draws, and `nightfuzz watch`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from fuzz_core.campaign.watch import Work
from fuzz_core.cli.commands.watch import STALE_SECONDS, follow, watch
from fuzz_core.cli.output import CommandOutput
from fuzz_core.cli.screen import Screen, draw
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.status import MOST_INTERVALS, STATUS_FILE, Display, Pace, Series, Status, StatusWatch, read_status
from fuzz_core.ir.errors import UserError

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)


class ScreenClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def fuzzing(clock: ScreenClock, **figures: object) -> Status:
    """Returns the status of a fuzz after 30 of 120 seconds, 10 seconds after the command began."""
    status = Status("torch==2.13.0", 600.0, clock, lambda: NOON)
    clock.now += 10.0
    status.phase("fuzzing", 120.0)
    for second in range(31):
        clock.now = 10.0 + second
        status.advance(second, **{"tests": second * 1000, "apis": f"{second}/1543", "classes": second * 3, **figures})
    status.work([Work("torch.nn.Conv2d", clock.now - 2.0), Work("torch.addmv", clock.now - 14.0)])
    return status


def drawn(status: Status, width: int, encoding: str = "utf-8") -> list[str]:
    """Returns the lines of a screen."""
    written = BytesIO()
    file = TextIOWrapper(written, encoding, write_through=True)
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    console.print(draw(status.snapshot(), width))
    return written.getvalue().decode(encoding).split("\n")[:-1]


def test_a_screen_shows_phase_time_figures_novelty_and_workers() -> None:
    text = "\n".join(drawn(fuzzing(ScreenClock(), findings=77, bugs=12), 80))
    for part in (
        "torch==2.13.0",
        "0:40 of 10:00",
        "25%, about 1:30 left",
        "30,000",
        "30 of 1,543",
        "3 in the last 1 s",
        "bugs",
    ):
        assert part in text
    # The worker that is longest at its work stands first.
    assert text.index("torch.addmv") < text.index("torch.nn.Conv2d")


@given(width=st.integers(20, 200), value=st.text(max_size=60), what=st.text(max_size=80))
def test_no_line_is_wider_than_the_terminal(width: int, value: str, what: str) -> None:
    status = fuzzing(ScreenClock(), odd=value)
    status.work([Work(what, 0.0)])
    assert all(cell_len(line) <= width for line in drawn(status, width))


def test_a_narrow_terminal_has_plain_lines() -> None:
    lines = drawn(fuzzing(ScreenClock(), bugs=12), 40)
    assert lines == ["fuzzing", "25%, about 1:30 left", "tests 30,000  bugs 12"]


def test_a_terminal_without_unicode_gets_ascii_bars() -> None:
    assert all(line.isascii() for line in drawn(fuzzing(ScreenClock()), 80, "ascii"))


@pytest.mark.parametrize("hostile", ["[/]", "[/red]", "[link=x]", "\x1b[2J"])
def test_hostile_text_breaks_no_screen(hostile: str) -> None:
    clock, file = ScreenClock(), StringIO()
    status = fuzzing(clock, seed=hostile)
    status.work([Work(hostile, 0.0)])
    with Screen(Console(file=file, force_terminal=True, width=100), status.snapshot) as screen:
        screen.note(hostile)
    assert "fuzzing" in file.getvalue() and "\x1b[2J" not in file.getvalue()


def test_a_note_stays_above_the_screen() -> None:
    file = StringIO()
    status = fuzzing(ScreenClock())
    with Screen(Console(file=file, force_terminal=True, width=100), status.snapshot) as screen:
        screen.note("bug 1: [not markup]")
    assert "bug 1: [not markup]" in file.getvalue()


def test_the_time_left_follows_the_recent_pace() -> None:
    pace = Pace(140)
    assert pace.left(0.0) is None
    for second in range(41):
        # One in a second at first, then four.
        pace.add(second, second if second <= 20 else 20 + 4 * (second - 20))
    assert pace.left(40.0) == pytest.approx(10.0)
    # Time goes on while nothing is done.
    assert pace.left(40.2) == pytest.approx(9.8)


def test_a_piece_that_takes_long_lengthens_the_time_left() -> None:
    pace = Pace(22)
    for second in range(9):
        pace.add(second, second)
    assert pace.left(9.0) == pytest.approx(13.0)
    assert pace.left(60.0) > pace.left(20.0) > 13.0


def test_the_start_of_a_process_before_the_first_item_is_no_pace() -> None:
    pace = Pace(2000)
    pace.add(10.0, 100)
    assert pace.left(10.0) is None
    pace.add(10.5, 150)
    assert pace.left(10.5) == pytest.approx(18.5)


def test_a_phase_ends_at_its_deadline_however_much_is_left() -> None:
    pace = Pace(1000, within=60.0)
    assert pace.left(0.0) is None
    for second in range(31):
        pace.add(second, second)
    assert pace.left(30.0) == pytest.approx(30.0)
    assert Pace(0, within=60.0).left(60.0) == 0.0


def test_a_phase_that_outlasts_its_deadline_tells_no_time() -> None:
    pace = Pace(1000, within=60.0)
    for second in range(61):
        pace.add(second, second)
    assert pace.left(60.0) == 0.0
    assert pace.left(61.0) is None


@given(st.lists(st.tuples(st.floats(0, 500), st.integers(0, 50)), min_size=1, max_size=80))
def test_a_series_keeps_all_growth_in_few_intervals(steps: list[tuple[float, int]]) -> None:
    series, at, count = Series(), 0.0, 0
    series.add(0.0, 0)
    for wait, grown in steps:
        at, count = at + wait, count + grown
        series.add(at, count)
    assert sum(series.grown) == count
    assert len(series.grown) <= MOST_INTERVALS


def test_a_watch_keeps_its_status_in_a_file(tmp_path: Path) -> None:
    clock, path = ScreenClock(), tmp_path / STATUS_FILE
    with StatusWatch(Status("t", None, clock, lambda: NOON), Display(), path) as kept:
        kept.phase("tracing", 4)
        kept.advance(1, seed="a")
        assert read_status(path).figures == {}
        clock.now += 1.0
        kept.advance(2, seed="b")
        kept.note("by the way")
        now = read_status(path)
    assert (now.phase, now.done, now.total, now.notes, now.ended) == ("tracing", 2, 4, ("by the way",), False)
    assert read_status(path).ended


def test_a_directory_that_cannot_be_written_to_fails_no_command(tmp_path: Path) -> None:
    with StatusWatch(Status(), Display(), tmp_path / "none" / STATUS_FILE) as kept:
        kept.phase("tracing")
    assert not (tmp_path / "none").exists()


def test_a_run_is_followed_until_it_ends(tmp_path: Path) -> None:
    clock = ScreenClock()
    kept = StatusWatch(Status("t", None, clock, lambda: NOON), Display(), tmp_path / STATUS_FILE)
    turns = iter(["one", "two"])

    def sleep(seconds: float) -> None:
        turn = next(turns, None)
        if turn is None:
            kept.__exit__()
        else:
            kept.note(turn)

    kept.note("before")
    seen = [status.notes[-1] for status in follow(tmp_path, sleep, lambda: NOON)]
    assert seen == ["before", "one", "two", "two"]


def test_a_killed_run_is_not_followed_for_ever(tmp_path: Path) -> None:
    kept = StatusWatch(Status("t", None, ScreenClock(), lambda: NOON), Display(), tmp_path / STATUS_FILE)
    kept.note("the last")
    later = NOON + timedelta(seconds=STALE_SECONDS + 1)
    with FileLock(tmp_path / "state.db.lock") as lock:
        found = follow(tmp_path, lambda seconds: lock.release(), lambda: later)
        assert len(list(found)) == 2


def test_watch_without_a_terminal_gives_the_status_of_this_moment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = fuzzing(ScreenClock(), bugs=12)
    StatusWatch(status, Display(), tmp_path / STATUS_FILE).note("bug 12: a crash")
    settings = Settings(state=tmp_path)
    CommandOutput().print(watch(settings, CommandOutput()))
    assert capsys.readouterr().out.splitlines() == [
        "torch==2.13.0: fuzzing: 25%, about 1:30 left; 0:40 of 10:00",
        "tests 30,000, apis 30/1543, classes 90, bugs 12",
        "bug 12: a crash",
    ]
    CommandOutput(as_json=True).print(watch(settings, CommandOutput(as_json=True)))
    assert json.loads(capsys.readouterr().out)["figures"]["bugs"] == "12"


@pytest.mark.parametrize("text", [None, "{}", "\x00"])
def test_watch_says_what_to_do_without_a_status(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / STATUS_FILE).write_text(text)
    with pytest.raises(UserError, match="status"):
        watch(Settings(state=tmp_path), CommandOutput())
