"""The sweep: each cell is tried once, whatever ends a worker or a run; classes that burn time come last."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from examples import examples
from fakelib_plans import call, plan_of
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.coverage import coverage_line
from fuzz_core.campaign.document import RunFacts, result_of
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.plans import divided
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.sweep import CellLog, ClassCosts, SweepSchedule
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.outcome import Outcome
from fuzz_core.mutation.registry import RuleBook
from fuzz_core.store.cells import CELL_RESULTS, POSTPONED, CellRow
from fuzz_core.store.merge import merge
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.worker.plan import PAIRED, SWEPT, SWEPT_CALLS, Plan, bases_of
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.summary import summary

KEY = "fakelib-1"
APIS = ["fakelib.scale", "fakelib.add", "fakelib.concat"]
CALLS = [
    call("scale", np.ones((2, 3), np.float32), 2.0),
    call("add", np.ones(3, np.float32), np.ones(3, np.float32)),
    call("concat", 3),
]
OK, HANG = Outcome("ok", seconds=1e-4), Outcome("timeout", "1 s", seconds=1.0)
OUTCOMES = [OK, Outcome("exception", "ValueError"), Outcome("signal", "SIGSEGV"), HANG]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return Plan(plan_of(tmp_path_factory.mktemp("plan") / "plan.jsonl", CALLS))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "state.db"
    with open_store(path) as store:
        store.save_target(TargetRecord(KEY, "", "fakelib", "1", ""))
    return path


@pytest.fixture
def session(tmp_path: Path, empty: Path) -> Iterator[Session]:
    shutil.copy(empty, tmp_path / "state.db")
    with open_store(tmp_path / "state.db") as store:
        yield Session(store, store.target(KEY), tmp_path)


def schedule(
    session: Session, plan: Plan, budget: int | None = None, apis: Iterable[str] = tuple(APIS)
) -> SweepSchedule:
    return SweepSchedule(session, plan, CellLog(session), apis, budget=budget)


def cells_of(lease: Lease) -> list[int]:
    return [index for index in range(lease.first, lease.last) if index not in lease.skip]


def singles(tests: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    return {test for test in tests if test[1] < PAIRED}


def every_cell(plan: Plan) -> set[tuple[str, int]]:
    return {(api, SWEPT + place) for api in APIS for place in range(len(plan.cells(api)))}


def execute(sweep: SweepSchedule, lease: Lease, outcome: Outcome = OK) -> list[tuple[str, int]]:
    for index in cells_of(lease):
        sweep.record(lease, index, outcome)
    sweep.ended(lease, lease.last)
    return [(lease.api, index) for index in cells_of(lease)]


@examples(40)
@given(
    seed=st.integers(0, 1 << 30),
    budgets=st.lists(st.sampled_from([None, 40, 400]), max_size=3),
    leases=st.integers(1, 6),
)
def test_each_cell_is_tried_once_whatever_ends_a_lease_or_a_run(
    plan: Plan, empty: Path, tmp_path_factory: pytest.TempPathFactory, seed: int, budgets: list[int | None], leases: int
) -> None:
    path = Path(shutil.copy(empty, tmp_path_factory.mktemp("state") / "state.db"))
    tried: Counter[tuple[str, int]] = Counter()
    random = Random(seed)
    for number, budget in enumerate((*budgets, None)):
        with open_store(path) as store:
            sweep = schedule(Session(store, store.target(KEY), path.parent), plan, budget)
            # The last run ends by itself. A further run is cut short with its leases' results in the state.
            left = leases if number < len(budgets) else 100_000
            while left and (lease := sweep.next()) is not None:
                left -= 1
                tried.update(die_at_random(sweep, lease, random))
            sweep.log.save(at_once=True)
    assert singles(tried) == every_cell(plan)
    assert set(tried.values()) == {1}
    with open_store(path) as store:
        assert {row.result for row in store.cells(KEY)} <= {*CELL_RESULTS} - {POSTPONED}
        assert len(store.cells(KEY)) == sum(each.cells for each in store.efforts(KEY)) == len(singles(tried))
        pairs = len(tried) - len(singles(tried))
        assert (
            pairs == sum(each.pairs for each in store.efforts(KEY)) == sum(each.paired for each in store.efforts(KEY))
        )


def die_at_random(sweep: SweepSchedule, lease: Lease, random: Random) -> Iterator[tuple[str, int]]:
    for index in cells_of(lease):
        outcome = random.choices(OUTCOMES, (50, 20, 2, 1))[0]
        sweep.record(lease, index, outcome)
        yield lease.api, index
        if outcome.kind in ("signal", "timeout"):
            sweep.ended(lease, index + 1)
            return
    sweep.ended(lease, lease.last)


def leased(sweep: SweepSchedule) -> set[tuple[str, int]]:
    return {cell for lease in iter(sweep.next, None) for cell in execute(sweep, lease)}


def test_a_new_build_sweeps_the_changed_api_alone(session: Session, plan: Plan) -> None:
    store = session.store
    done = leased(sweep := schedule(session, plan))
    sweep.log.save(at_once=True)
    store.save_target(TargetRecord("fakelib-2", "", "fakelib", "2", ""))
    store.save_apis("fakelib-2", [Api(name, "function") for name in APIS])
    assert store.carry_cells("fakelib-2", KEY, {"fakelib.add"}) == len(store.cells(KEY)) - len(
        store.cells(KEY, "fakelib.add")
    )
    later = Session(store, store.target("fakelib-2"), session.state_dir)
    assert leased(schedule(later, plan)) == {test for test in done if test[0] == "fakelib.add"}


def test_shards_sweep_each_cell_once_and_leave_nothing_to_the_merged_state(
    session: Session, plan: Plan, empty: Path, tmp_path: Path
) -> None:
    shards, found = divided(APIS, {}, 2), []
    paths = [Path(shutil.copy(empty, tmp_path / f"{number}.db")) for number in range(2)]
    for path, apis in zip(paths, shards, strict=True):
        with open_store(path) as store:
            sweep = schedule(Session(store, store.target(KEY), tmp_path), plan, apis=apis)
            found.append(leased(sweep))
            sweep.log.save(at_once=True)
    assert not found[0] & found[1] and singles(found[0] | found[1]) == every_cell(plan)
    merge(session.store, paths, cost=repr)
    assert leased(schedule(session, plan)) == set()


def test_the_sweep_draws_nothing(session: Session, plan: Plan, tmp_path: Path) -> None:
    other = Plan(plan_of(tmp_path / "plan.jsonl", CALLS, seed=7))
    index = SWEPT + 5
    assert [plan.test(api, index) for api in APIS] == [other.test(api, index) for api in APIS]


def test_the_sweep_changes_the_richest_the_simplest_and_one_call_of_each_outcome_class() -> None:
    lengths = [50, 10, 40, 20, 30, 60, *range(100, 120), 45]
    shown = [1, 1, 2, 1, 3, 2, *[1] * 20, 3]
    found = bases_of(list(zip(lengths, shown, strict=True)))
    assert found[:2] == [25, 1] and found[2:4] == [4, 2] and len(found) == SWEPT_CALLS == len(set(found))
    assert bases_of([]) == [] and bases_of([(5, 0)]) == [0]


def test_a_check_of_calls_records_their_outcome_classes(traced_session: Session) -> None:
    shown = {row.api: row.shown for row in traced_session.store.bodies(KEY) if row.valid}
    assert all(shown.values()) and len(set(shown.values())) > 1


def test_every_api_has_its_first_lease_before_any_has_its_second(session: Session, plan: Plan) -> None:
    sweep, order = schedule(session, plan, budget=10_000), []
    while (lease := sweep.next()) is not None:
        order.append(lease.api)
        execute(sweep, lease)
    assert order[: len(APIS)] == APIS and len(order) > len(APIS)


def test_a_class_that_burns_time_is_postponed_in_its_api_and_tried_last(session: Session, plan: Plan) -> None:
    sweep = schedule(session, plan)
    lease = sweep.next()
    assert lease is not None
    hung = next(place for place, cell in enumerate(plan.cells(lease.api)) if cell.name == "Boundary Float inf")
    name = plan.cells(lease.api)[hung].name
    for index in range(SWEPT, SWEPT + hung + 1):
        sweep.record(lease, index, HANG if index == SWEPT + hung else OK)
    sweep.ended(lease, SWEPT + hung + 1)
    order = [cell for lease in iter(sweep.next, None) for cell in execute(sweep, lease)]
    assert (lease.api, SWEPT + hung) not in order and singles(order) | {
        (lease.api, index) for index in range(SWEPT, SWEPT + hung + 1)
    } == every_cell(plan)
    assert {row.name for row in sweep.log.rows if row.result == POSTPONED} <= {name}


def test_a_postponed_cell_stays_postponed_in_the_next_run(session: Session, plan: Plan) -> None:
    cell = plan.cells(APIS[0])[3]
    row = CellRow(APIS[0], cell.argument, cell.name, POSTPONED, "1 cells of scale took 1.00 s on average")
    session.store.save_cells(KEY, [row])
    sweep = schedule(session, plan)
    order = [each for lease in iter(sweep.next, None) for each in execute(sweep, lease)]
    order = [test for test in order if test[1] < PAIRED]
    assert order[-1] == (APIS[0], SWEPT + 3) and len(order) == len(every_cell(plan))


def test_postponed_cells_have_a_part_of_the_time_and_the_next_run_goes_on(
    session: Session, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = {(APIS[0], SWEPT + place) for place in (3, 4)} | {(APIS[1], SWEPT + 5)}
    for api, index in late:
        cell = plan.cells(api)[index - SWEPT]
        session.store.save_cells(KEY, [CellRow(api, cell.argument, cell.name, POSTPONED, "slow")])
    now = 0.0
    monkeypatch.setattr(session, "clock", lambda: now)
    sweep = SweepSchedule(session, plan, CellLog(session), APIS, until=1000.0)
    first = []
    while (lease := sweep.next()) is not None:
        first += execute(sweep, lease)
        if late & {*first}:
            now = 999.0
    tried = late & {*first}
    assert first and 0 < len(tried) < len(late) and sweep.is_over
    assert any(index >= PAIRED for _, index in first)  # pairs do not wait for them
    sweep.log.save(at_once=True)
    assert late - tried <= leased(schedule(session, plan))


def test_a_run_with_a_budget_tries_no_more_cells(session: Session, plan: Plan) -> None:
    sweep = schedule(session, plan, budget=70)
    assert sum(len(execute(sweep, lease)) for lease in iter(sweep.next, None)) == 70
    assert not sweep.is_over


def test_the_sweep_counts_the_apis_that_it_has_finished(session: Session, plan: Plan) -> None:
    sweep, seen = schedule(session, plan), []
    for lease in iter(sweep.next, None):
        seen.append(sweep.swept)
        execute(sweep, lease)
    assert (seen[0], sweep.swept, sweep.total) == (0, len(APIS), len(APIS)) and seen == sorted(seen)


def test_a_fuzz_begins_with_the_sweep_and_goes_on_with_it_in_the_next_run(traced_session: Session) -> None:
    store = traced_session.store
    options = FuzzOptions(seconds=None, tests=600, patterns=APIS, oracles=("crash",), sweep=True)
    fuzz(traced_session, options)
    first = {(row.api, row.argument, row.name): row.result for row in store.cells(KEY)}
    assert 250 < len(first) <= 300
    fuzz(traced_session, options)
    second = {(row.api, row.argument, row.name): row.result for row in store.cells(KEY)}
    assert len(second) > len(first) and first.items() <= second.items()
    assert {each.api for each in store.efforts(KEY)} == {*APIS}
    assert {"valid", "refused"} <= set(second.values())
    line = coverage_line(store, KEY)
    assert line.startswith("Sweep of boundary classes over 3 apis: ")
    assert escaped(line) in summary(result_of(store, RunFacts("nightly", KEY)))


def test_a_busy_machine_postpones_nothing_while_all_calls_take_as_long() -> None:
    costs = ClassCosts(shared=True)
    for number in range(100):
        costs.learn(f"fakelib.f{number % 7}", "size", f"Boundary Integer {number % 5}", 0.1)
    assert not costs.reason("fakelib.other", "size", "Boundary Integer 1")
    for number in range(3):
        assert not costs.reason("fakelib.other", "size", "Boundary Integer 2147483647")
        costs.learn(f"fakelib.f{number}", "size", "Boundary Integer 2147483647", 1.0)
    assert costs.reason("fakelib.other", "size", "Boundary Integer 2147483647") == (
        "3 cells for 'size' took 1.00 s on average"
    )
    assert not costs.reason("fakelib.other", "size", "Boundary Integer 1")


def test_the_sweep_meets_planted_faults_with_the_crash_oracle_alone(traced_session: Session) -> None:
    planted = ["fakelib.scale", "fakelib.outer", "fakelib.row_sum"]
    report = fuzz(traced_session, FuzzOptions(seconds=None, tests=900, patterns=planted, sweep=True))
    found = traced_session.store.findings(KEY)
    boundary = [each for each in found if set(each.test.rules) <= {rule.name for rule in RuleBook({}).boundaries}]
    assert {each.verdict.kind for each in boundary} >= {"crash", "internal-error"}
    assert report.cells == len(traced_session.store.cells(KEY)) > 200
    crashed = {row.api for row in traced_session.store.cells(KEY) if row.result == "crashed"}
    assert {each.api for each in boundary if each.verdict.kind == "crash"} <= crashed
