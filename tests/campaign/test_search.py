"""Calls of apis that no seed calls: found by search, recorded like traced ones, or explained."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from nightfuzz_searchlib import PROMISED

from fuzz_core.campaign.carryover import TraceReport
from fuzz_core.campaign.document import RunFacts, result_of
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.gaps import gap_line
from fuzz_core.campaign.plans import chosen
from fuzz_core.campaign.search import DEATH_COST, PORTIONS, _Search, missing, search
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.cli.commands.apis import _coverage
from fuzz_core.ir.codec import dumps, loads
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.signatures import NEIGHBOUR, SEARCH
from fuzz_core.ir.values import Invocation, Prim, Seq, Tensor, TestCase
from fuzz_core.ir.wire import LeaseDone, SearchReport
from fuzz_core.store import open_store
from fuzz_core.store.records import TargetRecord
from nightfuzz.reports.summary import summary

FOUND = {f"searchlib.{name}" for name in ("Handle", "Tiling", "grow", "measure", "pool", "vow")}
# What a further way of calling `pool` calls inside, and no search finds.
NEIGHBOURS = {"searchlib.reverse"}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory, fakelib_python: str) -> Iterator[Session]:
    """A session on searchlib after a trace without seeds."""
    state = tmp_path_factory.mktemp("searched")
    target = TargetRecord("searchlib-1", f"python:{fakelib_python}", "searchlib", "1", fakelib_python, {})
    with open_store(state / "state.db") as store:
        store.save_target(target)
        session = Session(store, target, state, workers=1)
        report = trace(session, TraceOptions(sources=[SEARCH]))
        assert (report.searched, report.found, report.neighbours) == (13, len(FOUND), 1)
        yield session


def called(session: Session) -> dict[str, Invocation]:
    rows = session.store.invocations(session.target.key, valid=True)
    return {row.api: row.invocation for row in rows}


def test_a_call_is_found_behind_a_chain_of_checks_and_is_an_ordinary_invocation(searched: Session) -> None:
    found = called(searched)
    assert found.keys() == {*FOUND, *NEIGHBOURS}
    image, ksize, padding = found["searchlib.pool"].args
    assert isinstance(image, Tensor) and len(image.shape) == 4 and isinstance(ksize, Seq) and isinstance(padding, Prim)
    [row] = [row for row in searched.store.coverage(searched.target.key) if row.api == "searchlib.pool"]
    assert (row.gap, row.sources) == ("", {SEARCH: 1})


def test_an_object_is_made_by_the_call_that_an_earlier_pass_has_found(searched: Session) -> None:
    [handle] = called(searched)["searchlib.measure"].args
    assert isinstance(handle, Invocation) and handle.api == "searchlib.Handle"


def test_a_class_whose_construction_refuses_is_found_by_its_refusals(searched: Session) -> None:
    """The library is asked without executing the call, and makes the instance for that."""
    row = next(row for row in searched.store.invocations(searched.target.key) if row.api == "searchlib.Tiling")
    assert dict(row.invocation.kwargs) == {} and row.invocation.args == (Prim("int", 13), Prim("str", "ragged-edge"))
    assert row.invocation.then is not None


def test_a_call_that_another_one_makes_inside_is_recorded_with_its_source(searched: Session) -> None:
    image, key = called(searched)["searchlib.reverse"].args
    assert isinstance(image, Tensor) and key == Prim("int", 1_234_567)
    [row] = [row for row in searched.store.coverage(searched.target.key) if row.api == "searchlib.reverse"]
    assert (row.gap, row.sources) == ("", {NEIGHBOUR: 1})
    visited = {seed.name for seed in searched.store.seeds(searched.target.key) if seed.source == NEIGHBOUR}
    assert visited == {*FOUND, *NEIGHBOURS}, "each api is visited once"


def test_what_the_documentation_forbids_is_no_seed_though_the_library_accepts_it(searched: Session) -> None:
    [count] = called(searched)["searchlib.grow"].args
    assert isinstance(count, Prim) and isinstance(count.value, int) and count.value > 1


def test_a_result_that_only_promises_is_read_and_the_call_amended(searched: Session) -> None:
    assert called(searched)["searchlib.vow"].args == (Prim("int", PROMISED),)


def test_a_call_whose_result_kills_its_reader_is_no_call_that_kills(searched: Session) -> None:
    deadly = {loads(body) for body, _ in searched.store.deadly_calls(searched.target.key)}
    assert {call.api for call in deadly if isinstance(call, Invocation)} == {"searchlib.die"}


def test_every_gap_has_a_reason_for_a_person_and_for_a_program(searched: Session) -> None:
    rows = [row for row in searched.store.coverage(searched.target.key) if row.gap]
    gaps = {row.api.partition(".")[2]: row.gap for row in rows}
    assert gaps.keys() == {"abandon", "die", "drop", "leave", "owe", "write"}
    assert gaps["abandon"] == "needs a wire"
    assert gaps["write"] == gaps["leave"] == "a call leaves files, processes or sockets behind"
    assert all(gaps[each].endswith("calls ended their process: signal SIGABRT") for each in ("die", "owe"))
    assert gaps["drop"].startswith(f"{PORTIONS[-1]} calls refused; the last new refusal: ValueError: dropped")
    report = _coverage(rows)
    assert {row["gap"] for row in json.loads(json.dumps(report.data))} == set(gaps.values())


def test_gaps_are_counted_by_reason_in_the_document_of_a_run_and_in_its_report(searched: Session) -> None:
    expected = (
        "Apis without a valid call: 6 of 13, by reason: calls ended their process (2), a call leaves files, processes"
        " or sockets behind (2), needs a wire (1), all calls of a search were refused (1)."
    )
    made = result_of(searched.store, RunFacts("nightly", searched.target.key))
    assert made.remarks == (expected,)
    assert "Apis without a valid call: 6 of 13, by reason: calls ended" in summary(made)
    asked = RunFacts("nightly", searched.target.key, apis={"searchlib.drop", "searchlib.pool"})
    assert "1 of 2, by reason: all calls" in "".join(result_of(searched.store, asked).remarks)
    assert result_of(searched.store, RunFacts("pr", searched.target.key)).remarks == ()
    assert gap_line([row for row in searched.store.coverage(searched.target.key) if not row.gap]) == ""


def test_a_published_algorithm_fuzzes_no_call_that_a_search_has_found(searched: Session) -> None:
    assert chosen(searched, ())
    with pytest.raises(UserError, match="no recorded call"):
        chosen(searched, (), search=False)


def test_a_search_is_made_once_and_goes_on_where_it_stopped(searched: Session) -> None:
    store, key = searched.store, searched.target.key
    assert missing(store, key, (), PORTIONS[-1]) == {}
    [seed] = [each for each in store.seeds(key) if each.name == "searchlib.drop"]
    store.save_trace(key, seed._replace(status="partly", statements=PORTIONS[0]), [], {}, {})
    assert missing(store, key, ["*.drop"], PORTIONS[0]) == {}
    assert missing(store, key, ["*.drop"], PORTIONS[1]) == {"searchlib.drop": PORTIONS[0]}
    report = TraceReport()
    search(searched, ["*.pool"], None, report)
    assert report.searched == 0, "the patterns restrict the search"
    search(searched, ["*.drop"], searched.clock() - 1.0, report)
    assert report.searched == 0, "there is no time"
    search(searched, ["*.drop"], None, report)
    assert (report.searched, report.found) == (1, 0)


def test_a_call_that_kills_its_process_is_recorded_and_is_a_finding_of_the_next_fuzz(searched: Session) -> None:
    """No mutant of it is made, for no call of its api is valid."""
    store, key = searched.store, searched.target.key
    bodies = [body for body, reason in store.deadly_calls(key) if reason.startswith("signal SIGABRT")]
    assert bodies and all("searchlib.die" in body for body in bodies)
    [row] = [row for row in store.coverage(key) if row.api == "searchlib.die"]
    assert row.valid == 0 and row.gap
    fuzz(searched, FuzzOptions(seconds=None, tests=20, seed=1))
    fuzz(searched, FuzzOptions(seconds=None, tests=20, seed=1, sweep=True, patterns=["*.pool"]))
    assert not [found for found in store.pending_findings(key) if found.api == "searchlib.die"]
    report = fuzz(searched, FuzzOptions(seconds=None, tests=20, seed=1, sweep=True))
    found = [found for found in store.pending_findings(key) if found.api == "searchlib.die"]
    assert len(found) == len(bodies) <= report.kept
    assert {(each.verdict.kind, each.outcome.name) for each in found} == {("crash", "SIGABRT")}
    assert {dumps(each.test.invocation) for each in found} == {*bodies}


@pytest.mark.parametrize("again", [True, False], ids=["sent", "died before"])
def test_the_search_goes_on_after_the_call_that_killed_its_process(searched: Session, again: bool) -> None:
    """The first such call is asked for; the next ones only cost tries."""
    listener, died = _Search(searched, {"searchlib.die": 0}, PORTIONS[-1]), Outcome("signal", "SIGABRT")
    first = listener.next_lease()
    assert first is not None and not first.skip
    listener.death(first, 3, died)
    asked = listener.next_lease()
    assert asked is not None and (asked.first, asked.last, asked.skip) == (0, 4, (3,))
    if again:
        test = TestCase(Invocation("searchlib.die", (Prim("int", 5),)), 0)
        listener.message(asked, SearchReport("searchlib.die", 3, test))
        listener.message(asked, LeaseDone(asked.number, 3))
    else:
        listener.death(asked, 1, died)
    assert listener.deadly.keys() == ({"searchlib.die"} if again else set())
    second = listener.next_lease()
    assert second is not None and (second.first, second.skip) == (3 + DEATH_COST, ())
    listener.death(second, second.first, died)
    third = listener.next_lease()
    assert third is not None and third.first == second.first + DEATH_COST and not third.skip


def test_an_api_whose_report_cannot_be_read_is_searched_again(searched: Session) -> None:
    store, key = searched.store, searched.target.key
    [seed] = [each for each in store.seeds(key) if each.name == "searchlib.drop"]
    listener = _Search(searched, {"searchlib.drop": 7}, PORTIONS[-1])
    lease = listener.next_lease()
    assert lease is not None
    listener.message(lease, None)
    listener.message(lease, LeaseDone(lease.number, lease.last))
    assert missing(store, key, ["*.drop"], PORTIONS[-1]) == {"searchlib.drop": 7}
    [row] = [row for row in store.coverage(key) if row.api == "searchlib.drop"]
    assert row.gap == "its worker sent no report that can be read"
    store.save_trace(key, seed, [], {}, {})


def test_a_new_build_takes_over_what_was_found(searched: Session) -> None:
    old = searched.target
    new = old._replace(key="searchlib-2", version="2")
    searched.store.save_target(new)
    report = trace(
        Session(searched.store, new, searched.state_dir, workers=1), TraceOptions(sources=[SEARCH], since=old.key)
    )
    assert (report.retraced.seeds, report.searched, report.neighbours) == (20, 0, 0)
    assert {row.api for row in searched.store.invocations(new.key, valid=True)} == {*FOUND, *NEIGHBOURS}
