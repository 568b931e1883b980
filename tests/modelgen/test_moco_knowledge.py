"""Tests of facts about apis, read from signatures, docstrings and recorded calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from signatures import api_of

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.values import NONE, Invocation, Prim, Seq, Tensor, Then, prim
from fuzz_core.modelgen.moco.facts import Facts, Parameter
from fuzz_core.modelgen.moco.knowledge.extraction import (
    ApiEvidence,
    Homes,
    ParameterEntry,
    definition_of,
    facts_of,
    homes,
    of_homes,
    told,
)
from fuzz_core.modelgen.moco.knowledge.similarity import correctness, with_similar

DOC = """Applies a *gated* thing over an input. It is made of :class:`~lib.nn.Linear` layers.

The rest is of no interest.

Args:
    size (int): number of features
    rate (float, optional): how much. Default: ``0.5``
    mode (str): one of "a" and "b".
        Default: ``'a'``
Shape:
    - Input: (N, size)
"""


def spell(value: object) -> str:
    assert isinstance(value, Prim | Seq)
    return repr(value.value) if isinstance(value, Prim) else f"({', '.join(map(spell, value.items))})"


def layer(arguments: dict[str, Prim | Seq], *inputs: Tensor | Invocation) -> Invocation:
    then = Then("__call__", inputs) if inputs else None
    return Invocation("lib.nn.Gate", (), tuple(arguments.items()), then)


def facts(*calls: Invocation, definition: str = "lib.nn.Gate(size, rate=0.5, mode='a')", **more: object) -> Facts:
    api = api_of(definition, "class", DOC)
    return facts_of(ApiEvidence(api, calls=calls, spell=spell, **more))  # type: ignore[arg-type]


def test_a_signature_that_names_nothing_is_read_from_the_docstring() -> None:
    api = api_of("lib.nn.Gate(*args, **kwargs)", "class", DOC)
    call = Invocation(api.name, (prim(3), prim(0.25)), (), Then("__call__", (Tensor("float32", (2, 3)),)))
    found = facts_of(ApiEvidence(api, calls=[call], spell=spell))
    assert [(p.name, p.dtype, p.default, p.required) for p in found.parameters] == [
        ("size", "int", None, True),
        ("rate", "float", "0.5", False),
        ("mode", "str", "'a'", False),
    ]
    assert found.example == {"size": "3", "rate": "0.25"}


def test_entries_of_every_section_count_and_a_default_is_a_constant() -> None:
    doc = """A pool.

    Args:
        size (int): the size
        stride: the stride, an int. Default: :attr:`size`

    Keyword args:
        dtype (lib.dtype, optional): the type
        M: int. Default is ``4``.
    """
    assert told(doc) == [
        ParameterEntry("size", "int", "integer"),
        ParameterEntry("stride", "int", "integer"),
        ParameterEntry("dtype", "dtype", "", "None"),
        ParameterEntry("M", "int", "integer", "4"),
    ]


def test_the_definition_is_the_first_sentences_without_markup_and_signature() -> None:
    assert definition_of(DOC) == "Applies a *gated* thing over an input. It is made of lib.nn.Linear layers."
    assert definition_of("f(x, y) -> Tensor\n\nDoes ``this``.\nAnd that.") == "Does this. And that."
    assert definition_of("") == ""


def test_the_example_is_the_plainest_call_that_was_applied_to_a_tensor() -> None:
    rich = layer({"size": prim(4), "mode": prim("b")}, Tensor("float32", (1, 4)))
    plain = layer({"size": prim(5)}, Tensor("float32", (2, 5)))
    pair = layer({"size": prim(1)}, Tensor("float32", (2, 1)), Tensor("float32", (2, 1)))
    found = facts(layer({"size": prim(9)}), rich, pair, plain)
    assert (found.example, found.inputs) == ({"size": "5"}, ((2, 5),))
    assert (found.ranks, found.dtypes) == ((2,), ("float32",))
    size = found.parameter("size")
    assert size is not None and size.seen == ("1", "4", "5", "9")


def test_what_was_never_applied_has_no_example() -> None:
    found = facts(layer({"size": prim(9)}))
    assert found.inputs == () and found.example == {} and found.ranks == ()


def test_a_symbolic_input_tells_ranks_but_is_no_example() -> None:
    symbolic = Invocation("lib.Input", (Seq("tuple", (NONE, prim(8), prim(3))),), (("dtype", Prim("str", "float32")),))
    found = facts(layer({"size": prim(3)}, symbolic))
    assert found.ranks == (3,) and found.inputs == ()


def test_of_several_inputs_each_has_its_type() -> None:
    found = facts(layer({"size": prim(3)}, Tensor("float32", (2, 3)), Tensor("int64", (2,))))
    assert found.takes == ("((2, 3), 'float32')", "((2,), 'int64')")
    assert facts(layer({"size": prim(3)}, Tensor("float32", (2, 3)))).takes == ()


def test_bounds_keep_their_words_and_choices_are_values() -> None:
    told = [
        Constraint("lib.nn.Gate", "rate", "minimum", (0.0,), "between 0 and 1", "docstring"),
        Constraint("lib.nn.Gate", "rate", "below", (1.0,), "between 0 and 1", "docstring"),
        Constraint("lib.nn.Gate", "mode", "choices", ("a", "b", "none"), "a, b or None", "annotation"),
    ]
    found = facts(constraints=told)
    rate, mode = found.parameter("rate"), found.parameter("mode")
    assert rate is not None and mode is not None
    assert rate.bounds == tuple(told[:2])
    assert mode.choices == ("a", "b", None)


def test_a_quoted_none_is_a_text() -> None:
    told = [Constraint("lib.nn.Gate", "mode", "choices", ("none", "sum"), "one of 'none' | 'sum'", "docstring")]
    mode = facts(constraints=told).parameter("mode")
    assert mode is not None and mode.choices == ("none", "sum")


def test_a_number_that_was_seen_with_a_fraction_is_no_integer() -> None:
    found = facts(layer({"size": prim(3), "rate": prim(0.5)}), definition="lib.nn.Gate(size, rate=0)")
    rate = found.parameter("rate")
    assert rate is not None and (rate.dtype, rate.structure) == ("float", "")


def test_a_function_has_its_input_first_and_not_in_its_example() -> None:
    api = api_of("lib.nn.functional.gate(x, rate=1)", "function")
    calls = [Invocation(api.name, (Tensor("float32", (2, 3)), prim(2))), Invocation(api.name, (prim(1), prim(2)))]
    found = facts_of(ApiEvidence(api, calls=calls, spell=spell))
    assert found.kind == "function" and found.example == {"rate": "2"} and found.inputs == ((2, 3),)
    assert found.parameters[0].dtype == "tensor"


def test_layers_live_where_most_classes_are_applied_to_tensors() -> None:
    classes = [Api(f"lib.nn.{name}", "class") for name in ("Conv", "BatchNorm", "Relu", "Never")]
    others = [Api("lib.data.Loader", "class"), Api("lib.data.Transform", "class")]
    functions = [Api(f"lib.ops.{name}", "function") for name in ("conv", "batch_norm", "sum")]
    far = [Api(f"lib.{name}", "function") for name in ("relu", "sin", "cos", "tan", "exp", "log", "conv")]
    apis = [*classes, *others, *functions, *far, Api("lib.Tensor.relu", "method")]
    found = homes(apis, {"lib.nn.Conv", "lib.nn.Relu", "lib.data.Transform"})
    assert found == Homes("lib.nn", "lib.ops")
    assert {api.name for api in of_homes(apis, found)} == {api.name for api in (*classes, *functions)}


def test_nothing_recorded_means_no_home() -> None:
    apis = [Api("lib.nn.Conv", "class"), Api("lib.conv", "function")]
    assert list(of_homes(apis, homes(apis, ()))) == []


def facts_named(name: str, *dtypes: str, works: bool = True) -> Facts:
    parameters = tuple(Parameter(name=f"p{place}", dtype=dtype) for place, dtype in enumerate(dtypes))
    return Facts(api=name, definition=name, parameters=parameters, inputs=((2, 2),) if works else ())


class Rows:
    """An encoder of the four definitions of a test."""

    model = "rows"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the row of each text."""
        rows = {"a": (1.0, 0.0), "b": (0.6, 0.8), "c": (0.0, 1.0), "d": (1.0, 0.0)}
        return np.array([rows[text] for text in texts], np.float32)


def test_similarity_is_the_mean_of_meaning_and_of_parameters_and_only_of_what_works() -> None:
    listed = [
        facts_named("a", "int", "int"),
        facts_named("b", "int", "float"),
        facts_named("c", "str"),
        facts_named("d", "int", "int", works=False),
    ]
    found = with_similar(listed, Rows())
    assert found[0].similar == {"b": 0.55}
    assert found[3].similar == {"a": 1.0, "b": 0.55}
    assert with_similar(listed, None)[0].similar == {"b": 0.25}
    assert len(with_similar(listed, None, kept=1)[3].similar) == 1
    said = ("Applies a convolution over an image.", "Applies an image convolution.", "Computes a loss.", "")
    worded = [each.model_copy(update={"definition": text}) for each, text in zip(listed, said, strict=True)]
    alike = with_similar([each.model_copy(update={"parameters": ()}) for each in worded], None)[0].similar
    assert alike["b"] > alike["c"] > 0.5


@pytest.mark.parametrize(
    ("reference", "hypothesis", "rate"),
    [
        ("abcd", "abcd", 1.0),
        ("abcd", "abxd", 0.75),
        ("abcd", "abcdef", 1.0),
        ("abcd", "ab", 0.5),
        ("", "", 1.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
    ],
)
def test_word_correctness_counts_words_that_are_found(reference: str, hypothesis: str, rate: float) -> None:
    assert correctness(tuple(reference), tuple(hypothesis)) == rate


@pytest.mark.parametrize(
    ("calls", "axis"),
    [
        ([(3, (2, 3, 9)), (5, (1, 5))], 1),
        ([(3, (2, 3)), (5, (1, 4, 5))], -1),
        ([(3, (2, 3)), (3, (1, 3))], None),
        ([(3, (2, 3)), (1, (1, 1))], None),
        ([(3, (2, 3)), (5, (1, 4))], None),
        ([], None),
    ],
)
def test_a_number_that_was_the_size_of_an_axis_in_every_call_is_bound_to_it(
    calls: list[tuple[int, tuple[int, ...]]], axis: int | None
) -> None:
    found = facts(*(layer({"size": prim(size)}, Tensor("float32", shape)) for size, shape in calls))
    size = found.parameter("size")
    assert size is not None and size.binds == axis
