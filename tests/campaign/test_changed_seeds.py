"""Tracing for a pull request: the user's changed seeds first, then library seeds that name what these call."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz_core.campaign.changed_seeds import ChangedSeeds, trace_changed
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.collect.sources import Request, collect
from fuzz_core.ir.errors import UserError

SCALED = """
    import fakelib
    import numpy as np

    def test_scale():
        assert fakelib.scale(np.full((2, 5), 3.0), 7).sum() == 210.0
"""
BOX = 60.0
Traced = Callable[..., ChangedSeeds]


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    return tmp_path / "tests"


@pytest.fixture
def traced(fakelib_session: Session, tests: Path) -> Traced:
    """Returns a function that writes test files and traces the changed ones; by default, library seeds get no time."""

    def write_and_trace(patterns: Sequence[str] = (), seconds: float = 0.0, **files: str) -> ChangedSeeds:
        for name, code in files.items():
            (tests / f"{name}.py").write_text(textwrap.dedent(code))
        now = fakelib_session.clock()
        options = TraceOptions(tests_dirs=[tests], deadline=now + seconds, patterns=patterns)
        return trace_changed(fakelib_session, options, now + BOX)

    return write_and_trace


def names_on_record(session: Session) -> set[str]:
    return {seed.name for seed in session.store.seeds(session.target.key)}


def test_a_changed_test_is_traced_in_a_fresh_state_whatever_share_of_time_is_over(
    fakelib_session: Session, traced: Traced
) -> None:
    found = traced(test_scaled=SCALED)
    assert (found.seeds, found.apis, found.untraced, found.unfuzzed) == (1, ["fakelib.scale"], [], "")
    assert names_on_record(fakelib_session) == {"tests/test_scaled.py"}


def test_library_seeds_are_value_spaces_for_what_the_changed_seeds_call(
    fakelib_session: Session, traced: Traced
) -> None:
    found = traced(seconds=BOX, test_scaled=SCALED)
    on_record = names_on_record(fakelib_session)
    assert "fakelib.scale docstring" in on_record
    assert "fakelib.concat docstring" not in on_record
    assert found.report.aside and found.apis == ["fakelib.scale"]


def test_what_an_earlier_build_has_on_record_is_unchanged(fakelib_session: Session, traced: Traced) -> None:
    traced(test_scaled=SCALED)
    again = traced(test_scaled=SCALED)
    assert (again.seeds, again.apis) == (0, ())
    assert "no seed of yours is new or changed" in again.unfuzzed
    more = traced(test_added=SCALED.replace("scale(np.full((2, 5), 3.0), 7).sum() == 210.0", "add(1, 2) == 3"))
    assert (more.seeds, more.apis) == (1, ["fakelib.add"])


def test_what_the_base_has_is_unchanged_without_a_night(
    fakelib_session: Session, tests: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = tmp_path / "base"
    (base / "tests").mkdir(parents=True)
    for folder in (tests, base / "tests"):
        (folder / "helper.py").write_text("NUMBER = 7\n")
        (folder / "test_scaled.py").write_text(textwrap.dedent(SCALED))
        (folder / "test_helped.py").write_text("import fakelib, helper\n\ndef test_add():\n    fakelib.add(1, 2)\n")
    options = TraceOptions(tests_dirs=[Path("tests")], deadline=fakelib_session.clock())
    end = fakelib_session.clock() + BOX
    assert "no seed of yours" in trace_changed(fakelib_session, options, end, base).unfuzzed
    (tests / "helper.py").write_text("NUMBER = 8\n")
    found = trace_changed(fakelib_session, options, end, base)
    assert (found.seeds, found.apis) == (1, ["fakelib.add"])
    again = trace_changed(fakelib_session, options, end, base)
    assert again.apis == ["fakelib.add"], "a check that is run again looks at the same seeds"
    (tests / "more").mkdir()
    new = replace(options, tests_dirs=[Path("tests/more"), Path("tests")])
    assert trace_changed(fakelib_session, new, end, base).apis == ["fakelib.add"]


def test_changed_seeds_without_a_call_are_an_error_with_the_reason_of_each(traced: Traced) -> None:
    with pytest.raises(UserError, match=r"test_broken.py: .*no_such_package") as told:
        traced(test_broken="import no_such_package\n")
    assert "--target python:PATH" in told.value.remedy
    with pytest.raises(UserError, match="the changed seeds call no api"):
        traced(test_idle="def test_idle():\n    assert True\n")


def test_a_changed_seed_that_fails_is_named_beside_one_that_runs(traced: Traced) -> None:
    found = traced(test_scaled=SCALED, test_broken="import no_such_package\n")
    assert found.apis == ["fakelib.scale"]
    (broken,) = found.untraced
    assert broken.file == "tests/test_broken.py" and "no_such_package" in broken.reason


def test_a_pattern_that_no_api_matches_is_an_error_before_anything_is_traced(
    fakelib_session: Session, traced: Traced
) -> None:
    with pytest.raises(UserError, match=r"fakelib.scal'") as told:
        traced(["fakelib.scal"], test_scaled=SCALED)
    assert "fakelib.scale" in told.value.remedy
    assert not names_on_record(fakelib_session)


def test_apis_that_are_not_asked_for_are_left_out(traced: Traced) -> None:
    assert "none of the apis that are asked for" in traced(["fakelib.add"], test_scaled=SCALED).unfuzzed


def test_a_night_traces_the_users_seeds_before_those_of_the_library(fakelib_session: Session, tests: Path) -> None:
    (tests / "test_scaled.py").write_text(textwrap.dedent(SCALED))
    (tests / "page.md").write_text("```python\nimport torch\ntorch.ones(2)\n```\n")
    request = Request("torch", tests_dirs=[tests], docs_dirs=[tests])
    sources = [seed.name for seed in collect(request)]
    assert sources[:2] == ["tests/page.md", "tests/test_scaled.py"] and "model" in sources[2]

    class Order:
        def __init__(self) -> None:
            self.seeds: list[object] = []

        def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None: ...

        def note(self, text: str) -> None: ...

        def advance(self, done: float, **figures: object) -> None:
            if "seed" in figures:
                self.seeds.append(figures["seed"])

    fakelib_session.watch = order = Order()
    trace(fakelib_session, TraceOptions(sources=["docs", "tests"], tests_dirs=[tests]))
    assert order.seeds[0] == "tests/test_scaled.py" and len(order.seeds) > 1
