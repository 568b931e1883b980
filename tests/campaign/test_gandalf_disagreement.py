"""The library that a disagreement blames, judged by results alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fuzz_core.campaign.gandalf.disagreement import (
    BOUNDS,
    NUDGE,
    Disagreement,
    bound,
    disagreements,
    error,
    moderate,
    nudged,
    nudged_graph,
    parties,
    precision_loss,
    suspicious,
    worst,
)
from fuzz_core.campaign.gandalf.figures import GandalfOptions
from fuzz_core.campaign.gandalf.finding import Symptom
from fuzz_core.campaign.gandalf.sides import DOUBLE, SINGLE, Runs
from fuzz_core.execution.replay import Array
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode
from fuzz_core.modelgen.gandalf.table import Library

VALUES = np.linspace(-2.0, 2.0, 12).reshape(3, 4)
finite = arrays.arrays("float64", (3, 4), elements=st.floats(-1e4, 1e4))


def single(array: Array) -> Array:
    return array.astype(np.float32).astype(np.float64)


def judged(
    double: dict[Library, Array],
    narrow: dict[Library, Array] | None = None,
    moved: dict[Library, Array] | None = None,
    noisy: dict[Library, Array] | None = None,
) -> Disagreement | None:
    narrow = {**{each: single(array) for each, array in double.items()}, **(narrow or {})}
    runs = Runs(*({name: {0: array} for name, array in each.items()} for each in (double, narrow)))
    nudges = {name: {0: array} for name, array in (moved or double).items()}
    noises = {name: {0: array} for name, array in (noisy or narrow).items()}
    return disagreements(runs, Runs(nudges, noises), {0: DOUBLE}).get(0)


class DescribeDistances:
    @given(finite)
    def test_a_result_is_no_way_from_itself(self, array: Array) -> None:
        assert error(array, array) == 0.0
        assert error(array, single(array)) <= 1e-6

    def test_by_the_largest_element(self) -> None:
        assert error(np.array([0.0, 100.0]), np.array([1.0, 100.0])) == pytest.approx(0.01)
        assert worst(np.array([[0.0, 100.0]]), np.array([[1.0, 100.0]])) == (0, 0)

    @pytest.mark.parametrize(
        ("one", "other", "far"),
        [
            ([np.nan], [np.nan], 0.0),
            ([np.inf], [np.inf], 0.0),
            ([np.inf], [-np.inf], np.inf),
            ([np.nan], [1.0], np.inf),
            ([[1.0]], [1.0], np.inf),
            ([], [], 0.0),
            ([True], [False], 1.0),
            ([0.0], [0.0], 0.0),
        ],
    )
    def test_what_is_not_finite_and_other_shapes(self, one: list[float], other: list[float], far: float) -> None:
        assert error(np.array(one), np.array(other)) == far

    @given(finite)
    def test_a_nudge_is_a_few_roundings_and_breaks_ties(self, array: Array) -> None:
        moved = nudged(array, 1)
        assert error(array, moved) <= 1e3 * NUDGE and error(array + 9.0, nudged(array + 9.0, 1)) <= 3 * NUDGE
        assert (moved == nudged(array, 1)).all() and len(np.unique(nudged(np.zeros(9), 1))) == 9
        assert nudged(np.arange(3), 1).tolist() == [0, 1, 2]
        assert bound(DOUBLE, array, array) == BOUNDS[DOUBLE] <= bound(SINGLE, array, moved)

    def test_nobody_computes_with_what_is_huge(self) -> None:
        assert moderate([VALUES]) and not moderate([VALUES, np.array([1e9])]) and not moderate([np.array([np.nan])])

    def test_those_that_agree_are_one_party(self) -> None:
        results = {"a": VALUES, "b": VALUES + 1.0, "c": VALUES + 1e-9, "d": VALUES}
        assert parties(results, 1e-6) == [["a", "c", "d"], ["b"]]


@pytest.mark.parametrize(("symptom", "worth"), [("inconsistency", 1.0), ("crash", 2.0), ("nan or inf", 3.0)])
def test_symptoms_are_worth_what_is_asked_for(symptom: Symptom, worth: float) -> None:
    assert GandalfOptions(beta=1.0, gamma=2.0, delta=3.0).worth(symptom) == worth


class DescribeLosses:
    OFF = VALUES + 1e-8

    def test_double_precision_that_is_as_good_as_single_is_a_loss(self) -> None:
        double = {"torch": VALUES, "tensorflow": self.OFF, "jittor": VALUES}
        told = precision_loss(double, double)  # type: ignore[arg-type]
        assert told is not None and (told.wrong, told.precision, told.decided) == ("tensorflow", DOUBLE, True)
        assert told.bound < 1e-7 and judged(double) is None

    def test_of_two_it_is_the_one_that_is_known_to_lose(self) -> None:
        double = {"torch": self.OFF, "tensorflow": VALUES}
        told, known = (precision_loss(double, double, each) for each in ([], ["torch"]))  # type: ignore[arg-type]
        assert told is not None and not told.decided
        assert known is not None and (known.wrong, known.decided) == ("torch", True)

    def test_roundings_ties_and_single_precision_are_none(self) -> None:
        for double, moved in [
            ({"torch": VALUES, "tensorflow": VALUES + 1e-12}, VALUES),
            ({"torch": VALUES, "tensorflow": self.OFF}, VALUES + 1.0),
            ({"torch": VALUES, "tensorflow": VALUES + 1e-3}, VALUES),
            ({"torch": VALUES, "tensorflow": self.OFF.astype(np.float32)}, VALUES),
        ]:
            assert precision_loss(double, dict.fromkeys(double, moved)) is None  # type: ignore[arg-type]


class DescribeJudgement:
    def test_the_one_that_two_contradict_is_wrong(self) -> None:
        off = VALUES.copy()
        off[1, 2] += 0.5
        told = judged({"torch": VALUES, "tensorflow": off, "jittor": VALUES})
        assert told is not None and (told.wrong, told.precision, told.decided) == ("tensorflow", DOUBLE, True)
        assert told.witnesses == ("torch", "jittor") and told.at == (1, 2)
        assert told.value == VALUES[1, 2] and told.bound < 0.01

    def test_of_two_nobody_knows(self) -> None:
        told = judged({"torch": VALUES, "jittor": VALUES + 1.0})
        assert told is not None and not told.decided and told.witnesses == ("torch",)

    def test_another_shape_is_a_disagreement_about_the_shape(self) -> None:
        told = judged({"torch": VALUES, "tensorflow": VALUES, "jittor": VALUES.T})
        assert told is not None and (told.wrong, told.shape, told.decided) == ("jittor", (3, 4), True)

    @pytest.mark.parametrize("lost", [np.nan, np.inf, 1e7])
    @pytest.mark.parametrize("others", [("tensorflow",), ("tensorflow", "jittor")])
    def test_what_is_lost_where_others_have_numbers_is_wrong(self, lost: float, others: tuple[Library, ...]) -> None:
        off = VALUES.copy()
        off[1, 1] = lost
        told = judged({"torch": off, **dict.fromkeys(others, VALUES)})
        assert told is not None and (told.wrong, told.at, told.value) == ("torch", (1, 1), VALUES[1, 1])
        assert told.decided == (len(others) > 1) and (np.isnan(told.seen) if np.isnan(lost) else told.seen == lost)

    def test_what_most_have_lost_and_what_a_nudge_brings_back_is_no_disagreement(self) -> None:
        off = VALUES.copy()
        off[1, 1] = np.nan
        assert judged({"torch": VALUES, "tensorflow": off, "jittor": off}) is None
        back = dict.fromkeys(("torch", "tensorflow"), VALUES)
        assert judged({"torch": VALUES, "tensorflow": off}, moved=back) is None

    def test_what_a_nudge_moves_as_far_is_no_disagreement(self) -> None:
        off = VALUES.copy()
        off[0, 0] += 0.01
        moved = dict.fromkeys(("torch", "tensorflow"), VALUES + 0.001)
        assert judged({"torch": VALUES, "tensorflow": off}, moved=moved) is None
        assert judged({"torch": VALUES, "tensorflow": off}) is not None

    def test_single_precision_far_from_its_own_double(self) -> None:
        off = single(VALUES)
        off[2, 3] = np.inf
        told = judged({"torch": VALUES, "tensorflow": VALUES}, {"torch": off})
        assert told is not None and (told.wrong, told.precision, told.at) == ("torch", SINGLE, (2, 3))
        assert told.witnesses == ("tensorflow",) and told.decided
        both = dict.fromkeys(("torch", "tensorflow"), off)
        assert judged({"torch": VALUES, "tensorflow": VALUES}, both) is None

    def test_what_is_all_rounding_in_single_precision_is_no_finding(self) -> None:
        nothing, noise = np.zeros((2, 2)), np.full((2, 2), 2e-6)
        double: dict[Library, Array] = {"torch": nothing, "tensorflow": nothing}
        narrow: dict[Library, Array] = {"torch": noise, "tensorflow": nothing}
        assert judged(double, narrow) is not None
        assert judged(double, narrow, noisy={"torch": -noise, "tensorflow": nothing}) is None

    def test_what_agrees_is_no_finding_nor_is_what_overflows_everywhere(self) -> None:
        assert judged({"torch": VALUES, "tensorflow": VALUES + 1e-9}) is None
        huge = VALUES * 1e12
        assert judged({"torch": huge, "tensorflow": huge + 1e11}) is None

    def test_a_graph_is_looked_at_where_anything_is_apart(self) -> None:
        def runs(other: Array) -> Runs:
            results: dict[Library, dict[int, Array]] = {"torch": {0: VALUES}, "tensorflow": {0: other}}
            return Runs(results, results)

        assert not suspicious(runs(VALUES + 1e-9), {0: DOUBLE}) and suspicious(runs(VALUES + 1e-4), {0: DOUBLE})
        assert not suspicious(runs(VALUES + 1e-4), {0: SINGLE}) and suspicious(runs(VALUES + 0.1), {0: SINGLE})

    def test_a_shaken_graph_has_other_data_of_the_same_shape(self) -> None:
        graph = Graph(
            inputs=(GraphInput(shape=(2, 2), seed=3), GraphInput(shape=(2,), dtype="int")),
            nodes=(GraphNode(operator="relu", takes=("x0",)),),
        )
        moved = nudged_graph(graph)
        assert [each.shape for each in moved.inputs] == [(2, 2), (2,)] and moved.nodes == graph.nodes
        plain = np.random.RandomState(3).standard_normal((2, 2)).astype("float32")
        assert np.allclose(np.array(moved.inputs[0].values).reshape(2, 2), plain, atol=1e-5)
        assert moved.inputs[0].values != tuple(plain.ravel().tolist())
