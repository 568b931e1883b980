"""Graphs judged in parallel by free sets of processes: their results are settled in the order of the graphs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from fuzz_core.campaign.gandalf import judge as module
from fuzz_core.campaign.gandalf.engine import _worth
from fuzz_core.campaign.gandalf.figures import (
    COMPARED,
    ENOUGH,
    PATIENCE,
    SHARE,
    GandalfOptions,
    GandalfReport,
    OperatorOutcomes,
)
from fuzz_core.campaign.gandalf.finding import Finding
from fuzz_core.campaign.gandalf.judge import AHEAD, DrawnGraph, GraphWorkshop, JudgedGraph
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode


def graph(number: int) -> Graph:
    return Graph(inputs=(GraphInput(shape=(1,), seed=number),), nodes=(GraphNode(operator="relu", takes=("x0",)),))


def stream(made: list[int]) -> Iterator[DrawnGraph]:
    for number in range(1000):
        made.append(number)
        yield DrawnGraph("cv", graph(number), [("", str(number))], Asks("float64", {}))


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Records the graph and the set of processes of each judgement; the first graph waits for the second's."""
    found: list[tuple[int, str]] = []
    second = threading.Event()

    def judge(sides: Any, each: Graph, domain: str, report: GandalfReport, asks: Asks) -> list[Any]:
        seed = each.inputs[0].seed
        if seed == 0 and len({sides_ for sides_, _ in found}) < 1:
            assert second.wait(30)
        found.append((seed, cast(str, sides)))
        report.graphs[domain] += 1
        second.set()
        return [("torch", seed)]

    monkeypatch.setattr(module, "judge", judge)
    return found


def test_they_are_settled_in_order_and_so_many_ahead(used: list[tuple[int, str]]) -> None:
    made: list[int] = []
    shop = GraphWorkshop(cast(Any, ["a", "b"]), lambda: False)
    settled = []
    for each in shop(stream(made), 20, lambda: False):
        settled.append(each)
        # The next graph uses the results settled so far, however long other graphs took.
        assert len(made) == min(2 * AHEAD - 1 + len(settled), 20)
    shop.close()
    assert [each.drawn.chosen for each in settled] == [[("", str(number))] for number in range(20)]
    assert [each.found[0][1] for each in settled] == list(range(20))
    assert {sides for _, sides in used} == {"a", "b"}


def test_one_set_makes_one_graph_after_the_other(used: list[tuple[int, str]]) -> None:
    used.append((-1, "a"))
    made: list[int] = []
    shop = GraphWorkshop(cast(Any, ["a"]), lambda: False)
    for place, _ in enumerate(shop(stream(made), 5, lambda: False)):
        assert len(made) == place + 1
    shop.close()


def test_what_has_not_begun_is_left_out_where_the_time_is_over(used: list[tuple[int, str]]) -> None:
    made: list[int] = []
    shop = GraphWorkshop(cast(Any, ["a", "b"]), lambda: False)
    settled = list(shop(stream(made), None, lambda: len(made) >= 6))
    shop.close()
    assert len(made) == 6 and len(settled) == len(used) <= 6
    assert [each.drawn.chosen[0][1] for each in settled] == sorted(str(seed) for seed, _ in used)


def test_what_processes_tell_that_were_ended_is_no_finding(used: list[tuple[int, str]]) -> None:
    used.append((-1, "a"))
    shop = GraphWorkshop(cast(Any, ["a"]), lambda: True)
    assert [each.found for each in shop(stream([]), 2, lambda: False)] == [[], []]
    shop.close()


def test_figures_are_added_up() -> None:
    whole = GandalfReport()
    for number in range(COMPARED + 10):
        part = GandalfReport(models=[("cv", (str(number),))], rounded=1, operators={f"o{number % 3}"})
        part.graphs["cv"] += 1
        whole.add(part)
    assert whole.graphs == {"cv": COMPARED + 10} and whole.rounded == COMPARED + 10
    assert whole.operators == {"o0", "o1", "o2"} and len(whole.models) == COMPARED
    assert whole.diversity() == whole.diversity("cv") == 1.0 and whole.diversity("nlp") == 0.0


def test_what_a_build_never_takes_is_left_out() -> None:
    operator_outcomes, every = OperatorOutcomes(), graph(1)
    for _ in range(PATIENCE - 1):
        operator_outcomes.note(every, {"torch"}, {"torch": 0})
    assert operator_outcomes.left_out == set()
    other = OperatorOutcomes()
    other.note(every, {"torch"}, {"torch": 0})
    operator_outcomes.add(other)
    assert operator_outcomes.left_out == {"relu"}
    operator_outcomes.note(every, {"torch"}, {})
    assert operator_outcomes.left_out == set()


def test_what_kills_a_library_is_asked_more_often_before_it_is_left_out() -> None:
    operator_outcomes, every = OperatorOutcomes(), graph(1)
    for _ in range(ENOUGH - 1):
        operator_outcomes.note(every, {"torch"}, {"torch": 0}, crashed=True)
    assert operator_outcomes.left_out == set()
    operator_outcomes.note(every, {"torch"}, {"torch": 0}, crashed=True)
    assert operator_outcomes.left_out == {"relu"}


def test_what_seldom_fails_goes_on_however_often_it_did() -> None:
    operator_outcomes, every = OperatorOutcomes(), graph(1)
    for _ in range(2 * ENOUGH):
        operator_outcomes.note(every, {"torch"}, {"torch": 0}, crashed=True)
        for _ in range(int(2 / SHARE)):
            operator_outcomes.note(every, {"torch"}, {})
    assert operator_outcomes.left_out == set()


def test_guidance_is_paid_for_its_own_nodes_alone() -> None:
    """A finding at a node that was added for relations earns the guidance no reward."""
    drawn = DrawnGraph("cv", graph(0), [("", "relu")], Asks("float64", {}), own=1)
    for place, worth in [(0, 1.0), (1, 0.0)]:
        found = Finding(
            TestCase(Invocation("f"), 0), Verdict("differential", "wrong-result"), Outcome("ok"), "", place=place
        )
        assert _worth(JudgedGraph([("torch", found)], GandalfReport(), drawn), GandalfOptions()) == worth
