"""Pairs of boundary classes: each pair stands in a row, the most telling arguments are taken, and rows are tests."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import pytest
from examples import examples
from fakelib_plans import call, plan_of
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.coverage import coverage_line
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.pairs import MOST_ARGUMENTS, MOST_CLASSES, covering, paired_classes
from fuzz_core.campaign.session import Session
from fuzz_core.ir.values import Invocation, Seq, prim
from fuzz_core.store.cells import CellRow
from fuzz_core.worker.plan import Plan

KEY = "fakelib-1"
SIX = Invocation("fakelib.six", tuple(map(prim, range(10, 16))), (("sizes", Seq("tuple", (prim(2), prim(3)))),))


@examples(20)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple))
def test_each_pair_of_levels_is_in_a_row(sizes: tuple[int, ...]) -> None:
    rows = covering(sizes)
    for (first, some), (second, others) in combinations(enumerate(sizes), 2):
        assert {(row[first], row[second]) for row in rows} == set(product(range(some), range(others)))
    assert {len(row) for row in rows} == {len(sizes)}


@pytest.fixture
def six(tmp_path: Path) -> Plan:
    return Plan(plan_of(tmp_path / "plan.jsonl", [SIX]))


def results(plan: Plan, outcomes: dict[str, int]) -> list[CellRow]:
    """Returns results of all cells: `outcomes` has the number of outcome classes of an argument, by default 1."""
    rows = []
    for place, cell in enumerate(plan.cells("fakelib.six")):
        kinds = outcomes.get(cell.argument, 1)
        result = "refused" if place % kinds == 1 else "valid"
        rows.append(CellRow("fakelib.six", cell.argument, cell.name, result, shown=1 + place % kinds))
    return rows


def test_the_arguments_with_most_outcome_classes_are_paired(six: Plan) -> None:
    cells = six.cells("fakelib.six")
    known = results(six, {"arg1": 9, "arg2": 4, "arg3": 3, "arg4": 2, "sizes": 2, "sizes[0]": 3})
    classes = paired_classes(cells, known)
    assert {cells[places[0]].argument for places in classes} == {"arg1", "arg2", "arg3", "sizes[0]", "arg4"}
    assert len(classes) == MOST_ARGUMENTS
    shown = {(row.argument, row.name): row for row in known}
    first = [shown[cells[place].argument, cells[place].name] for place in classes[0]]
    assert {row.result for row in first} == {"valid"}
    assert len({row.shown for row in first}) == len(first) == MOST_CLASSES


def test_further_classes_follow_those_that_differ_in_their_outcome(six: Plan) -> None:
    cells, known = six.cells("fakelib.six"), results(six, {"arg1": 9, "arg2": 4})
    classes = paired_classes(cells, known)
    shown = {(row.argument, row.name): row.shown for row in known}
    second = [shown[cells[place].argument, cells[place].name] for place in classes[1]]
    assert sorted(second[:3]) == [1, 3, 4] and len(second) == MOST_CLASSES


def test_a_class_that_was_refused_died_or_hung_is_not_paired(six: Plan) -> None:
    cells = six.cells("fakelib.six")
    known = results(six, {"arg1": 4})
    deadly = [row._replace(result=("crashed", "hung", "refused")[at % 3]) for at, row in enumerate(known)]
    assert paired_classes(cells, deadly) == []
    assert paired_classes(cells, []) == []


def test_a_row_is_one_call_with_each_of_its_classes(six: Plan) -> None:
    cells = six.cells("fakelib.six")
    row = [next(at for at, cell in enumerate(cells) if cell.argument == name) for name in ("arg1", "sizes[0]")]
    test = six.test("fakelib.six", 7, rows={7: row})
    first, second = (cells[at].value for at in row)
    assert test.invocation == SIX._replace(
        args=(SIX.args[0], first, *SIX.args[2:]), kwargs=(("sizes", Seq("tuple", (second, prim(3)))),)
    )
    assert test.rules == tuple(cells[at].rule for at in row) and test.origin == cells[row[0]].origin


def test_a_fuzz_runs_pairs_after_the_singles_and_the_next_run_goes_on(traced_session: Session) -> None:
    store = traced_session.store
    options = FuzzOptions(seconds=None, tests=900, patterns=["fakelib.scale"], oracles=("crash",), sweep=True)
    fuzz(traced_session, options)
    [effort] = store.efforts(KEY)
    assert effort.cells == len(store.cells(KEY)) and effort.paired > 0
    assert f"{effort.paired:,} of {effort.pairs:,} tests of pairs run" in coverage_line(store, KEY)
    fuzz(traced_session, options)
    [later] = store.efforts(KEY)
    assert later.pairs == effort.pairs and later.paired >= effort.paired
    assert call("scale").api in {each.api for each in store.findings(KEY)}
