"""The figures of a run: the sums over single apis and over model programs."""

from __future__ import annotations

from typing import Any

import pytest

from nightfuzz.bot.jobs.export import _figures, _untraced

FUZZ = {"tests": 100, "kept": 3, "apis": 7}


@pytest.mark.parametrize(
    ("models", "tests", "findings"),
    [({"tests": 20, "kept": 2}, 120, 5), ({"left_out": "there is none for fakelib"}, 100, 3), (None, 100, 3)],
)
def test_programs_count_where_they_were_grown(models: dict[str, Any] | None, tests: int, findings: int) -> None:
    ran = {"fuzz": FUZZ, "triage": {"left": 1}, **({} if models is None else {"models": models})}
    figures = _figures(ran, {}, 60.0)
    assert (figures.tests, figures.findings, figures.apis, figures.pending) == (tests, findings, 7, 1)


@pytest.mark.parametrize(
    ("ran", "bump", "tests", "apis"),
    [
        ({}, {"tests": 26_581, "apis": 214}, 26_581, 214),
        ({"fuzz": {"tests": 0, "apis": 0}, "models": {"tests": 40, "apis": ["f", "g"]}}, {}, 40, 2),
        ({"fuzz": {"tests": 9, "apis": 2, "costs": {"f": 1.0}}, "models": {"tests": 1, "apis": ["f", "g"]}}, {}, 10, 2),
        ({"fuzz": {"tests": 0, "apis": 0}, "baseline": {"tests": 30, "apis": 5}}, {}, 30, 5),
    ],
)
def test_every_test_is_of_an_api(ran: dict[str, Any], bump: dict[str, Any], tests: int, apis: int) -> None:
    figures = _figures(ran, bump, 60.0)
    assert (figures.tests, figures.apis) == (tests, apis)


def test_a_changed_file_that_was_not_traced_is_a_problem_of_the_run() -> None:
    told = [{"file": f"tests/test_{number}.py", "reason": "ModuleNotFoundError: x"} for number in range(22)]
    lines = list(_untraced({"untraced": told}))
    assert lines[0] == "tests/test_0.py: not traced: ModuleNotFoundError: x"
    assert len(lines) == 21 and lines[-1].startswith("2 more")
