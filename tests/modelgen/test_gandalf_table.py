"""Tests of the table of operators: an error in the table is reported with file, operator and field."""

from __future__ import annotations

from collections import Counter

import pytest
from gandalf_grounds import HEAD, SPELLED, operator

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf.table import LIBRARIES, load, read

FIELDS = "    takes: {x: 'float[..., D]'}\n    gives: same[..., D]\n"
WRONG = {
    "takes: {x: 'float[D'}": ("takes.x", "not a pattern"),
    "takes: {x: 'complex[D]'}": ("takes.x", "complex"),
    "takes: {x: 'float[D + 1]'}": ("takes.x", "names, numbers"),
    "takes: {x: 'float[..., ...]'}": ("takes.x", "names, numbers"),
    "takes: {x: 'float[x]'}": ("x", "two things"),
    "gives: same[..., E]": ("gives", "E is not defined"),
    "gives: other[..., D]": ("gives", "other"),
    "gives: same[f(D)]": ("gives", "Call"),
    "parameters: {k: 1-3}": ("parameters.k", "neither a range"),
    "parameters: {k: 3..1}": ("parameters.k", "empty"),
    "parameters: {k: []}": ("parameters.k", "choices is empty"),
    "parameters: {k: '= Q'}": ("parameters.k", "Q is not defined"),
    "parameters: {D: 1..3}": ("D", "two things"),
    "requires: ['Q > 1']": ("requires.0", "Q is not defined"),
    "weights: {w: 'uniform[D]'}": ("weights.w", "uniform"),
    "symbols: [middle]": ("symbols", "input"),
    "colour: red": ("colour", "not permitted"),
    "excluded: {torch: it rains}": ("torch", "either in `spelled` or in `excluded`"),
    "spelled: {torch: F.relu(x)}": ("tensorflow", "either in `spelled` or in `excluded`"),
    "spelled: {torch: F.relu(y), tensorflow: x, jittor: x}": ("spelled.torch", "y is not defined"),
    "spelled: {torch: F.relu(, tensorflow: x, jittor: x}": ("spelled.torch", "not valid Python"),
    "spelled: {torch: y = x, tensorflow: x, jittor: x}": ("spelled.torch", "one expression"),
    "spelled: {torch: {call: x, setup: x = 1}, tensorflow: x, jittor: x}": ("spelled.torch", "two things"),
    "also: {torch: {9: F.relu(y)}}": ("also.torch.9", "y is not defined"),
}


@pytest.mark.parametrize("field", WRONG)
def test_what_is_wrong_is_told_with_file_operator_and_field(field: str) -> None:
    name = field.partition(":")[0]
    lines = [line for line in (FIELDS + SPELLED).splitlines() if not line.strip().startswith(f"{name}:")]
    text = "\n".join([*lines, f"    {field}"])
    with pytest.raises(UserError) as raised:
        read(f"{HEAD}  tried:\n{text}\n", "wrong.yaml")
    place, why = WRONG[field]
    assert raised.value.problem.startswith("wrong.yaml: tried: ")
    assert place in raised.value.problem and why in raised.value.problem
    assert "\n" not in raised.value.problem


@pytest.mark.parametrize(
    "text", ["- a list\n", "family: lonely\n", "operators: {}\n", "family: x\noperators: {a: 3}\n"]
)
def test_a_file_that_is_no_family_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"wrong\.yaml: "):
        read(text, "wrong.yaml")


def test_a_file_that_is_no_yaml_is_refused_with_a_remedy_that_helps() -> None:
    with pytest.raises(UserError, match=r"wrong\.yaml is not valid YAML") as raised:
        read("family: [", "wrong.yaml")
    assert raised.value.remedy == "correct this entry; the other entries of the file show the form"


def test_fields_of_a_family_stand_in_each_operator_that_does_not_say_otherwise() -> None:
    each = "each: {takes: {x: 'int[...]'}, gives: 'same[...]'}\noperators:\n"
    first, second = read(f"family: f\n{each}  a:\n{SPELLED}  b:\n    gives: bool[...]\n{SPELLED}", "f.yaml")
    assert (first.takes, first.gives, second.gives) == ({"x": "int[...]"}, "same[...]", "bool[...]")


def test_an_operator_computes_element_by_element_if_no_axis_has_a_name() -> None:
    assert operator("    takes: {x: 'float[...]'}\n    gives: same[...]\n").pointwise
    assert not operator(FIELDS).pointwise


def test_there_are_as_many_operators_as_in_the_paper_and_more() -> None:
    """The paper has 309 operators (section 5.2), in at least two libraries each."""
    table = load()
    spelled = Counter(len(each.spelled) for each in table.values())
    assert spelled[1] == 0
    assert spelled[2] + spelled[3] >= 309
    assert spelled[3] >= 180


def test_every_domain_has_all_symbols() -> None:
    for domain in ("cv", "nlp", "asr"):
        fit = [each for each in load().values() if domain in each.domains]
        assert {symbol for each in fit for symbol in each.symbols} == {"input", "inner", "output"}


def test_what_is_no_float_may_end_a_graph() -> None:
    """If such an operator could not end a graph, a path that reaches integers or booleans might never end."""
    given = {each.name for each in load().values() if each.gives.startswith(("int", "bool"))}
    assert {name for name in given if "output" not in load()[name].symbols} == set()


def test_every_library_is_spelled_or_its_absence_explained() -> None:
    for each in load().values():
        assert {*each.spelled, *each.excluded} == set(LIBRARIES)
        assert all(len(reason) > 8 for reason in (*each.excluded.values(), *each.coarse.values()))
