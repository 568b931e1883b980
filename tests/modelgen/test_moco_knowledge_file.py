"""Tests of knowledge as YAML: a written file is read back equal, and written again in the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import examples
from hypothesis import Phase, given
from hypothesis import strategies as st

from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Origin, Parameter, ParameterRelation
from fuzz_core.modelgen.moco.knowledge.file import dumped, loaded, path_of, read, write

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
ORIGINS = st.builds(Origin, source=st.just("docstring"), text=TEXTS)
NUMBERS = st.tuples(st.floats(-1e9, 1e9) | st.integers(-9, 9))
BOUNDED = st.tuples(TEXTS, TEXTS, st.sampled_from(["minimum", "below"]), NUMBERS, TEXTS, st.just("docstring"))
LISTED = st.tuples(TEXTS, TEXTS, st.just("choices"), st.lists(TEXTS, min_size=1).map(tuple), TEXTS, st.just("llm"))
PARAMETERS = st.builds(
    Parameter,
    name=TEXTS,
    dtype=TEXTS,
    default=st.none() | TEXTS,
    constraints=st.lists((BOUNDED | LISTED).map(Constraint._make), max_size=3).map(tuple),
    binds=st.none() | st.integers(-3, 3),
)
RELATIONS = st.builds(ParameterRelation, parameters=st.just(("a", "b")), expression=TEXTS, origin=ORIGINS)
FACTS = st.builds(
    Facts,
    api=TEXTS,
    definition=TEXTS,
    parameters=st.lists(PARAMETERS, max_size=2).map(tuple),
    relations=st.lists(RELATIONS, max_size=1).map(tuple),
    ranks=st.lists(st.integers(0, 6), max_size=3).map(tuple),
    example=st.dictionaries(TEXTS, TEXTS, max_size=2),
    inputs=st.lists(st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=2).map(tuple),
    similar=st.dictionaries(TEXTS, st.floats(0, 1), max_size=2),
)
KNOWLEDGE = st.builds(
    Knowledge,
    library=TEXTS,
    build=TEXTS,
    embedding=TEXTS,
    apis=st.lists(FACTS, max_size=3).map(lambda each: {facts.api: facts for facts in each}),
)


@examples(50, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(KNOWLEDGE)
def test_what_is_written_is_read_back(knowledge: Knowledge) -> None:
    text = dumped(knowledge)
    assert loaded(text, "here") == knowledge
    assert dumped(loaded(text, "here")) == text


def test_the_order_in_which_apis_were_learnt_is_not_in_the_bytes() -> None:
    facts = {name: Facts(api=name) for name in ("b", "a")}
    made = [Knowledge(library="lib", build="1", apis=dict(order)) for order in (facts.items(), sorted(facts.items()))]
    assert dumped(made[0]) == dumped(made[1])


def test_a_lone_surrogate_becomes_an_escape(tmp_path: Path) -> None:
    path = path_of(tmp_path / "new", "lib-1")
    write(Knowledge(library="lib", build="1", apis={"a": Facts(api="a", definition="x\ud800y")}), path)
    assert read(path).apis["a"].definition == "x\\ud800y"
    assert [each.name for each in path.parent.iterdir()] == ["lib-1.yaml"]


def test_another_version_is_told_with_what_to_do() -> None:
    text = dumped(Knowledge(library="lib", build="1")).replace("version: 2", "version: 7")
    with pytest.raises(UserError, match="version 7, but this nightfuzz reads version 2") as caught:
        loaded(text, "k.yaml")
    assert "nightfuzz moco knowledge" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version: 2\nlibrary: lib\n", "build: Field required"),
        ("version: 2\nlibrary: lib\nbuild: b\napis: {a: {api: a, ranks: [x]}}\n", r"apis.a.ranks.0: .*integer"),
        ("version: [1\n", "not valid YAML"),
        ("- 1\n", "version None"),
        ("!!python/object/apply:os.system ['true']\n", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_named(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        loaded(text, "k.yaml")


def test_a_missing_file_is_told_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no"):
        read(tmp_path / "none.yaml")
