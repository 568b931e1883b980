"""Tests of a worker's reports, the entries of an inventory and the calls of a seed: each has one form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import encode, encode_test
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.ir.wire import (
    FindingReport,
    InventoryEntry,
    LeaseDone,
    ListedApi,
    ListedConstraint,
    ListedPackage,
    ListedProgram,
    NoveltyReport,
    OutcomeReport,
    Report,
    TracedCall,
    calls_in,
    entry_in,
    report_in,
)

CASE = TestCase(Invocation("lib.f", (prim(1),)), 7, 3, ("Boundary Integer",))
OUTCOME = Outcome("exception", "ValueError", "no", ("f (a.py:1)",), 0.5)
REPORTS = (
    OutcomeReport(4, OUTCOME),
    NoveltyReport("ok f32", "ok", CASE, ("add f32", "mul f32")),
    NoveltyReport("", "signal", None, ()),
    FindingReport(CASE, Verdict("crash", "crash", "cpu: died"), OUTCOME),
    LeaseDone(1, 9, {"ok": 8}, 2, 1.5, 0.5, 0.25, 0.0, False),
)
NEWS = {"shown": "ok", "kind": "ok", "test": encode_test(CASE), "operators": []}


def sent(report: Report) -> dict[str, Any]:
    """Return a report as it comes over the pipe."""
    data = report._asdict()
    if data.get("test") is not None:
        data["test"] = encode_test(data["test"])
    found: dict[str, Any] = json.loads(json.dumps(data))
    return found


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_is_read_as_it_was_sent(report: Report) -> None:
    assert report_in(sent(report), 1, 9) == report


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"ran": -1, "outcome": OUTCOME},
        {"ran": 1, "outcome": ["fine"]},
        {**NEWS, "shown": 3},
        {**NEWS, "kind": "fine"},
        {**NEWS, "operators": "add"},
        {**NEWS, "operators": [1]},
        {**NEWS, "test": ["x"]},
        {"test": ["x"], "verdict": ["crash", "crash", ""], "outcome": ["signal"]},
        {"done": 2, "next": 3},
        sent(LeaseDone(2, 3)),
    ],
)
def test_any_other_message_is_none(message: dict[str, Any]) -> None:
    assert report_in(message, 1, 9) is None


@pytest.mark.parametrize("more", [{}, {"next": -5}, {"next": 3, "counts": [], "retire": False}])
def test_an_end_that_cannot_be_read_is_the_end_of_all_tests_and_of_the_process(more: dict[str, Any]) -> None:
    assert report_in({"done": 1, **more}, 1, 9) == LeaseDone(1, 9, retire=True)


@pytest.mark.parametrize(
    "entry",
    [
        ListedApi(Api("lib.f", "function", ("x",), "f(x)", "Adds.", ("lib.g",), ())),
        ListedConstraint(Constraint("lib.f", "x", "rank", (2,), "x: 2-D", "schema")),
        ListedPackage(("lib", "/site-packages/lib")),
        ListedProgram(("OpInfo add", "lib.f(1)")),
    ],
)
def test_an_entry_of_an_inventory_is_read_as_it_was_sent(entry: InventoryEntry) -> None:
    assert entry_in(json.loads(json.dumps(entry._asdict()))) == entry


@pytest.mark.parametrize(
    "message",
    [{}, {"api": ["lib.f"]}, {"constraint": "garbage"}, {"package": ["lib", 3]}, {"program": ["only a name"]}],
)
def test_any_other_entry_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(CodecError):
        entry_in(message)


def test_the_calls_of_a_seed_are_read_and_those_without_their_form_counted() -> None:
    call = encode(CASE.invocation)
    good = [{"call": call, "ok": True, "part": ""}, {"call": call, "ok": False, "part": "T" * 300}]
    broken: list[dict[str, Any]] = [
        {"call": call, "ok": True},
        {"call": call, "ok": True, "part": 3},
        {"call": "lib.f", "ok": True, "part": ""},
        {"call": None, "ok": True, "part": ""},
    ]
    messages = json.loads(json.dumps([*broken, *good, {"end": True, "calls": 2}, {"test": call}]))
    assert calls_in(messages) == (
        [TracedCall(CASE.invocation, True, ""), TracedCall(CASE.invocation, False, "T" * 200)],
        len(broken),
    )
