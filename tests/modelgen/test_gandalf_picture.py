"""Tests of pictures of graphs, made from the programs that compute them."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.modelgen.gandalf.generation import generate, grammar
from fuzz_core.modelgen.gandalf.picture import DATA, LAST, svg
from fuzz_core.modelgen.gandalf.renderer import render
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Library, load

SPACE = "{http://www.w3.org/2000/svg}"


def drawn(program: str) -> ElementTree.Element:
    picture = svg(program)
    assert picture is not None and picture == svg(program)
    return ElementTree.fromstring(picture)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_node_and_what_it_takes_is_there(library: Library) -> None:
    symbols = grammar(load(), LIBRARIES, "asr")
    for seed in range(10):
        graph = generate(symbols, seed)
        picture = drawn(render(graph, load(), library))
        texts = [str(each.text) for each in picture.iter(f"{SPACE}text")]
        names = [each.partition(":")[0] for each in texts]
        expected = [f"x{place}" for place in range(len(graph.inputs))] + [
            f"n{place}" for place in range(len(graph.nodes))
        ]
        assert sorted(names) == sorted(expected)
        lines = len(list(picture.iter(f"{SPACE}line")))
        assert lines == sum(len(set(node.takes)) for node in graph.nodes)
        colours = [each.get("fill") for each in picture.iter(f"{SPACE}rect")]
        assert colours.count(DATA) == len(graph.inputs) and colours.count(LAST) == 1


def test_text_of_programs_stays_text() -> None:
    picture = drawn("x0 = torch.zeros((1, 2))\nn0 = f(x0, '<script>&')")
    assert [each.text for each in picture.iter(f"{SPACE}text")] == ["x0: data (1, 2)", "n0: f"]
    assert "<script>" not in (svg("n0 = '<script>&'") or "")


@pytest.mark.parametrize("program", ["", "def (", "x = 1", "x0 = f(1)", "\0"])
def test_what_has_no_nodes_has_no_picture(program: str) -> None:
    assert svg(program) is None


@given(st.text(max_size=80))
def test_any_text_has_one_or_none(text: str) -> None:
    assert svg(text) is None or str(svg(text)).startswith("<svg")
