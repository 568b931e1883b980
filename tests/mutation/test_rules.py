"""Tests of every rule by its own examples: each new entry of the table is tested at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.adapters.arrays import span
from fuzz_core.ir.codec import dumps, loads
from fuzz_core.ir.elements import elements
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.tree import fuzz_type, tensors_of
from fuzz_core.ir.values import Fill, Invocation, Map, Prim, Seq, Tensor, Then, Value, prim
from fuzz_core.mutation import rules
from fuzz_core.mutation.contract import KINDS, MAX_ELEMENTS, PAPER_KINDS, Context, Mutator, mutator, scalars
from fuzz_core.mutation.registry import (
    CALL_MUTATORS,
    MUTATORS,
    RuleBook,
    drop_unchanged,
    load_mutators,
    same,
)
from fuzz_core.mutation.sweep import boundary_classes

TABLE_1 = ["Tensor Dim Mutation", "Tensor Dtype Mutation", "Primitive Mutation", "Tuple Mutation", "List Mutation"]
TABLE_2 = [
    f"{kind} {what}"
    for kind in ("Random", "Database")
    for what in ("Tensor Shape", "Tensor Value", "Primitive", "Tuple", "List")
]
TABLES = (MUTATORS, CALL_MUTATORS)
RULES = {rule.name: rule for table in TABLES for rule in load_mutators(table)}
SEEDS = range(40)
ROOT = Path(__file__).parents[2]


class SeenSpace:
    """A space where every FuzzType was seen with one value, and any FuzzType is a tensor."""

    def __init__(self, *values: Value) -> None:
        self.seen = {fuzz_type(value): value for value in values}

    def pick(self, rng: Rng, api: str, argument: str, fuzz_type: str) -> Value | None:
        if not fuzz_type:
            return Tensor("float64", (7,)) if rng.chance(0.5) else prim("elsewhere")
        return self.seen.get(fuzz_type)

    def pick_tensor(self, rng: Rng, rank: int, dtype: str) -> Value | None:
        return Tensor(dtype, tuple(rng.between(0, 5) for _ in range(rank)), Fill("uniform", -3.0, 3.0, rng.below(99)))


SPACE = SeenSpace(
    prim(77), prim(7.5), prim("seen"), prim(None), prim(False), Map((("a", prim(9)),)),
    Seq("tuple", (prim(8), prim(9))), Seq("list", (prim(8), prim(9))),
)  # fmt: skip


FORMS = {"sparse": Invocation("torch.Tensor.to_sparse")}
CALL = Invocation("torch.add", (Tensor("float32", (2, 3)), Tensor("int64", (0,))), (("alpha", prim(2)),))


def context(seed: int) -> Context:
    book = RuleBook({"torch.add": ("input", "other", "out")}, forms=FORMS)
    return Context(Rng(seed), "torch.add", "alpha", SPACE, book, CALL)


def mutants(rule: Mutator, *values: Value) -> Iterator[tuple[Value, Value]]:
    """Yields pairs of a value (default: the rule's examples) and its mutant."""
    for value in values or rule.domain.examples:
        for seed in SEEDS:
            made = drop_unchanged(rule).mutate(value, context(seed))
            if made is not None:
                yield value, made


def spanned(tensor: Tensor) -> int:
    """Returns the number of elements in the memory of a tensor."""
    return tensor.size if tensor.strides is None else span(tensor.shape, tensor.strides)


@pytest.mark.parametrize("name", TABLE_1 + TABLE_2)
def test_every_row_of_the_papers_tables_is_a_rule_of_its_kind(name: str) -> None:
    rule = RULES[name]
    assert rule.kind == ("type" if name in TABLE_1 else name.split()[0].lower())


each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


@each_rule
def test_a_rule_has_a_name_a_kind_and_examples_it_applies_to(rule: Mutator) -> None:
    assert rule.mutate.__name__ == rule.name.lower().replace(" ", "_")
    assert rule.mutate.__doc__
    assert rule.kind in KINDS
    assert rule.domain.examples
    assert all(rule.domain.applies(value) for value in rule.domain.examples)


@each_rule
def test_a_rule_changes_at_least_one_of_its_examples(rule: Mutator) -> None:
    assert list(mutants(rule))


@each_rule
def test_a_rule_is_pure(rule: Mutator) -> None:
    for value in rule.domain.examples:
        before = repr(value)
        for seed in SEEDS:
            assert repr(rule.mutate(value, context(seed))) == repr(rule.mutate(value, context(seed)))
        assert repr(value) == before


@each_rule
def test_what_a_rule_makes_survives_the_codec(rule: Mutator) -> None:
    for _, made in mutants(rule):
        assert dumps(loads(dumps(made))) == dumps(made)


@each_rule
def test_no_tensor_passes_the_cap_and_all_can_be_drawn(rule: Mutator) -> None:
    for _, made in mutants(rule):
        for tensor in tensors_of(made):
            assert spanned(tensor) <= MAX_ELEMENTS
            if tensor.size <= MAX_ELEMENTS:
                assert len(elements(tensor)) == tensor.size


@each_rule
def test_type_rules_change_the_fuzz_type_and_value_rules_keep_it(rule: Mutator) -> None:
    for value, made in mutants(rule):
        if rule.kind == "type":
            assert fuzz_type(made) != fuzz_type(value)
        elif rule.kind in PAPER_KINDS:
            assert fuzz_type(made) == fuzz_type(value)


HUGE = Tensor("float32", (2**12, 2**7, 1, 2), requires_grad=True)
WIDE = Tensor("int64", (2**20,))


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES.values() if rule.domain.applies(HUGE)], ids=lambda rule: rule.name
)
def test_tensors_at_the_cap_do_not_pass_it(rule: Mutator) -> None:
    for value in (HUGE, WIDE):
        for _, made in mutants(rule, value) if rule.domain.applies(value) else ():
            assert all(spanned(tensor) <= MAX_ELEMENTS for tensor in tensors_of(made))


SIZES = st.lists(st.integers(0, 9), max_size=7).map(tuple)
DTYPE_NAMES = st.sampled_from(["bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64", "string"])
FILLS = st.one_of(
    st.just(Fill()),
    st.just(Fill("constant", 3.0)),
    st.just(Fill("values", data=bytes(range(16)))),
    st.just(Fill("values", data=b"\xff\xfe\xf0")),
)
TENSORS = st.builds(Tensor, DTYPE_NAMES, SIZES, FILLS, st.sampled_from(["tensor", "ndarray"]), st.none(), st.booleans())
PRIMS = st.one_of(st.integers(), st.floats(), st.booleans(), st.text(max_size=5), st.none(), st.complex_numbers()).map(
    prim
)
VALUES = st.recursive(
    PRIMS | TENSORS,
    lambda inner: st.builds(Seq, st.sampled_from(["list", "tuple", "set"]), st.lists(inner, max_size=20).map(tuple)),
    max_leaves=20,
)


@examples(150)
@given(VALUES, st.integers(0, 2**62))
def test_rules_that_apply_to_any_value_keep_their_promises(value: Value, seed: int) -> None:
    for rule in RULES.values():
        if not rule.domain.applies(value):
            continue
        made = drop_unchanged(rule).mutate(value, context(seed))
        if made is None:
            continue
        assert dumps(loads(dumps(made))) == dumps(made)
        given_already = max((tensor.size for tensor in tensors_of(value)), default=0)
        assert all(spanned(tensor) <= max(MAX_ELEMENTS, given_already) for tensor in tensors_of(made))
        if rule.kind == "type":
            assert fuzz_type(made) != fuzz_type(value)
        elif rule.kind in PAPER_KINDS:
            assert fuzz_type(made) == fuzz_type(value)


def test_every_rule_of_every_file_stands_in_one_table_under_a_name_of_its_own() -> None:
    files = [import_module(f"{rules.__name__}.{module.name}") for module in iter_modules(rules.__path__)]
    made = [each.name for file in files for each in vars(file).values() if isinstance(each, Mutator)]
    assert sorted(made) == sorted(RULES)
    assert len(RULES) == sum(map(len, TABLES))


NEW = """

@mutator("Other Answer", scalars("int"))
def other_answer(value: Prim, ctx: Context) -> Prim:
    \"\"\"An int becomes 42, or one of its neighbours.\"\"\"
    return Prim("int", 42 + ctx.rng.between(-1, 1))
"""
PROGRAM = """
from fuzz_core.ir.values import Invocation, prim
from fuzz_core.mutation.algorithm import Algorithm1
from fuzz_core.mutation.registry import check_off
from fuzz_core.mutation.space import ArgumentSpace
check_off(["Other Answer"])
call, name = Invocation("add", (prim(3),)), "Other Answer"
makers = [Algorithm1({}, ArgumentSpace({}, (), {}, {}), off) for off in ([], [name])]
print(*(any(name in maker.case(call, 1, seed).rules for seed in range(500)) for maker in makers))
"""


def test_a_new_rule_is_one_decorated_function(tmp_path: Path) -> None:
    """Runs in a scratch copy: `disable` knows the rule and Algorithm 1 applies it."""
    shutil.copytree(
        ROOT / "fuzz_core", tmp_path / "fuzz_core", ignore=shutil.ignore_patterns("__pycache__", "programs")
    )
    with (tmp_path / "fuzz_core/mutation/rules/values.py").open("a") as file:
        file.write(NEW)
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.stdout.split() == ["True", "False"]


def test_a_changed_value_is_told_from_an_equal_one() -> None:
    nan, other_nan = float("nan"), float("inf") - float("inf")
    assert not same(prim(0.0), prim(-0.0))
    assert not same(prim(1), prim(True))
    assert same(prim(nan), prim(other_nan))
    assert same(Tensor("float32", (2,), Fill(special=nan)), Tensor("float32", (2,), Fill(special=other_nan)))
    assert not same(Tensor("float32", (2,), Fill(special=nan)), Tensor("float32", (3,), Fill(special=other_nan)))


def test_the_wrapper_drops_a_value_that_did_not_change() -> None:
    @mutator("Idle", scalars("int"))
    def idle(value: Prim, ctx: Context) -> Prim:
        return Prim("int", 3)

    assert drop_unchanged(idle).mutate(prim(3), context(0)) is None
    assert drop_unchanged(idle).mutate(prim(4), context(0)) == prim(3)


def test_recorded_contents_are_converted_with_the_dtype() -> None:
    labels = Tensor("int64", (3,), Fill("values", data=(1).to_bytes(8, "little") * 3))
    for _, made in mutants(RULES["Tensor Dtype Mutation"], labels):
        assert isinstance(made, Tensor)
        assert elements(made).tolist() == [1, 1, 1]


def test_a_joint_size_changes_wherever_it_stands() -> None:
    call = Invocation("torch.nn.Linear", (prim(3), prim(4)), (), None)
    call = call._replace(args=(*call.args, Tensor("float32", (9, 3)), Tensor("float32", (3, 1))))
    for _, made in mutants(RULES["Joint Dimension"], call):
        assert isinstance(made, Invocation)
        number, _, left, right = made.args
        assert isinstance(left, Tensor)
        assert isinstance(right, Tensor)
        assert left.shape[1] == right.shape[0] == number.value  # type: ignore[union-attr]


def test_mixed_dtypes_leave_all_tensors_but_one() -> None:
    call = Invocation("torch.cat", (Seq("list", (Tensor("float32", (2,)),) * 3),))
    for _, made in mutants(RULES["Mixed Dtypes"], call):
        assert sorted(tensor.dtype == "float32" for tensor in tensors_of(made)) == [False, True, True]


def test_an_added_argument_is_one_that_the_call_leaves_to_its_default() -> None:
    call = CALL._replace(then=Then("sum", (), (("dim", prim(0)),)))
    book = RuleBook({"torch.add": ("input", "other", "out", "dim")})
    added = [
        made.kwargs[len(call.kwargs) :]
        for _, made in boundary_classes(RULES["Added Argument"], call, book, call)
        if isinstance(made, Invocation) and made._replace(kwargs=call.kwargs) == call
    ]
    values = [value for ((name, value),) in added if name == "out"]
    assert {name for ((name, _),) in added} == {"out", "dim"}
    assert {fuzz_type(value) for value in values} >= {"int", "float", "bool", "str", "(int)", "tensor<2,float32>"}
    assert Tensor("float32", (0,)) in values
    whole = call._replace(kwargs=(*call.kwargs, ("out", prim(None)), ("dim", prim(0))))
    assert not [*boundary_classes(RULES["Added Argument"], whole, book, whole)]


def classes(rule: str, call: Invocation) -> dict[str, Value]:
    """Returns the boundary classes that a rule has for a call."""
    book = RuleBook({})
    return dict(boundary_classes(next(each for each in book.boundaries if each.name == rule), call, book, call))


def test_a_joint_size_is_none_or_one_wherever_it_stands() -> None:
    left, right = Tensor("float32", (9, 3)), Tensor("float32", (3, 1))
    found = classes("Joint Size", Invocation("torch.nn.Linear", (prim(3), prim(4), left, right)))
    assert found.keys() == {f"Joint Size {place} to {new}" for place in (0, 1) for new in (0, 1)}
    number, _, *tensors = found["Joint Size 1 to 0"].args  # type: ignore[union-attr]
    assert number == prim(0) and [each.shape for each in tensors] == [(9, 0), (0, 1)]  # type: ignore[union-attr]


def test_joint_classes_change_several_tensors_or_none() -> None:
    pair = Invocation("torch.take", (Tensor("float32", (2,)), Tensor("int64", (2, 3)), Tensor("int32", ())))
    contents = classes("Joint Contents", pair)
    assert contents.keys() == {f"Joint Contents {each}" for each in ("0", "-1", "2147483648")}
    assert [tensor.fill.low for tensor in tensors_of(contents["Joint Contents -1"])] == [-1.0] * 3
    ranks = {name: [tensor.shape for tensor in tensors_of(made)] for name, made in classes("Joint Rank", pair).items()}
    assert ranks == {"Joint Rank more": [(1, 2), (1, 2, 3), (1,)], "Joint Rank less": [(), (3,), ()]}
    alone = pair._replace(args=pair.args[:1])
    assert not classes("Joint Contents", alone) and not classes("Joint Rank", alone)
