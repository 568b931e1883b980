"""Tests of the relations of table 4: each applies to some operators, and says how it changes a spelling."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Library, load


class RelationExample(NamedTuple):
    """An operator of the table, a library, and a part of the spelling that the relation produces there."""

    operator: str
    library: Library
    written: str


EXAMPLES = {
    1: RelationExample("linear", "torch", "nn.Parameter(w, requires_grad=False)"),
    2: RelationExample("linear", "torch", "nn.init.constant_(torch.empty_like(w), 0.25)"),
    3: RelationExample("linear", "tensorflow", "keras.initializers.Constant(0.25)(b.shape, b.dtype)"),
    4: RelationExample("relu", "torch", "F.relu(x)"),
    5: RelationExample("relu", "torch", "F.relu(x)"),
    6: RelationExample("max_pool2d", "torch", "x.contiguous(memory_format=torch.channels_last)"),
    7: RelationExample("relu", "torch", "F.relu(x.to(torch.float)).to(torch.double)"),
    8: RelationExample("embedding", "torch", "x.to(torch.int)"),
    9: RelationExample("add", "torch", "torch.stack([a, b]).sum(0)"),
    10: RelationExample("depthwise_conv2d_layer", "tensorflow", "keras.layers.DepthwiseConv2D(k)"),
    11: RelationExample("conv2d_same", "torch", "F.conv2d(F.pad(x, (k // 2,) * 4), w, b)"),
    12: RelationExample("crop2d", "tensorflow", "keras.layers.Cropping2D("),
    13: RelationExample("batch_norm_running_mean", "torch", "(1 - share) * mean + share * x.mean((0, 2, 3))"),
    14: RelationExample("batch_norm_layer", "torch", "nn.BatchNorm2d(C, eps=0.0078125, track_running_stats=True)"),
    15: RelationExample("batch_norm_layer", "torch", "nn.BatchNorm2d(C, eps=0.0078125, affine=True)"),
}


def test_there_are_the_fifteen_of_the_paper() -> None:
    assert list(RELATIONS) == list(range(1, 16))
    assert all(
        relation.statement.startswith("I1 ≡ I2 ") and EXAMPLES[relation.number] for relation in RELATIONS.values()
    )


@pytest.mark.parametrize(("number", "example"), EXAMPLES.items())
def test_examples(number: int, example: RelationExample) -> None:
    relation, operator = RELATIONS[number], load()[example.operator]
    assert relation.applies_to(operator, example.library)
    spelling = relation.transform(operator, example.library)
    assert example.written in f"{spelling.setup}\n{spelling.call}"
    assert spelling != operator.spelled[example.library]


@pytest.mark.parametrize("number", RELATIONS)
def test_none_speaks_of_a_library_that_lacks_the_operator(number: int) -> None:
    for operator in load().values():
        for library in set(LIBRARIES) - set(operator.spelled):
            assert not RELATIONS[number].applies_to(operator, library)


@pytest.mark.parametrize("number", RELATIONS)
def test_each_rewrites_six_spellings_at_least(number: int) -> None:
    pairs = [(each, library) for each in load().values() for library in LIBRARIES]
    assert sum(RELATIONS[number].applies_to(*pair) for pair in pairs) >= 6


def test_a_conversion_to_float_computes_in_single_precision_what_double_was_asked_for() -> None:
    relation, operator = RELATIONS[7], load()["tanh"]
    assert (relation.precisions, relation.reference) == (("float64",), "float32")
    assert relation.transform(operator, "jittor").call == "jt.tanh(x.float()).double()"
    # A product of float64 weights and such data is refused.
    assert not relation.applies_to(load()["linear"], "torch")


def test_the_table_spells_out_relations_that_ask_it_alone() -> None:
    told = {number for each in load().values() for others in each.also.values() for number in others}
    assert told == {5, 6, 9, 11, 12, 13}
    for each in load().values():
        for library, others in each.also.items():
            assert all(RELATIONS[number].applies_to(each, library) for number in others)
