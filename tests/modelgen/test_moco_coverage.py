"""Tests that layers which take other values than arrays get into programs, and that trees seek unused apis."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from moco_grounds import ALL, CALLS, CONV, KNOWLEDGE, call, program

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Fill, Seq, Tensor, Then, prim
from fuzz_core.modelgen.expressions import meaning
from fuzz_core.modelgen.moco.block_test import CLASS, as_test, fit_to_seen_inputs, kinds
from fuzz_core.modelgen.moco.calls import bound, fitted, parse_call, with_value
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Parameter
from fuzz_core.modelgen.moco.knowledge.similarity import with_similar
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import OK, Arrival, Result
from fuzz_core.modelgen.moco.operators import Taste, fitting_in, replaced, replacement, similar
from fuzz_core.modelgen.moco.program import Call, Fit, assemble, open_at_first_block
from fuzz_core.modelgen.moco.tree import Tree, TreeOptions
from fuzz_core.programs.texts import fitted_class

LIBRARIES = ("torch", "tensorflow", "jittor")
IMAGE = Arrival((2, 6, 8, 8))
BILINEAR = Facts(
    api="torch.nn.Bilinear",
    parameters=tuple(Parameter(name=name, dtype="int", required=True) for name in ("in1", "in2", "out")),
    ranks=(2,),
    dtypes=("float32",),
    returns="tensor",
    example={"in1": "2", "in2": "3", "out": "4"},
    inputs=((8, 2), (8, 3)),
    takes=("((8, 2), 'float32')", "((8, 3), 'float32')"),
)
ADD = Facts(
    api="torch.nn.Add",
    inputs=((4, 8), (4, 8)),
    takes=("[((4, 8), 'float32'), ((4, 8), 'int64')]",),
    returns="tensor",
)
LOSS = Facts(api="torch.nn.NLLLoss", inputs=((3, 5), (3,)), dtypes=("float32",), returns="tensor")
UNSEEN = Facts(
    api="torch.nn.Unseen",
    parameters=(
        Parameter(name="size", dtype="int", required=True, seen=("7",)),
        Parameter(name="rate", dtype="float", required=True, seen=("0.25",)),
        Parameter(name="more"),
    ),
    ranks=(2,),
)
JOIN = Facts(
    api="torch.nn.functional.join",
    kind="function",
    parameters=(Parameter(name="tensors", required=True), Parameter(name="axis", dtype="int", required=True)),
    ranks=(2,),
)
# A loss of two tensors of one shape, and of weights with another shape.
DISTANCE = Facts(
    api="torch.nn.functional.distance",
    kind="function",
    parameters=(
        Parameter(name="input", dtype="tensor", required=True),
        Parameter(name="target", dtype="tensor", required=True),
        Parameter(name="weight", dtype="tensor"),
    ),
    ranks=(2,),
    returns="tensor",
    example={"target": "torch.full((5, 6), 0.5)", "weight": "torch.full((6,), 0.5)"},
    inputs=((5, 6),),
)
RNN = KNOWLEDGE.apis["torch.nn.LSTM"].model_copy(
    update={"inputs": ((3, 5, 4),), "example": {"input_size": "4", "hidden_size": "2"}}
)
WIDER = Knowledge(
    library="torch",
    build="",
    apis={facts.api: facts for facts in (*ALL, BILINEAR, ADD, LOSS, RNN, UNSEEN, JOIN)},
)
LOSSES = WIDER.model_copy(update={"apis": {**KNOWLEDGE.apis, DISTANCE.api: DISTANCE}})
TARGET = DISTANCE.example["target"]
EAGER = Taste(fitted=CLASS)
FITTED = Fit(CLASS, ("((8, 2), 'float32')", "[((8, 3), 'int64')]"))


def _shapes(text: str) -> list[tuple[int, ...]]:
    return [shape for shape, _ in kinds(meaning(text))]


def made(api: str, seeds: int = 60, taste: Taste = EAGER) -> set[Call]:
    """Returns the calls of an api that the operator AR makes of a convolution."""
    found = (
        replaced(CALLS[0], WIDER, IMAGE, Rng(seed), ModuleNames.of(program()).spelled, taste) for seed in range(seeds)
    )
    return {mutant.call for mutant in found if mutant is not None and mutant.new == api}


class DescribeFit:
    @pytest.mark.parametrize("api", ["torch.nn.Bilinear", "torch.nn.Add", "torch.nn.NLLLoss", "torch.nn.LSTM"])
    def test_layers_that_take_something_else_are_made_to_fit(self, api: str) -> None:
        assert made(api) and all(each.fit is not None for each in made(api))
        assert not made(api, taste=Taste())

    def test_it_has_the_inputs_with_which_the_layer_was_seen_to_work(self) -> None:
        (text,) = {each.written for each in made("torch.nn.Bilinear", 300) if "(2, 3, 4)" in each.written}
        assert text == "Fitted(nn.Bilinear(2, 3, 4), ((8, 2), 'float32'), ((8, 3), 'float32'))"
        (text,) = {each.written for each in made("torch.nn.Add")}
        assert text == "Fitted(nn.Add(), [((4, 8), 'float32'), ((4, 8), 'int64')])"

    def test_numbers_that_are_bound_are_those_of_its_own_inputs(self) -> None:
        assert {each.arguments[0].source for each in made("torch.nn.LSTM")} == {"4"}

    def test_where_only_the_first_type_is_known_the_others_may_be_indices(self) -> None:
        fits = {fit.inputs for seed in range(20) if (fit := fit_to_seen_inputs(LOSS, CLASS, Rng(seed)))}
        assert fits == {("((3, 5), 'float32')", f"((3,), '{other}')") for other in ("float32", "int64")}

    def test_what_is_too_large_is_left_out(self) -> None:
        assert fit_to_seen_inputs(LOSS.model_copy(update={"inputs": ((1000, 1000),)}), CLASS, Rng(1)) is None

    def test_an_api_that_was_never_seen_to_work_takes_no_place(self) -> None:
        offered = similar(CALLS[0], WIDER, IMAGE, EAGER)
        assert "torch.nn.Bilinear" in offered and not {UNSEEN.api, JOIN.api} & offered.keys()
        assert fitting_in(CALLS[0], KNOWLEDGE.apis[CALLS[0].api], UNSEEN, CLASS, Rng(1)) is None

    def test_what_fits_as_it_is_seldom_gets_inputs_of_its_own(self) -> None:
        pool = WIDER.apis["torch.nn.MaxPool2d"].model_copy(update={"inputs": ((2, 3, 4, 4),)})
        knowledge = WIDER.model_copy(update={"apis": {CONV.api: CONV, pool.api: pool}})
        taste = Taste(fitted=CLASS, between=0.2)
        calls = [replaced(CALLS[0], knowledge, IMAGE, Rng(seed), taste=taste) for seed in range(200)]
        counts = Counter(each is not None and each.call.fit is not None for each in calls)
        assert 20 < counts[True] < 70

    def test_a_layer_of_which_several_results_are_used_is_not_replaced_by_one_that_gives_one(self) -> None:
        own = WIDER.apis["torch.nn.LSTM"]
        assert "torch.nn.Bilinear" not in similar(call(own.api, "8", "2"), WIDER, Arrival((2, 3, 8)), EAGER)

    def test_a_function_with_further_tensors_has_them_as_it_was_seen_to_work(self) -> None:
        expected = f"Fitted(F.distance, ((5, 6), 'float32'), target={TARGET}, weight=torch.full((6,), 0.5))"
        found = (
            replaced(CALLS[0], LOSSES, IMAGE, Rng(seed), ModuleNames.of(program()).spelled, EAGER) for seed in range(60)
        )
        assert {each.call.written for each in found if each is not None and each.new == DISTANCE.api} == {expected}
        assert "torch.nn.functional.relu" not in similar(CALLS[0], LOSSES, IMAGE, EAGER)

    def test_functions_are_not_replaced_by_layers(self) -> None:
        found = similar(call("torch.nn.functional.relu", "x", applied=True), LOSSES, Arrival((2, 7)), EAGER)
        assert set(found) == {"torch.nn.functional.leaky_relu", DISTANCE.api}

    def test_in_the_place_of_a_function_tensors_as_large_as_the_input_are_that_again(self) -> None:
        own = call("torch.nn.functional.relu", "x", applied=True)
        changed = replacement(own, WIDER.apis[own.api], DISTANCE, Arrival((2, 7)))
        assert changed is not None
        assert [each.source for each in changed.arguments[1:]] == ["torch.full((2, 7), 0.5)"]
        again = fitted(changed, DISTANCE, (3, 9))
        assert [each.source for each in again.arguments[1:]] == ["torch.full((3, 9), 0.5)"]
        assert fitted(again, DISTANCE, (3, 9)) is again

    @pytest.mark.parametrize(
        "text", ["torch.full((5,), 0.5)", "torch.rand()", "other", "torch.full(size, 1)", "(5, 6)"]
    )
    def test_nothing_else_is_made_as_large_as_the_input(self, text: str) -> None:
        assert bound(DISTANCE.model_copy(update={"example": {"target": text}}), (2, 7)) == {}


class DescribeText:
    def test_it_is_read_back(self) -> None:
        each = call("torch.nn.Bilinear", "2", out="nn.Linear(3, 4)")._replace(fit=FITTED)
        assert parse_call(each.written, each.api, False) == each

    def test_a_function_is_read_back_and_called_with_its_inputs(self) -> None:
        each = call(JOIN.api, axis="1")._replace(fit=FITTED._replace(function=True))
        assert parse_call(each.written, each.api, False) == each
        changed = with_value(each, JOIN, "axis", "2")
        assert changed.written == f"Fitted({each.spelled}, {', '.join(FITTED.inputs)}, axis=2)"
        test = as_test(changed, JOIN, (100, 6, 28, 28), "float32", 7)
        assert test is not None and test.invocation.then is None and len(test.invocation.args) == 2
        assert test.invocation.kwargs == (("axis", prim(2)),)

    @pytest.mark.parametrize(
        "text",
        [
            "Wrapped(nn.Linear(2, 3))",
            "Wrapped(nn.Linear(2, 3), 4)",
            "Wrapped(nn.Linear(2, 3), [])",
            "W(f(2), ((2,), 3))",
            "W(f, ((2,), 3))",
        ],
    )
    def test_other_layers_around_layers_are_none(self, text: str) -> None:
        found = parse_call(text, "torch.nn.X", False)
        assert found.fit is None and found.written == text

    def test_it_stays_where_an_argument_changes(self) -> None:
        each = call("torch.nn.Bilinear", "2", "3", "4")._replace(fit=FITTED)
        assert with_value(each, BILINEAR, "out", "5").written.endswith("4), " + ", ".join(FITTED.inputs) + ")") is False
        assert with_value(each, BILINEAR, "out", "5").fit == FITTED

    def test_alone_it_is_called_with_what_it_takes(self) -> None:
        each = call("torch.nn.Bilinear", "2", "3", "4")._replace(fit=FITTED)
        test = as_test(each, BILINEAR, (100, 6, 28, 28), "float32", 7)
        fill = Fill("uniform", 0.0, 1.0, 7)
        index = Fill("values", data=bytes([0] * 8 + [1] + [0] * 7))
        inputs = (Tensor("float32", (8, 2), fill), Seq("list", (Tensor("int64", (8, 3), index),)))
        assert test is not None and test.invocation.then == Then("__call__", inputs)
        unknown = each._replace(fit=Fit(CLASS, ("((8, 2), 'qint8')",)))
        assert as_test(unknown, BILINEAR, (2,), "float32", 7) is None


class DescribePrograms:
    def test_only_those_with_such_a_layer_define_the_class(self) -> None:
        names = ModuleNames.of(program())
        fitted = CALLS[0]._replace(fit=FITTED)
        assert names.imports(CALLS) == ""
        assert names.imports([fitted]) == f"{fitted_class('torch')}\n\n"
        assert names.fitted == CLASS

    def test_the_class_has_a_name_of_its_own(self) -> None:
        seed = program((call("torch.nn.Linear", "4", "4"), CALLS[3]))
        pieces = ("class Fitted:\n    pass\n\n\n", *seed.template.pieces)
        names = ModuleNames.of(seed._replace(template=seed.template._replace(pieces=pieces)))
        assert names.fitted == "Fitted_" and "class Fitted_(" in names.fitting and "Fitted(" not in names.fitting

    def test_a_program_has_it_before_its_first_block(self) -> None:
        seed = open_at_first_block(program())
        names = ModuleNames.of(seed)
        calls = {block.number: block.call for block in seed.blocks}
        calls[3] = calls[3]._replace(fit=Fit(names.fitted, ("((4, 4), 'float32')",)))
        text = assemble(seed.template, calls, imports=names.imports(calls.values()))
        compile(text, "net.py", "exec")
        assert text.index("class Fitted(") < text.index("model = nn.Sequential(") < text.index("Fitted(nn.Dropout(")
        assert "Fitted(__made__(3, nn.Dropout)(" in assemble(seed.template, calls, watched=True)
        calls[3] = calls[3]._replace(fit=Fit(names.fitted, ("((4, 4), 'float32')",), function=True))
        assert "Fitted(__made__(3, nn.Dropout), ((4, 4), 'float32')" in assemble(seed.template, calls, watched=True)

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_every_library_has_one(self, library: str) -> None:
        tree = ast.parse(fitted_class(library))
        assert [each.name for each in tree.body if isinstance(each, ast.ClassDef)] == [CLASS]
        assert dialect_of(library).imports[0] in fitted_class(library).split("\n") or library == "jittor"
        assert fitted_class("pandas") == ""


class DescribeWheel:
    def test_no_api_of_its_kind_is_out_of_reach(self) -> None:
        blind = KNOWLEDGE.model_copy(
            update={"apis": {**KNOWLEDGE.apis, CONV.api: CONV.model_copy(update={"similar": {"torch.nn.Linear": 0.3}})}}
        )
        found = similar(CALLS[0], blind, IMAGE)
        assert found["torch.nn.Linear"] == 0.3 and found["torch.nn.Dropout"] == 0.15

    @given(st.sets(st.sampled_from(sorted(WIDER.apis))), st.floats(1, 100))
    def test_what_has_not_run_is_likelier(self, ran: set[str], fresh: float) -> None:
        plain = similar(CALLS[0], WIDER, IMAGE, EAGER)
        found = similar(CALLS[0], WIDER, IMAGE, EAGER._replace(ran=ran, fresh=fresh))
        assert found == {api: weight if api in ran else weight * fresh for api, weight in plain.items()}

    def test_what_fails_is_less_likely_each_time_and_never_less_than_it_is_similar(self) -> None:
        taste = Taste(fresh=8.0, failed={"torch.nn.Linear": 3, "torch.nn.MaxPool2d": 30})
        plain, found = similar(CALLS[0], KNOWLEDGE, IMAGE), similar(CALLS[0], KNOWLEDGE, IMAGE, taste)
        times = {api: round(found[api] / plain[api], 6) for api in plain}
        assert times["torch.nn.Linear"] == 2 and times["torch.nn.MaxPool2d"] == 1 and times["torch.nn.Dropout"] == 8

    def test_functions_do_not_take_the_places_of_layers_in_what_is_kept(self) -> None:
        listed = [each.model_copy(update={"inputs": ((2,),), "similar": {}}) for each in ALL]
        for facts in with_similar(listed, None):
            assert all(KNOWLEDGE.apis[api].kind == facts.kind for api in facts.similar)


def grown(options: TreeOptions, seed: int, count: int) -> list[str]:
    """Returns the apis of the first nodes of a tree in which all blocks fit, in the order of execution."""
    tree = Tree(program(), WIDER, seed, options)
    found: list[str] = []
    while len(found) < count and (node := tree.take()) is not None:
        tree.tell(node.number, Result(OK, arrives={block.number: IMAGE for step in tree.steps for block in step}))
        found.append(node.api)
    return found


class DescribeTrees:
    def test_a_tree_has_all_apis_soon(self) -> None:
        plain = TreeOptions(fresh=1.0, favoured=1.0, fitted=0.0, times_bc=0, times_ev=0)
        few = [len(set(grown(plain, seed, 60))) for seed in range(6)]
        many = [len(set(grown(TreeOptions(times_bc=0, times_ev=0), seed, 60))) for seed in range(6)]
        assert sum(many) > sum(few) and min(many) >= 8

    def test_each_tree_favours_some_and_many_trees_have_favoured_them_all(self) -> None:
        apis = [f"torch.nn.L{number}" for number in range(64)]
        lots = [Taste(fresh=8.0, favoured=8.0, lot=lot) for lot in range(64)]
        liked = [{api for api in apis if taste.times(api) == 64.0} for taste in lots]
        assert all(0 < len(each) < 24 for each in liked) and set().union(*liked) == set(apis)
        known = lots[0]._replace(ran=apis[:1], failed={apis[1]: 99})
        assert known.times(apis[0]) == known.times(apis[1]) == 1.0

    @examples(10)
    @given(st.integers(0, 1 << 30), st.integers(1, 40))
    def test_it_grows_the_same_wherever_it_stopped(self, seed: int, stop: int) -> None:
        whole = Tree(program(), WIDER, seed)
        parts = Tree(program(), WIDER, seed)
        for step in range(60):
            if step == stop:
                parts = Tree(program(), WIDER, seed, nodes=parts.nodes)
            for tree in (whole, parts):
                node = tree.take()
                assert node is not None
                arrives = {block.number: IMAGE for each in tree.steps for block in each}
                tree.tell(node.number, Result(OK if node.number % 3 < 2 else "misfit", arrives=arrives))
        assert whole.nodes == parts.nodes
