"""Tests of the script of a slow call: the modes it can time, and its failure if one mode costs many times another."""

from __future__ import annotations

from typing import Any

import pytest
import qualitylib

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.reproduce import Attempt, is_replayed
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, Tensor, TestCase
from fuzz_core.store.records import FindingRow
from fuzz_core.triage.script import render_comparison
from fuzz_core.triage.slow_calls import CostPair, cost_pair, timing_check
from nightfuzz.reports.contradiction import outcome_sentence


def detail(slow: str, fast: str) -> str:
    return f"{slow}@: {slow}@ takes 9.00e-01 s, {fast}@ takes 1.00e-03 s"


@pytest.mark.parametrize(
    ("said", "pair"),
    [
        (detail("strided", "cpu"), CostPair("strided", "cpu", "strided")),
        (detail("cpu", "onednn-off"), CostPair("cpu", "onednn-off", "onednn-off")),
        # The argument that the call writes to would have to be made anew for each run.
        (detail("out", "cpu"), None),
        (detail("inplace", "cpu"), None),
        ("cuda@float16: cuda@float16 takes 9.00e-01 s, cuda@float32 takes 1.00e-03 s", None),
        ("strided@: slower than plain", None),
    ],
)
def test_the_modes_that_a_script_can_time(said: str, pair: CostPair | None) -> None:
    assert cost_pair(said, dialect_of("torch")) == pair


def test_a_script_shows_what_it_can_time_and_a_worker_the_rest() -> None:
    dialect = dialect_of("torch")
    timed = Verdict("performance", "slow", detail("strided", "cpu"))
    assert not is_replayed(timed, dialect)
    assert is_replayed(timed._replace(detail=detail("out", "cpu")), dialect)
    test = TestCase(Invocation("torch.relu", (Tensor("float32", (2, 3)),)), 1)
    row = (1, "torch-1", 1, "torch.relu", test, timed, Outcome("ok", text="9.0e-01"), "pending", "", 0, 0, None, "now")
    text = Attempt(FindingRow(*row), test).script(dialect)
    assert "turns = [" in text and "\nassert slow <= 5 * fast, told\n" in text


def script(slow: str, fast: str, library: str = "qualitylib", api: str = "qualitylib.squares") -> str:
    dialect = dialect_of(library)
    pair = cost_pair(detail(slow, fast), dialect)
    assert pair is not None
    test = TestCase(Invocation(api, (Tensor("float32", (8, 4)),)), 1)
    return render_comparison(test, pair.changed, dialect, check=timing_check(pair, dialect))


def ran(text: str) -> str:
    try:
        exec(compile(text, "script", "exec"), {})
    except AssertionError as error:
        return str(error)
    return ""


def test_a_script_fails_where_the_changed_call_is_slow_and_only_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def costly(x: Any) -> Any:
        return sum(range(2_000 if x.data.flags.c_contiguous else 400_000))

    assert ran(script("strided", "cpu")) == ""
    monkeypatch.setattr(qualitylib, "squares", costly)
    said = ran(script("strided", "cpu"))
    assert said.startswith("expected at most 5 times the ")
    assert ran(script("cpu", "strided")) == "", "the other way round it is the fast call that is said to be slow"


def test_a_script_times_one_thread_and_names_both_calls() -> None:
    text = script("onednn-off", "cpu", "torch", "torch.relu")
    compile(text, "script", "exec")
    assert "\ntorch.set_num_threads(1)\n" in text and "s with oneDNN, got {slow:.1e} s without oneDNN" in text
    assert text.isascii() and text.startswith("import torch\nimport time\n")


def test_a_slow_call_says_the_same_after_each_run() -> None:
    told = "expected at most 5 times the 7.9e-03 s with oneDNN, got 6.2e-02 s without oneDNN"
    outcome = Outcome("ok", text=f"9.0e-01 9.1e-01\n{told}")
    assert outcome_sentence("slow", outcome) == "takes more than 5 times as long without oneDNN as with oneDNN"
    assert outcome_sentence("slow", Outcome("ok", text="9.0e-01")) == "much slower than an equivalent call"
