"""The pictures of the live screen, and the error of the times that it told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rich.terminal_theme import SVG_EXPORT_THEME

from bench.live import phase_times, picture
from fuzz_core.cli.status import StatusSnapshot


def at(elapsed: float, phase: str, spent: float, left: float | None) -> StatusSnapshot:
    return StatusSnapshot(
        title="torch==2.13.0", written=datetime(2026, 11, 26, tzinfo=UTC), elapsed=elapsed, box=60.0, phase=phase,
        spent=spent, done=spent, total=20.0, left=left, figures={"apis": "3/8"}, novelty=(), interval=1.0, workers=(),
        notes=("bug 1: torch.f: a crash",), noted=1,
    )  # fmt: skip


def test_a_told_time_is_compared_with_the_end_of_its_phase() -> None:
    early = [at(1, "tracing", 1, None), at(5, "tracing", 5, 4.0)]
    late = [at(12, "fuzzing", 2, 27.0), at(30, "fuzzing", 20, 10.0), at(40, "fuzzing", 30, 0.5)]
    tracing, fuzzing = phase_times([*early, *late])
    # Tracing ended as fuzzing began, after 10 seconds.
    assert (tracing.seconds, tracing.told, tracing.untold) == (10.0, 1, 1)
    assert tracing.errors == [pytest.approx(0.2)]
    # The last look is at the end: it says nothing of the error.
    assert (fuzzing.seconds, fuzzing.errors) == (30.0, [pytest.approx(1 / 28), pytest.approx(0.0)])


def test_a_picture_has_the_notes_above_the_screen() -> None:
    drawn = picture(at(30, "fuzzing", 20, 10.0), 80, SVG_EXPORT_THEME)
    assert 0 < drawn.index("a&#160;crash") < drawn.index("fuzzing") < drawn.index("3&#160;of&#160;8")
