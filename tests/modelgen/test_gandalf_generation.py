"""Tests of generation: every derivation of the grammar is a valid graph."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf.generation import MAX_ELEMENTS, Grammar, GraphOptions, alone, generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph, canonical, shaped
from fuzz_core.modelgen.gandalf.order import Order, mined, recorded, reviewed
from fuzz_core.modelgen.gandalf.shapes import ShapeError
from fuzz_core.modelgen.gandalf.table import Domain, load

COUNT = 1000
DOMAINS: tuple[Domain, ...] = ("cv", "nlp", "asr")


@pytest.fixture(scope="module", params=["cv", "nlp", "asr"])
def made(request: pytest.FixtureRequest) -> tuple[Grammar, list[Graph]]:
    domain: Domain = request.param
    operators = grammar(load(), ("torch", "tensorflow"), domain)
    return operators, [generate(operators, seed) for seed in range(COUNT // 3 + 1)]


def test_every_graph_is_valid(made: tuple[Grammar, list[Graph]]) -> None:
    for graph in made[1]:
        for each in shaped(graph, load()):
            assert 0 < len(each.result.shape) <= 5
            size = 1
            for length in each.result.shape:
                size *= length
            assert size <= MAX_ELEMENTS


def test_every_path_ends_in_an_output_operator_or_in_what_a_library_does_wrong(
    made: tuple[Grammar, list[Graph]],
) -> None:
    wrong = {name for name, each in load().items() if {"torch", "tensorflow"} & set(each.wrong)}
    for graph in made[1]:
        assert {name for name in _ends(graph) if "output" not in load()[name].symbols} <= wrong
        taken = {int(source[1:]) for node in graph.nodes for source in node.takes if source[0] == "n"}
        assert not any(graph.nodes[place].operator in wrong for place in taken)


def test_the_first_operator_takes_data(made: tuple[Grammar, list[Graph]]) -> None:
    for graph in made[1]:
        assert "input" in load()[graph.nodes[0].operator].symbols
        assert all(name.startswith("x") for name in graph.nodes[0].takes)


@pytest.mark.parametrize("domain", ["cv", "nlp", "asr"])
def test_binding_rules_name_every_follower_but_the_ends_of_paths(domain: Domain) -> None:
    table, libraries = load(), ("torch", "tensorflow")
    order = Order(mined(recorded(libraries), table), reviewed())
    operators = grammar(table, libraries, domain, order)
    ends, lengths = {each.name for each in operators.ends}, []
    for seed in range(100):
        graph = generate(operators, seed, options=GraphOptions(binding=True))
        lengths.append(len(graph.nodes))
        for node in graph.nodes:
            source = node.takes[0] if node.takes else ""
            if source[:1] == "n" and node.operator not in ends:
                before = table[graph.nodes[int(source[1:])].operator]
                assert order.named(before, [table[node.operator]]), (before.name, node.operator)
    assert max(lengths) > 6


def test_a_fault_behind_any_reviewed_production_rule_is_within_reach() -> None:
    table, rules = load(), reviewed()
    grammars = [grammar(table, ("torch", "tensorflow"), domain, Order(families=rules)) for domain in DOMAINS]

    def is_reached(operators: Grammar, rule: tuple[str, str]) -> bool:
        def guide(before: str, names: Sequence[str]) -> str:
            wanted = rule[1] if before and table[before].family == rule[0] else rule[0]
            liked = [name for name in names if table[name].family == wanted] or names
            return liked[derive(seed, before, len(names)) % len(liked)]

        for seed in range(40):
            nodes = generate(operators, seed, guide, GraphOptions(binding=True)).nodes
            met = [(nodes[int(node.takes[0][1:])], node) for node in nodes if node.takes[0].startswith("n")]
            if any((table[one.operator].family, table[next_.operator].family) == rule for one, next_ in met):
                return True
        return False

    every = [(family, follower) for family, followers in rules.items() for follower in sorted(followers)]
    assert [rule for rule in every if not any(is_reached(each, rule) for each in grammars)] == []


def test_the_same_seed_gives_the_same_graph(made: tuple[Grammar, list[Graph]]) -> None:
    operators, graphs = made
    assert [generate(operators, seed) for seed in range(50)] == graphs[:50]


def test_what_a_library_is_known_to_do_wrong_is_followed_by_nothing() -> None:
    relu, libraries = load()["relu"], ("torch", "tensorflow")
    table = {**load(), "relu": relu.model_copy(update={"wrong": {"tensorflow": "gives zeros"}})}
    symbols = grammar(table, libraries, "cv")
    graphs = [generate(symbols, seed) for seed in range(200)]
    met = [(graph, place) for graph in graphs for place, node in enumerate(graph.nodes) if node.operator == "relu"]
    assert met and all(place in graph.leaves for graph, place in met)
    assert "relu" in {each.name for each in grammar(table, ("torch",), "cv").inner}


def test_graphs_differ_fork_and_merge(made: tuple[Grammar, list[Graph]]) -> None:
    graphs = made[1]
    assert len({canonical(graph).model_dump_json() for graph in graphs}) > 0.99 * len(graphs)
    taken = [[name for node in graph.nodes for name in node.takes if name.startswith("n")] for graph in graphs]
    assert sum(len(each) > len(set(each)) for each in taken) > len(graphs) / 10
    merges = [node for graph in graphs for node in graph.nodes if sum(name[0] == "n" for name in node.takes) > 1]
    assert len(merges) > len(graphs) / 10


def test_nearly_every_operator_of_the_grammar_is_met(made: tuple[Grammar, list[Graph]]) -> None:
    operators, graphs = made
    met = {node.operator for graph in graphs for node in graph.nodes}
    known = operators.operators
    assert len(met) > 0.8 * len(known)


def test_a_guide_chooses_what_follows() -> None:
    asked: list[str] = []

    def guide(before: str, names: Sequence[str]) -> str:
        asked.append(before)
        return "relu" if "relu" in names else names[0]

    graph = generate(grammar(load(), ("torch",), "cv"), 1, guide, GraphOptions(least=5, most=5, branch=0.0, start=0.0))
    assert [node.operator for node in graph.nodes].count("relu") >= 4
    assert asked[0] == "" and asked[1] == graph.nodes[0].operator


def test_an_operator_alone_has_data_of_its_own() -> None:
    graph = alone(load()["add"], 0)
    assert [node.operator for node in graph.nodes] == ["add"]
    assert graph.nodes[0].takes == ("x0", "x1")


def test_an_operator_that_nothing_fits_is_refused() -> None:
    impossible = load()["relu"].model_copy(update={"requires": ("1 > 2",)})
    with pytest.raises(ShapeError, match="relu"):
        alone(impossible, 0)


def _ends(graph: Graph) -> set[str]:
    return {graph.nodes[place].operator for place in graph.leaves}
