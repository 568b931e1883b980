"""The order of seeds where the time may end before all have run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign import trace as module
from fuzz_core.campaign.seed_order import by_promise
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.campaign.watch import Watch
from fuzz_core.collect.sources import Seed
from fuzz_core.ir.catalogue import Api

APIS = [Api("lib.fold", "function"), Api("lib.nn.AlphaDropout", "class"), Api("lib.sum", "function")]


def seed(code: str) -> Seed:
    return Seed("tests", code, code, "snippet")


def ordered(*codes: str, called: tuple[str, ...] = (), own: tuple[str, ...] = ()) -> list[str]:
    digests = {seed(code).digest for code in own}
    return [each.code for each in by_promise([seed(code) for code in codes], APIS, called, digests)]


def test_a_seed_that_names_apis_without_a_call_comes_before_one_that_names_none() -> None:
    assert ordered("sum(1)", "fold(1)", called=("lib.sum",)) == ["fold(1)", "sum(1)"]
    assert ordered("sum(1)", "alpha_dropout(1)", called=("lib.sum",))[0] == "alpha_dropout(1)", "in any spelling"


def test_a_name_that_many_seeds_have_promises_less() -> None:
    assert ordered("sum(1)", "sum(2)", "sum(3)", "fold(1)")[0] == "fold(1)"


def test_of_two_seeds_with_the_same_names_the_shorter_one_comes_first() -> None:
    long = "fold(1)\n" * 9
    assert ordered(long, "fold(1)") == ["fold(1)", long]


def test_the_users_own_seeds_come_before_all_others() -> None:
    assert ordered("fold(1)", "nothing()", "sum(1)", own=("nothing()",))[0] == "nothing()"


@given(st.lists(st.text("fold sum(1)_\n"), unique=True), st.sets(st.sampled_from([api.name for api in APIS])))
def test_no_seed_is_lost(codes: list[str], called: set[str]) -> None:
    assert sorted(ordered(*codes, called=tuple(called))) == sorted(codes)


@given(st.lists(st.text("fold sum(1)_\n"), unique=True))
def test_seeds_that_promise_nothing_keep_their_order(codes: list[str]) -> None:
    assert ordered(*codes, called=tuple(api.name for api in APIS)) == codes


class SeedNames(Watch):
    """A watch that keeps the names of the seeds; its clock has one second for each."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def advance(self, done: float, **figures: object) -> None:
        if "seed" in figures:
            self.names.append(str(figures["seed"]))


@pytest.mark.parametrize("deadline", [None, 1000.0])
def test_in_a_time_box_a_seed_of_apis_that_have_a_call_by_now_runs_last(
    fakelib_session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deadline: float | None
) -> None:
    """A trace without a time limit runs all seeds, source by source."""
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.5)
    code = "import fakelib\nimport numpy as np\nfakelib.outer(np.ones((2, 3)), np.zeros((2, 3)))"
    (tmp_path / "guide.md").write_text(f"# Guide\n\n```python\n{code}\n```\n")
    watch = SeedNames()
    session = replace(fakelib_session, watch=watch, clock=lambda: float(len(watch.names)), workers=1)
    (tmp_path / "broken.md").write_bytes(b"\xff\xfe\xff")
    report = trace(session, TraceOptions(sources=["docs"], docs_dirs=[tmp_path], deadline=deadline))
    assert [Path(name).name for name, _ in report.problems] == ["broken.md"], "each file is read once"
    guide, *shipped = watch.names
    assert "guide" in guide and len(shipped) > 10
    assert (shipped == sorted(shipped)) is (deadline is None)
    assert (shipped[-1] == "fakelib.outer docstring") is (deadline is not None)
