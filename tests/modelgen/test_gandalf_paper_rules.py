"""Production rules of definition 2: `--paper` makes graphs by each kind of rule."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from fuzz_core.campaign.gandalf.engine import order_of
from fuzz_core.campaign.gandalf.experience import GUIDANCE
from fuzz_core.cli.engines import graphs_options
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.generation import generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.guidance import Noting
from fuzz_core.modelgen.gandalf.table import LIBRARIES, load

TABLE = load()
GRAPHS = 100


class Rule(NamedTuple):
    """Two operators of which the second follows the first."""

    before: str
    after: str
    operand: int = 0  # the input of the second that takes the first's result


RULES = {
    "of programs, behind an input operator": Rule("linear", "tanh"),
    "of programs, between inner operators": Rule("relu", "max_pool2d"),
    "of the review, behind an operator without one of programs": Rule("log_softmax", "add"),
    "repeated": Rule("conv2d", "conv2d"),
    "injected into another path": Rule("tanh", "add", 1),
    "of programs, for an output operator": Rule("add", "binary_cross_entropy_logits"),
    "none, for an output operator": Rule("gray", "tanh"),
}


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    """Graphs of a few operators, as `--paper` makes them."""
    options = graphs_options(Settings(engine="gandalf", paper=True))
    names = {each for rule in RULES.values() for each in (rule.before, rule.after)}
    few = {name: each for name, each in TABLE.items() if name in names}
    operators = grammar(few, LIBRARIES, "cv", order_of(few, LIBRARIES))
    guide = Noting(GUIDANCE[options.guidance](Rng(1), sorted(operators.operators)))
    found = []
    for number in range(GRAPHS):
        found.append(generate(operators, derive(1, number), guide, options.growth))
        guide.guidance.learn_reward(guide.taken(), 0.0)
    return found


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_each_kind_of_rule_is_applied(graphs: list[Graph], rule: Rule) -> None:
    def follows(graph: Graph) -> bool:
        return any(
            node.operator == rule.after
            and (taken := node.takes[rule.operand])[0] == "n"
            and graph.nodes[int(taken[1:])].operator == rule.before
            for node in graph.nodes
        )

    assert any(map(follows, graphs))


def test_every_path_ends_with_an_output_operator(graphs: list[Graph]) -> None:
    ends = {graph.nodes[place].operator for graph in graphs for place in graph.leaves}
    assert all("output" in TABLE[name].symbols for name in ends)
