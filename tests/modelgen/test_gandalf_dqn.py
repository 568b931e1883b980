from __future__ import annotations

import numpy as np
import pytest

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.dqn import DoubleDqn, Dqn, QNetwork

NAMES = tuple("abcdef")


class DescribeNetwork:
    def test_it_learns_a_table(self) -> None:
        network = QNetwork(4, 3, 1)
        wanted = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 1.0], [0.5, 0.5, 0.5], [-2.0, 1.0, 0.0]])
        rows, columns = (each.ravel().tolist() for each in np.indices(wanted.shape))
        errors = []
        for _ in range(401):
            errors.append(float(np.abs(network.values(rows)[range(len(rows)), columns] - wanted.ravel()).mean()))
            network.learn(rows, columns, wanted.ravel())
        assert errors[-1] < 0.02 < errors[0]
        assert np.allclose(network.values(range(4)), wanted, atol=0.1)

    def test_the_gradient_is_that_of_the_loss(self) -> None:
        network, target, step = QNetwork(3, 2, 5, hidden=4), np.array([0.3, -0.2]), 1e-6
        seen: list[np.ndarray] = []
        network._step = lambda gradients: seen.extend(gradients)  # type: ignore[method-assign,assignment]
        network.learn([0, 2], [1, 0], target)

        def loss() -> float:
            errors = network.values([0, 2])[[0, 1], [1, 0]] - target
            return float((errors**2 / 2).mean())

        for place, weights in enumerate(network.weights):
            index = tuple(0 for _ in weights.shape)
            weights[index] += step
            above = loss()
            weights[index] -= 2 * step
            numeric = (above - loss()) / (2 * step)
            weights[index] += step
            assert seen[place][index] == pytest.approx(numeric, abs=1e-6)

    def test_what_was_saved_is_restored_where_it_fits(self) -> None:
        one, other = QNetwork(3, 3, 1), QNetwork(3, 3, 2)
        assert not np.allclose(one.values([0]), other.values([0]))
        assert other.restore(one.saved()) and np.array_equal(one.values([0]), other.values([0]))
        assert not QNetwork(4, 3, 1).restore(one.saved()) and not one.restore({})


@pytest.mark.parametrize("kind", [Dqn, DoubleDqn])
class DescribeGuidance:
    def test_it_prefers_what_was_worth_something_and_what_leads_there(self, kind: type[Dqn]) -> None:
        guidance = kind(Rng(1), NAMES)
        for _ in range(40):
            guidance.learn_reward([("", "a"), ("a", "b")], 1.0)
            guidance.learn_reward([("", "c"), ("c", "d")], 0.0)
        assert guidance.value("", "a") > guidance.value("", "c") + 0.5
        assert guidance.value("a", "b") > guidance.value("c", "d") + 0.5
        assert sum(guidance.choose("", NAMES) == "a" for _ in range(200)) > 80

    def test_a_trap_is_left(self, kind: type[Dqn]) -> None:
        guidance = kind(Rng(2), NAMES)
        for _ in range(30):
            guidance.learn_reward([("", "a")], 1.0)
        liked = guidance.value("", "a")
        for _ in range(60):
            guidance.learn_reward([("", "a")], -1.0)
        assert guidance.value("", "a") < liked - 0.5

    def test_the_same_seed_the_same_choices(self, kind: type[Dqn]) -> None:
        one, other = kind(Rng(3), NAMES), kind(Rng(3), NAMES)
        for round_ in range(10):
            chosen = [("", one.choose("", NAMES))]
            assert chosen == [("", other.choose("", NAMES))]
            for guidance in (one, other):
                guidance.learn_reward(chosen, float(round_ % 2))

    def test_another_night_goes_on_with_it(self, kind: type[Dqn]) -> None:
        one, other = kind(Rng(4), NAMES), kind(Rng(5), NAMES)
        one.learn_reward([("", "a")] * 30, 1.0)
        assert other.restore(one.saved()) and other.value("", "a") == one.value("", "a")
        assert not kind(Rng(4), "xy").restore(one.saved())
