"""Equation 3 of Gandalf as written: the reward of each selection of an operator."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz_core.campaign.gandalf.experience import GUIDANCE
from fuzz_core.campaign.gandalf.figures import GandalfOptions
from fuzz_core.campaign.gandalf.judge import crash_rewards, mean_input_magnitude, of_choices, rewards
from fuzz_core.campaign.gandalf.sides import Runs
from fuzz_core.execution.replay import Results
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.dqn import Dqn
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode

GRAPH = Graph(
    inputs=(GraphInput(shape=(2,), dtype="float", seed=1, values=(1.0, -3.0)),),
    nodes=(GraphNode(operator="relu", takes=("x0",), seed=1), GraphNode(operator="exp", takes=("n0",), seed=2)),
)
MEAN = 2.0


def runs(torch: list[float], tensorflow: list[float], jittor: list[float]) -> Runs:
    came: dict[str, Results] = {
        name: {0: np.array([1.0, 0.0]), 1: np.array(values)}
        for name, values in {"torch": torch, "tensorflow": tensorflow, "jittor": jittor}.items()
    }
    return Runs(came, came)  # type: ignore[arg-type]


def test_m_d_is_the_mean_magnitude_of_the_data() -> None:
    assert mean_input_magnitude(GRAPH) == MEAN


def test_an_inconsistency_is_worth_its_distance_times_its_confidence() -> None:
    alike = rewards(GRAPH, runs([2.0, 1.0], [2.0, 1.0], [2.0, 1.0]), GandalfOptions())
    assert alike == [0.0, 0.0]
    (first, second) = rewards(GRAPH, runs([2.0, 1.0], [2.0, 1.0], [1.0, 1.0]), GandalfOptions(beta=3.0))
    assert first == 0.0 and second == pytest.approx(3.0 * 0.5 * 2 / 3)


def test_what_is_not_finite_and_a_crash_are_worth_the_mean_of_the_data() -> None:
    lost = rewards(GRAPH, runs([2.0, np.nan], [2.0, 1.0], [2.0, 1.0]), GandalfOptions(delta=5.0))
    assert lost == [0.0, 5.0 * MEAN]
    assert crash_rewards(GRAPH, [1], GandalfOptions(gamma=7.0)) == [0.0, 7.0 * MEAN]


def test_each_selection_has_the_reward_of_its_operator() -> None:
    chosen = [("", "relu"), ("relu", "conv2d"), ("relu", "exp")]
    assert of_choices(chosen, ["relu", "exp"], [0.5, 2.0]) == [0.5, 0.0, 2.0]
    assert of_choices(chosen, ["relu", "exp"], []) == [0.0, 0.0, 0.0]


def test_dqn_learns_which_selection_was_worth_it() -> None:
    guidance = Dqn(Rng(3), ["a", "b", "c"], discount=0.0)
    for before, names in (("", ["a"]), ("a", ["b", "c"]), ("b", ["c"])):
        guidance.choose(before, names)
    for _ in range(60):
        guidance.learn_rewards([("", "a"), ("a", "b"), ("b", "c")], [0.0, 1.0, 0.0])
    assert guidance.value("a", "b") > 0.5 > max(guidance.value("", "a"), guidance.value("b", "c"))


@pytest.mark.parametrize("name", GUIDANCE)
def test_every_guidance_takes_rewards_of_selections(name: str) -> None:
    guidance = GUIDANCE[name](Rng(1), ["a", "b"])
    guidance.choose("", ["a"])
    guidance.choose("a", ["b"])
    guidance.learn_rewards([("", "a"), ("a", "b")], [0.0, 1.0])
    assert guidance.choose("a", ["b"]) == "b"
