from __future__ import annotations

import numpy as np
import pytest
from gandalf_world import LENGTH, GandalfWorld

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.dqn import DoubleDqn, Dqn
from fuzz_core.modelgen.gandalf.guidance import Alike

# Each choice of a graph has a discounted reward of 1. If the network has to guess, it may be off by half of the sum.
MARGIN = 1.5


def learnt(kind: type[Dqn], seed: int, graphs: int = 400) -> tuple[Dqn, int, int]:
    """Returns the trained guidance, and how many graphs of the second half have a bug: its own, and those by chance."""
    world = GandalfWorld(seed)
    guidance = kind(Rng(seed), world.names)
    found, by_chance = world.graphs(guidance, graphs), world.graphs(Alike(Rng(seed)), graphs)
    return guidance, sum(found[graphs // 2 :]), sum(by_chance[graphs // 2 :])


def check_values(guidance: Dqn) -> None:
    """Checks that every output of the network for a possible successor is near the range of returns."""
    most = sum(guidance.discount**step for step in range(LENGTH))
    outputs = guidance.online.values(range(len(guidance.places)))[guidance.follows]
    assert -MARGIN * most / 2 < outputs.min() and outputs.max() < MARGIN * most
    assert guidance.decoded(outputs).min() >= 0.0 and guidance.decoded(outputs).max() <= most


def test_the_papers_guidance_finds_more_bugs_than_chance() -> None:
    guidance, found, by_chance = learnt(Dqn, 1, 200)
    assert found >= 1.5 * by_chance
    check_values(guidance)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Dqn, DoubleDqn])
def test_a_network_converges_in_nine_of_ten_worlds(kind: type[Dqn]) -> None:
    better = 0
    for seed in range(10):
        guidance, found, by_chance = learnt(kind, seed)
        better += found >= 1.5 * by_chance
        check_values(guidance)
    assert better >= 9


def test_a_target_is_the_best_of_what_may_follow() -> None:
    guidance = Dqn(Rng(1), "abc")
    guidance.most = 10.0
    guidance.target.values = lambda _: np.array([[0.0, 1.0, 2.0, 3.0]])  # type: ignore[method-assign]
    guidance.choose("a", ["a", "b"])
    assert guidance.worth([guidance.places["a"]]).tolist() == [2.0]
