"""The whole engine on a library whose bugs are known: it finds all of them and reports no others."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakelib_plans import call

from fuzz_core.campaign import fuzz as module
from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import Examiner, TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.listener import FuzzReport
from fuzz_core.campaign.scheduler import COUNTED_TESTS
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.mutation.contract import KINDS
from fuzz_core.mutation.registry import CALL_MUTATORS, MUTATORS, load_mutators
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.triage.cost import cost
from fuzz_core.worker.plan import Plan

EXPECTED = Path(__file__).parent / "planted_bugs.txt"
QUICK = TriageOptions(bug_seconds=600.0, runs=2, timeout=1.0)
# Apis whose calls do not die: a death costs a process.
GENTLE = ("fakelib.add", "fakelib.concat", "fakelib.outer", "fakelib.scale", "fakelib.row_sum", "fakelib.nn.Window")

DIES = call("row_sum", np.ones((2, 0), np.float32))
HANGS = call("pool", np.ones(6, np.float32), 6, True)


def counted(tests: int, seed: int = 1, **options: object) -> FuzzOptions:
    return FuzzOptions(seconds=None, tests=tests, seed=seed, timeout=1.0, **options)  # type: ignore[arg-type]


def shown(session: Session) -> str:
    bugs = sorted(session.store.bugs(), key=lambda bug: bug.signature_text)
    return "\n".join(f"== {bug.signature_text}\n{bug.script}" for bug in bugs)


def test_every_planted_bug_is_found_confirmed_and_minimised_and_nothing_else(traced_session: Session) -> None:
    report = fuzz(traced_session, counted(3400, sweep=True))
    assert report.apis == 17
    examined = examine(traced_session, QUICK)
    assert examined.left == 0
    assert set(examined.settled) == {"confirmed", "duplicate"}
    assert shown(traced_session) == EXPECTED.read_text()
    assert traced_session.store.runs()[0].status == "done"


def test_the_same_seed_gives_the_same_tests_and_the_same_bugs(
    traced_session: Session, tmp_path: Path, fakelib_python: str
) -> None:
    target = TargetRecord("fakelib-1", "again", "fakelib", "1", fakelib_python)
    with open_store(tmp_path / "other" / "state.db") as store:
        store.save_target(target)
        other = Session(store, target, tmp_path / "other", workers=1)
        trace(other, TraceOptions(sources=["docs"]))
        reports: list[FuzzReport] = []
        for session in (traced_session, other):
            reports.append(fuzz(session, counted(1200, patterns=GENTLE)))
            examine(session, QUICK)
        kept = [
            [(f.test, f.verdict, f.outcome._replace(seconds=0), f.status) for f in session.store.findings(target.key)]
            for session in (traced_session, other)
        ]
        # As text, since NaN differs from NaN.
        assert repr(kept[0]) == repr(kept[1]) and len(kept[0]) > 4
        assert shown(traced_session) == shown(other)
    assert reports[0].outcomes == reports[1].outcomes


def test_without_a_time_box_a_lease_is_the_same_whatever_its_worker_did_before(
    traced_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[Plan] = []
    run = module._run

    def noted(session: Session, options: FuzzOptions, plan: Plan, *others: Any) -> None:
        plans.append(plan)
        run(session, options, plan, *others)

    monkeypatch.setattr(module, "_run", noted)
    report = fuzz(traced_session, counted(600, patterns=["fakelib.scale"], grow=False, schedule="uniform"))
    (plan,) = plans
    ((api, traced),) = plan.places.items()
    leases = [range(first, first + COUNTED_TESTS) for first in range(len(traced), len(traced) + 600, COUNTED_TESTS)]
    alone = [len({plan.test(api, index).invocation for index in lease}) for lease in leases]
    together = len({plan.test(api, index).invocation for lease in leases for index in lease})
    assert report.tests == sum(alone) > together


def test_another_seed_gives_other_tests(traced_session: Session) -> None:
    for seed in (1, 2):
        fuzz(traced_session, counted(100, seed, patterns=["fakelib.scale"]))
    first, second = (
        {f.test for f in traced_session.store.findings("fakelib-1") if f.run == run.id}
        for run in traced_session.store.runs()
    )
    assert first and second and not first & second


def test_findings_are_settled_once_and_only_new_ones_are_examined_again(traced_session: Session) -> None:
    fuzz(traced_session, counted(100, patterns=["fakelib.scale"]))
    first = examine(traced_session, QUICK)
    assert len(first.bugs) == 1
    assert examine(traced_session, QUICK).settled == {}
    fuzz(traced_session, counted(100, seed=2, patterns=["fakelib.scale"]))
    again = examine(traced_session, QUICK)
    assert again.bugs == [] and set(again.settled) == {"duplicate"}


def test_one_run_is_enough_where_one_is_asked_for(traced_session: Session) -> None:
    fuzz(traced_session, counted(100, patterns=["fakelib.scale"]))
    assert len(examine(traced_session, TriageOptions(runs=1)).bugs) == 1


def test_what_was_not_minimised_to_its_end_is_minimised_further_the_next_time(traced_session: Session) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    large = TestCase(call("row_sum", np.ones((7, 5, 0), np.float32)), 0)
    store.add_finding("fakelib-1", run, large, Verdict("crash", "crash", "cpu: SIGSEGV"), Outcome("signal", "SIGSEGV"))
    examine(traced_session, TriageOptions(bug_seconds=0.0, runs=1))
    [first] = store.bugs()
    assert (first.minimised, first.test) == (False, large)
    assert examine(traced_session, QUICK).bugs == []
    [better] = store.bugs()
    assert better.minimised and better.signature == first.signature
    assert cost(better.test) < cost(large)


def test_what_does_not_reproduce_is_rejected(traced_session: Session) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    invented = (Verdict("crash", "crash", "cpu: SIGSEGV"), Outcome("signal", "SIGSEGV"))
    store.add_finding("fakelib-1", run, TestCase(call("fail", 1), 0), *invented)
    assert examine(traced_session, QUICK).settled == {"rejected": 1}
    assert store.bugs() == []


def test_a_finding_becomes_the_bug_that_its_script_shows(traced_session: Session) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    seen_otherwise = (Verdict("crash", "internal-error", "cpu: SystemError"), Outcome("exception", "SystemError", "x"))
    store.add_finding("fakelib-1", run, TestCase(DIES, 0), *seen_otherwise)
    assert examine(traced_session, QUICK).settled == {"confirmed": 1}
    assert [bug.kind for bug in store.bugs()] == ["crash"]


def test_a_time_out_whose_script_dies_is_that_death(traced_session: Session) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    slow = (Verdict("crash", "hang", "cpu: 1 s"), Outcome("timeout", "1 s"))
    store.add_finding("fakelib-1", run, TestCase(DIES, 0), *slow)
    assert examine(traced_session, QUICK).settled == {"confirmed": 1}
    assert [bug.kind for bug in store.bugs()] == ["crash"]


@pytest.mark.parametrize(("how", "status"), [(-3, "confirmed"), (3, "rejected")])
def test_a_leak_is_confirmed_by_a_script_that_watches_its_memory(
    how: int, status: str, traced_session: Session
) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    leak = (
        Verdict("leak", "leak", "cpu*: every call leaves 65536 bytes"),
        Outcome("ok", text="every call leaves 65536"),
    )
    store.add_finding("fakelib-1", run, TestCase(call("hoard", how), 0), *leak)
    assert examine(traced_session, QUICK).settled == {status: 1}
    for bug in store.bugs():
        assert (bug.signature_text, bug.kind) == ("fakelib.hoard: leak", "leak")
        assert "    fakelib.hoard(-1)\n" in bug.script


@pytest.mark.parametrize(("wraps", "status"), [(False, "rejected"), (True, "confirmed")])
def test_who_asks_for_billions_of_steps_has_found_no_hang(wraps: bool, status: str, traced_session: Session) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    hang = (Verdict("crash", "hang", "cpu: timeout"), Outcome("timeout", "1 s"))
    store.add_finding("fakelib-1", run, TestCase(call("repeat", 2**40, wraps), 0), *hang)
    assert examine(traced_session, TriageOptions(bug_seconds=1.0, runs=2, timeout=0.5)).settled == {status: 1}


@pytest.mark.parametrize(("size", "status"), [(12 << 30, "rejected"), (1 << 62, "confirmed")])
def test_who_dies_of_a_limit_of_ours_is_no_bug(size: int, status: str, traced_session: Session) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    death = (Verdict("crash", "crash", "cpu: SIGSEGV"), Outcome("signal", "SIGSEGV"))
    store.add_finding("fakelib-1", run, TestCase(call("claim", size), 0), *death)
    assert examine(traced_session, QUICK).settled == {status: 1}


def test_what_is_under_way_when_the_time_box_is_over_waits_for_the_next_run(traced_session: Session) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    invented = (Verdict("crash", "crash", "cpu: SIGSEGV"), Outcome("signal", "SIGSEGV"))
    store.add_finding("fakelib-1", run, TestCase(HANGS, 0), *invented)
    traced_session.clock = lambda: time.monotonic() * 20
    examined = examine(traced_session, TriageOptions(deadline=traced_session.clock() + 40.0, timeout=600.0))
    assert (examined.left, examined.settled) == (1, {})
    assert [finding.status for finding in store.findings("fakelib-1")] == ["pending"]


def test_a_known_hang_is_made_smaller_where_there_is_room_for_it_and_not_asked_anew(
    traced_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = traced_session.store
    run = store.start_run("fakelib-1", 0, {})
    hang = (Verdict("crash", "hang", "cpu: timeout"), Outcome("timeout", "1 s"))
    store.add_finding("fakelib-1", run, TestCase(HANGS, 0), *hang)
    options = TriageOptions(bug_seconds=0.0, runs=2, timeout=0.5)
    assert examine(traced_session, options).settled == {"confirmed": 1}
    asked: list[str] = []
    monkeypatch.setattr(Examiner, "_excuse", lambda *_: asked.append("excuse") or "none")
    monkeypatch.setattr(Examiner, "_minimised", lambda _, finding, __: asked.append("smaller") or (finding.test, False))
    for seconds, wanted in ((5.0, []), (60.0, ["smaller"])):
        examine(traced_session, replace(options, deadline=traced_session.clock() + seconds))
        assert asked == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_an_ablation_switches_its_rules_off(
    kind: str, traced_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[Plan] = []

    def keep(*arguments: object, **_: object) -> None:
        plans.append(arguments[2])  # type: ignore[arg-type]

    monkeypatch.setattr("fuzz_core.campaign.fuzz._run", keep)
    for disabled in ([], [kind]):
        fuzz(traced_session, counted(1, disabled=disabled))
    rules = {m.name for m in (*load_mutators(MUTATORS), *load_mutators(CALL_MUTATORS)) if m.kind == kind}
    used = [{rule for api in plan.places for n in range(200) for rule in plan.test(api, n).rules} for plan in plans]
    assert used[0] & rules
    assert used[1] and not used[1] & rules


def test_a_second_trace_traces_nothing_and_a_changed_seed_alone(fakelib_session: Session, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in "abc":
        (pages / f"{name}.md").write_text(f"```python\nimport fakelib\nfakelib.fail({ord(name)})\n```\n")
    options = TraceOptions(sources=["docs"], docs_dirs=[pages])
    first = trace(fakelib_session, options)
    assert (first.seeds, first.unchanged, first.status) == (20, 0, {"ok": 20})
    second = trace(fakelib_session, options)
    assert (second.seeds, second.unchanged, second.new, second.checked) == (20, 20, 0, 0)
    assert second.status == {}
    (pages / "b.md").write_text("```python\nimport fakelib\nfakelib.fail(5)\n```\n")
    third = trace(fakelib_session, options)
    assert (third.unchanged, sum(third.status.values()), third.new, third.valid) == (19, 1, 1, 1)


def test_tracing_brings_valid_invocations_of_every_api(traced_session: Session) -> None:
    covered = traced_session.store.coverage("fakelib-1")
    assert len(covered) == 17
    assert {row.api: row.gap for row in covered if row.gap} == {}
    made = {row.invocation.then.method for row in traced_session.store.invocations("fakelib-1") if row.invocation.then}
    assert made == {"__call__"}


def test_a_trace_in_which_everything_dies_is_a_trace_without_invocations(
    fakelib_session: Session, tmp_path: Path
) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for number, line in enumerate(["os._exit(3)", "os.abort()", "os.closerange(3, 301)", "1 / 0"]):
        (pages / f"{number}.md").write_text(f"```python\nimport os\n{line}\n```\n")
    report = trace(fakelib_session, TraceOptions(sources=["docs"], docs_dirs=[pages]))
    assert report.status == {"ok": 17, "crashed": 3, "partly": 1}
    seeds = fakelib_session.store.seeds("fakelib-1")
    assert sorted(seed.outcome_kind for seed in seeds if seed.status == "crashed") == ["exit", "exit", "signal"]
    assert not any(seed.outcome_kind for seed in seeds if seed.status != "crashed")


def test_nothing_traced_is_the_users_error(fakelib_session: Session) -> None:
    with pytest.raises(UserError, match=r"(?s)no recorded call that fakelib-1 accepts.*nightfuzz trace"):
        fuzz(fakelib_session, counted(10))


def test_a_pattern_that_matches_nothing_names_the_nearest(traced_session: Session) -> None:
    with pytest.raises(UserError) as raised:
        fuzz(traced_session, counted(10, patterns=["fakelib.row_sun"]))
    assert "fakelib.row_sun" in raised.value.problem
    assert raised.value.remedy.startswith("the nearest names of this build: fakelib.row_sum")
    assert traced_session.store.runs() == []


def test_a_time_box_shorter_than_starting_is_the_users_error(traced_session: Session) -> None:
    readings = iter(range(0, 1000, 10))
    traced_session.clock = lambda: float(next(readings))
    with pytest.raises(UserError, match="over before the first test"):
        fuzz(traced_session, FuzzOptions(seconds=5.0))
    assert traced_session.store.runs() == []


def test_the_figures_of_a_run_are_on_record(traced_session: Session) -> None:
    report = fuzz(traced_session, counted(150, patterns=["fakelib.add"]))
    (run,) = traced_session.store.runs()
    assert (run.status, run.summary["tests"], run.summary["apis"]) == ("done", report.tests, 1)
    assert report.tests + report.outcomes["duplicate"] == 150
    assert json.loads(json.dumps(run.options))["tests"] == 150
    assert report.findings == report.deaths == 0
