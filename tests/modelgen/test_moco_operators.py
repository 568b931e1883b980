from collections import Counter

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from moco_grounds import (
    BLOCKS,
    CALLS,
    CONV,
    DROPOUT,
    KNOWLEDGE,
    LEAKY,
    LINEAR,
    POOL,
    POSITIVE,
    RELU,
    SLOPED,
    call,
    known,
    program,
    said,
)

from fuzz_core.ir.constraints import KINDS
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Then
from fuzz_core.modelgen.expressions import meaning
from fuzz_core.modelgen.moco.calls import broken, value
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Parameter, documented_constraints, is_legal, is_within
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import Arrival
from fuzz_core.modelgen.moco.operators import checks, generated, replaced, turned
from fuzz_core.modelgen.moco.program import INPUT, Call

seeds = st.integers(0, 2**32)
IMAGE = Arrival((2, 3, 8, 8))
blocks = st.sampled_from(BLOCKS)


def others_same(before: Call, after: Call, name: str) -> bool:
    """Return whether two calls differ in one parameter at most."""
    facts = known(before)
    return all(
        value(before, facts, p.name) == value(after, facts, p.name) for p in facts.parameters if p.name != name
    ) and before._replace(arguments=()) == after._replace(arguments=())


class DescribeReplacement:
    @given(
        blocks, seeds, st.sampled_from([(5,), (2, 64), (2, 3, 8), (2, 3, 8, 8)]), st.sampled_from(["float32", "int64"])
    )
    def test_the_new_api_takes_what_arrives(self, each: Call, seed: int, shape: tuple[int, ...], dtype: str) -> None:
        mutant = replaced(each, KNOWLEDGE, Arrival(shape, dtype), Rng(seed))
        if mutant is None:
            return
        facts = KNOWLEDGE.apis[mutant.new]
        assert mutant.positive and mutant.operator == "AR" and mutant.old == each.api != mutant.new == mutant.call.api
        assert len(shape) in facts.ranks and dtype in (facts.dtypes or [dtype])
        assert facts.kind == known(each).kind and facts.returns == "tensor"
        assert not broken(mutant.call, facts)
        for parameter in facts.parameters:
            source = value(mutant.call, facts, parameter.name)
            if parameter.binds is not None:
                assert source == str(shape[parameter.binds])
            elif source is not None:
                assert is_legal(parameter, meaning(source))
            assert not parameter.required or source is not None or parameter.name == "input"

    def test_without_knowing_what_arrives_ranks_are_compared(self) -> None:
        found = {replaced(CALLS[0], KNOWLEDGE, None, Rng(seed)) for seed in range(40)}
        assert {mutant and mutant.new for mutant in found} == {
            *("torch.nn.ConvTranspose2d", "torch.nn.MaxPool2d", "torch.nn.Linear", "torch.nn.Dropout")
        }

    def test_parameters_are_taken_over_by_name_and_bound_ones_from_the_shape(self) -> None:
        block = call("torch.nn.Conv2d", "6", "16", "(3, 5)", stride="2", padding_mode="'reflect'")
        made = {m.new: m.call for s in range(60) if (m := replaced(block, KNOWLEDGE, Arrival((2, 4, 8, 8)), Rng(s)))}
        assert made["torch.nn.ConvTranspose2d"].written == "torch.nn.ConvTranspose2d(4, 16, (3, 5), stride=2)"
        assert made["torch.nn.MaxPool2d"].written == "torch.nn.MaxPool2d((3, 5), stride=2)"
        assert made["torch.nn.Linear"].written == "torch.nn.Linear(8, 16)"

    def test_parameters_are_taken_over_by_position_and_dtype(self) -> None:
        block = call("torch.nn.Linear", "64", "24")
        lstm = KNOWLEDGE.apis["torch.nn.LSTM"].model_copy(update={"returns": "tensor"})
        known_now = KNOWLEDGE.model_copy(update={"apis": {"torch.nn.Linear": LINEAR, "torch.nn.LSTM": lstm}})
        mutant = replaced(block, known_now, Arrival((2, 7)), Rng(1))
        assert mutant is not None and mutant.call.written == "torch.nn.LSTM(7, 24)"

    def test_an_illegal_value_is_not_taken_over(self) -> None:
        block = call("torch.nn.Conv2d", "6", "16", "3", stride="0")
        made = {m.new: m.call for s in range(60) if (m := replaced(block, KNOWLEDGE, Arrival((2, 4, 8, 8)), Rng(s)))}
        assert made["torch.nn.ConvTranspose2d"].written == "torch.nn.ConvTranspose2d(4, 16, 3)"

    def test_relations_hold_afterwards(self) -> None:
        block = call("torch.nn.Conv2d", "6", "9", "3", groups="3")
        made = {m.new: m.call for s in range(60) if (m := replaced(block, KNOWLEDGE, Arrival((2, 4, 8, 8)), Rng(s)))}
        assert made["torch.nn.ConvTranspose2d"].written == "torch.nn.ConvTranspose2d(4, 9, 3)"

    def test_functions_keep_the_activation(self) -> None:
        block = call("torch.nn.functional.relu", INPUT, applied=True, inplace="True")
        mutant = replaced(block, KNOWLEDGE, Arrival((2, 7)), Rng(1), ModuleNames.of(program()).spelled)
        assert mutant is not None and mutant.call.written == "F.leaky_relu(__input__, inplace=True)"

    @pytest.mark.parametrize(("given_one", "expected"), [({}, "scale_factor=2"), ({"size": "9"}, "size=9")])
    def test_of_alternatives_the_one_that_worked_is_given(self, given_one: dict[str, str], expected: str) -> None:
        size = Parameter(name="size", dtype="int", default="None")
        factor = size.model_copy(update={"name": "scale_factor"})
        made = {"kind": "class", "ranks": (2,), "returns": "tensor"}
        resize = Facts(api="torch.nn.Upsample", parameters=(size, factor), example={"scale_factor": "2"}, **made)
        own = Facts(api="torch.nn.X", parameters=(size,), similar={"torch.nn.Upsample": 1.0}, **made)
        both = Knowledge(library="torch", build="", apis={facts.api: facts for facts in (own, resize)})
        mutant = replaced(call("torch.nn.X", **given_one), both, Arrival((2, 3)), Rng(1))
        assert mutant is not None and mutant.call.written == f"torch.nn.Upsample({expected})"

    def test_what_an_api_was_seen_to_work_without_is_not_required(self) -> None:
        parameters = (Parameter(name="args", required=True), Parameter(name="rate", dtype="float", required=True))
        made = {"ranks": (2,), "returns": "tensor"}
        same = Facts(api="torch.nn.Same", parameters=parameters, example={"rate": "0.5"}, inputs=((2, 3),), **made)
        both = Knowledge(
            library="torch", build="", apis={"torch.nn.X": Facts(api="torch.nn.X", **made), same.api: same}
        )
        mutant = replaced(call("torch.nn.X"), both, Arrival((2, 3)), Rng(1))
        assert mutant is not None and mutant.call.written == "torch.nn.Same(rate=0.5)"

    def test_a_batch_is_no_sample(self) -> None:
        pool, samples = Arrival((2, 8, 8)), {"torch.nn.Conv2d", "torch.nn.MaxPool2d"}
        block = call("torch.nn.Dropout")
        for seed in range(40):
            mutant = replaced(block, KNOWLEDGE, pool, Rng(seed))
            assert mutant is not None and mutant.new not in samples
        assert {m.new for s in range(80) if (m := replaced(block, KNOWLEDGE, IMAGE, Rng(s)))} > samples

    def test_an_api_that_nobody_has_seen_work_takes_nobodys_place(self) -> None:
        blind = {api: facts.model_copy(update={"returns": ""}) for api, facts in KNOWLEDGE.apis.items()}
        assert replaced(CALLS[0], KNOWLEDGE.model_copy(update={"apis": blind}), IMAGE, Rng(1)) is None
        assert replaced(CALLS[0]._replace(api="torch.nn.Unheard"), KNOWLEDGE, IMAGE, Rng(1)) is None

    @given(st.dictionaries(st.text(max_size=3), st.floats(0.01, 1), min_size=1, max_size=6))
    @examples(20)
    def test_the_wheel_turns_by_similarity(self, wheel: dict[str, float]) -> None:
        count = 2000
        drawn = Counter(turned(wheel, Rng(seed * 7919)) for seed in range(count))
        for name, weight in wheel.items():
            expected = weight / sum(wheel.values())
            assert abs(drawn[name] / count - expected) < 5 * (expected * (1 - expected) / count) ** 0.5 + 0.02


class DescribeRandomGeneration:
    @given(blocks, seeds)
    def test_one_parameter_gets_another_legal_value(self, each: Call, seed: int) -> None:
        facts = known(each)
        mutant = generated(each, facts, Rng(seed))
        assert mutant is not None and mutant.positive and mutant.operator == "RG"
        parameter = facts.parameter(mutant.parameter)
        assert parameter is not None and parameter.binds is None and parameter.dtype != "tensor"
        assert others_same(each, mutant.call, mutant.parameter)
        assert mutant.new == value(mutant.call, facts, mutant.parameter) != mutant.old
        assert is_legal(parameter, meaning(mutant.new)) and not broken(mutant.call, facts)
        assert is_within(parameter.bounds, meaning(mutant.new))

    @given(seeds, st.none() | st.integers(-9, 9), st.none() | st.integers(-9, 9), st.booleans(), st.booleans())
    def test_values_are_drawn_within_any_bounds(
        self, seed: int, least: int | None, width: int | None, whole: bool, is_open: bool
    ) -> None:
        most = None if width is None else (least or 0) + abs(width) + 3
        lower, upper = ("above", "below") if is_open else ("minimum", "maximum")
        bounds = tuple(said(kind, float(end)) for kind, end in ((lower, least), (upper, most)) if end is not None)
        parameter = Parameter(name="n", dtype="int" if whole else "float", required=True, constraints=bounds)
        facts = Facts(api="torch.f", parameters=(parameter,))
        inside = str((least or 0) + 1 if most is None or least is not None else most - 1)
        mutant = generated(call("torch.f", inside), facts, Rng(seed))
        if least is not None or most is not None:
            assert mutant is not None and is_within(bounds, meaning(mutant.new))
            assert abs(meaning(mutant.new)) <= 128

    def test_every_choice_and_both_booleans_come_up(self) -> None:
        made = [m for seed in range(300) if (m := generated(CALLS[0], CONV, Rng(seed)))]
        assert {m.new for m in made if m.parameter == "padding_mode"} == {"'reflect'", "'circular'"}
        assert {m.new for m in made if m.parameter == "bias"} == {"False"}
        assert not any(m.parameter == "in_channels" for m in made)
        assert any("(" in m.new for m in made if m.parameter == "kernel_size")

    def test_without_bounds_values_stay_near_what_worked(self) -> None:
        made = {
            m.new for seed in range(300) if (m := generated(call("torch.nn.Linear", "64", "10"), LINEAR, Rng(seed)))
        }
        sizes = {meaning(source) for source in made} - {True, False}
        assert sizes and all(0 < size <= 128 for size in sizes)

    def test_a_relation_is_never_broken(self) -> None:
        block = call("torch.nn.Conv2d", "6", "9", "3", groups="3")
        for seed in range(200):
            mutant = generated(block, CONV, Rng(seed))
            assert mutant is not None and not broken(mutant.call, CONV)

    def test_nothing_where_nothing_can_vary(self) -> None:
        facts = Facts(api="torch.f", parameters=(Parameter(name="n", dtype="int", required=True, binds=1),))
        assert generated(call("torch.f", "3"), facts, Rng(1)) is None


class DescribeBoundaryChecks:
    @given(blocks, seeds)
    def test_one_parameter_is_outside_of_a_documented_bound(self, each: Call, seed: int) -> None:
        facts = known(each)
        for mutant in checks(each, facts, Rng(seed)):
            parameter = facts.parameter(mutant.parameter)
            assert parameter is not None and parameter.binds is None
            assert not mutant.positive and mutant.operator == "BC" and mutant.why == mutant.why.strip() != ""
            assert others_same(each, mutant.call, mutant.parameter)
            assert not is_legal(parameter, meaning(mutant.new))
            assert value(mutant.call, facts, mutant.parameter) == mutant.new != mutant.old

    def test_just_outside(self) -> None:
        found = {(m.parameter, m.new) for seed in range(50) for m in checks(CALLS[0], CONV, Rng(seed))}
        assert found == {
            *(("out_channels", "0"), ("kernel_size", "0"), ("stride", "0"), ("groups", "0")),
            ("padding_mode", "'no_circular'"),
        }
        assert {m.new for m in checks(CALLS[3], DROPOUT, Rng(1))} == {"-0.1", "1.1"}
        assert {m.new for m in checks(SLOPED, LEAKY, Rng(1))} == {"-0.1"}

    def test_a_sequence_has_one_item_outside_or_one_more(self) -> None:
        found = {m.new for seed in range(50) for m in checks(CALLS[2], CONV, Rng(seed)) if m.parameter == "kernel_size"}
        assert found == {"(0, 3)", "(3, 0)", "(3, 3, 3)"}

    @pytest.mark.parametrize("source", ["probe", "trace", "llm", "import", "error message"])
    def test_nothing_without_a_documented_bound(self, source: str) -> None:
        found = (said("above", 0.0), said("choices", "a"), said("lengths", 2))
        parameter = Parameter(name="n", default="1", constraints=[each._replace(source=source) for each in found])
        facts = Facts(api="torch.f", parameters=(parameter,))
        assert not documented_constraints(parameter, *KINDS)
        for argument in ("1", "'a'", "(1, 2)"):
            assert not list(checks(call("torch.f", argument), facts, Rng(1)))
        assert list(checks(call("torch.nn.MaxPool2d", "(2, 2)", ceil_mode="True"), POOL, Rng(1)))

    def test_what_worked_before_contradicts_a_bound(self) -> None:
        parameter = Parameter(name="n", dtype="int", default="1", constraints=(POSITIVE,), seen=("4", "0"))
        assert not list(checks(call("torch.f"), Facts(api="torch.f", parameters=(parameter,)), Rng(1)))

    @given(
        seeds, st.integers(-5, 5), st.integers(0, 5), st.booleans(), st.booleans(), st.sampled_from(["int", "float"])
    )
    def test_values_are_outside_of_any_bounds(
        self, seed: int, least: int, width: int, low: bool, high: bool, dtype: str
    ) -> None:
        lower, upper = "above" if low else "minimum", "below" if high else "maximum"
        bounds = (said(lower, float(least)), said(upper, float(least + width + 2)))
        parameter = Parameter(name="n", dtype=dtype, required=True, constraints=bounds)
        found = list(checks(call("torch.f", str(least + 1)), Facts(api="torch.f", parameters=(parameter,)), Rng(seed)))
        assert len(found) == 2
        for mutant in found:
            number = meaning(mutant.new)
            assert not is_within(bounds, number) and isinstance(number, int) == (dtype == "int")
            assert min(abs(number - least), abs(number - least - width - 2)) <= 1.2


def test_the_same_stream_gives_the_same_mutants() -> None:
    for each in BLOCKS:
        assert generated(each, known(each), Rng(5)) == generated(each, known(each), Rng(5))
        assert replaced(each, KNOWLEDGE, IMAGE, Rng(5)) == replaced(each, KNOWLEDGE, IMAGE, Rng(5))
        assert list(checks(each, known(each), Rng(5))) == list(checks(each, known(each), Rng(5)))


def test_an_empty_knowledge_mutates_nothing() -> None:
    nothing = Knowledge(library="torch", build="")
    assert replaced(CALLS[0], nothing, IMAGE, Rng(1)) is None
    assert generated(CALLS[0], Facts(api="torch.nn.Conv2d"), Rng(1)) is None
    assert not list(checks(call("torch.nn.functional.relu", INPUT, applied=True), RELU, Rng(1)))
    assert Then("__call__").args == ()
