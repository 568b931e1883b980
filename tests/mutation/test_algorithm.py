from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fuzz_core.ir.codec import decode_test, dumps, encode_test
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.tree import argument_names, children, with_children
from fuzz_core.ir.values import NONE, Fill, Invocation, Map, Ref, Seq, Slice, Tensor, Then, Value, prim
from fuzz_core.mutation.algorithm import Algorithm1
from fuzz_core.mutation.contract import KINDS, OWN_KINDS
from fuzz_core.mutation.registry import CALL_MUTATORS, MUTATORS, load_mutators
from fuzz_core.mutation.space import ArgumentSpace

MATRIX = Tensor("float32", (2, 3))
LABELS = Tensor("int64", (2,), Fill("values", data=bytes(16)))
PARAMS = {"conv": ("in_channels", "out_channels", "kernel_size", "stride"), "conv.forward": ("self", "input")}
CONV = Invocation(
    "conv",
    (prim(3), prim(4), Seq("tuple", (prim(3), prim(5)))),
    (("bias", prim(True)), ("eps", prim(0.5)), ("mode", prim("zeros")), ("dtype", Ref("dtype", "float32"))),
    Then("__call__", (MATRIX, LABELS)),
)
MIX = Invocation(
    "mix",
    (Seq("list", (MATRIX, MATRIX)), Map((("p", prim(0.5)),)), Slice(NONE, prim(3), NONE), prim(1 + 2j), NONE),
    (
        ("cell", Invocation("conv", (prim(3), prim(4)))),
        ("sizes", Seq("list", (prim(2), prim(3)))),
        ("device", Ref("device", "cpu")),
    ),
)
SPACE = {
    "values": {
        "in_channels": {"int": {"conv": [3, 8, 16]}, "none": {"conv": [None]}},
        "bias": {"bool": {"conv": [True, False]}},
        "mode": {"str": {"conv": ["zeros", "reflect"]}},
        "kernel_size": {"(int,int)": {"conv": [["S", "tuple", [7, 7]]]}, "int": {"conv": [7]}},
        "sizes": {"[int,int]": {"mix": [["S", "list", [9, 9]]]}},
        "dtype": {"dtype": {"conv": [["R", "dtype", "float64"]]}},
    },
    "apis": ["conv", "mix"],
    "similarity": {},
    "tensors": {
        "2,float32": [["T", "float32", [9, 1], ["uniform", "-1.0", "1.0", 5, "", None], "tensor", None, False]],
    },
}


def algorithm(*off: str) -> Algorithm1:
    return Algorithm1(PARAMS, ArgumentSpace.from_json(SPACE), off, forms={"sparse": Invocation("sparse")})


def rules_of(machine: Algorithm1, cases: int = 6000) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in range(cases):
        found.update(machine.case((CONV, MIX)[seed % 2], seed % 2, seed).rules)
    return found


def test_every_rule_is_reached() -> None:
    rules = {**MUTATORS, **CALL_MUTATORS}
    assert set(rules_of(algorithm(), 12000)) == {name for name, rule in rules.items() if rule.random}


def test_with_all_kinds_off_nothing_is_mutated() -> None:
    test = algorithm(*KINDS).case(CONV, 7, 5)
    assert test.invocation == CONV
    assert (test.seed, test.origin, test.rules) == (5, 7, ())


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_is_off_is_not_used_and_the_others_still_are(kind: str) -> None:
    loaded = load_mutators({**MUTATORS, **CALL_MUTATORS}, (kind,) if kind in OWN_KINDS else ())
    off = {mutator.name for mutator in loaded if mutator.kind == kind}
    used = set(rules_of(algorithm(kind)))
    assert not used & off
    assert {mutator.kind for mutator in loaded if mutator.name in used} == {m.kind for m in loaded} - {kind}


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_alone_works(kind: str) -> None:
    used = rules_of(algorithm(*(set(KINDS) - {kind})))
    assert used
    assert {m.kind for m in load_mutators({**MUTATORS, **CALL_MUTATORS}) if m.name in used} == {kind}


def test_single_rules_can_be_switched_off() -> None:
    assert not {"NaN Contents", "Joint Dtype"} & set(rules_of(algorithm("NaN Contents", "Joint Dtype")))


def test_a_rule_that_is_off_is_off_inside_sequences_too() -> None:
    pair = Invocation("pair", (Seq("tuple", (prim(3), prim(4))),))
    machine = algorithm("random", "database", *OWN_KINDS, "Primitive Mutation")
    assert all(machine.case(pair, 1, seed).invocation == pair for seed in range(50))


def test_without_the_database_no_rule_sees_the_space() -> None:
    class Forbidden:
        def pick(self, rng: Rng, api: str, argument: str, fuzz_type: str) -> Value | None:
            raise AssertionError("asked the space")

        def pick_tensor(self, rng: Rng, rank: int, dtype: str) -> Value | None:
            raise AssertionError("asked the space")

    assert rules_of(Algorithm1(PARAMS, Forbidden(), ("database",)), 500)


def test_an_unknown_rule_is_an_error_that_names_it() -> None:
    with pytest.raises(UserError, match="Wrong Rule"):
        algorithm("Wrong Rule")


def test_nearly_every_case_differs_from_its_origin() -> None:
    machine = algorithm()
    changed = sum(machine.case(CONV, 1, seed).invocation != CONV for seed in range(500))
    assert changed > 480


def test_cases_are_a_function_of_the_seed() -> None:
    one, other = algorithm(), algorithm()
    rules_of(other, 300)
    for seed in range(300):
        assert repr(one.case(CONV, 1, seed)) == repr(other.case(CONV, 1, seed))


def test_cases_survive_the_codec() -> None:
    machine = algorithm()
    for seed in range(500):
        encoded = encode_test(machine.case((CONV, MIX)[seed % 2], seed % 2, seed))
        assert encode_test(decode_test(encoded)) == encoded


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_algorithm import CONV, MIX, algorithm
from fuzz_core.ir.codec import dumps
made = algorithm()
for seed in range(200):
    test = made.case((CONV, MIX)[seed % 2], seed % 2, seed)
    print(dumps(test.invocation), test.rules)
"""


@pytest.mark.parametrize("hash_seed", ["1", "977"])
def test_another_process_makes_the_same_cases(hash_seed: str) -> None:
    here = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, here], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    made = algorithm()
    tests = [made.case((CONV, MIX)[seed % 2], seed % 2, seed) for seed in range(200)]
    assert done.stdout.splitlines() == [f"{dumps(test.invocation)} {test.rules}" for test in tests]


def test_an_origin_that_now_means_another_invocation_is_not_confused() -> None:
    machine = algorithm()
    machine.case(CONV, 1, 3)
    assert machine.case(MIX, 1, 3).invocation.api == "mix"


def test_every_argument_gets_mutated_constructor_and_call_alike() -> None:
    machine, touched = algorithm(), Counter[int]()
    before = children(CONV)
    for seed in range(1500):
        after = children(machine.case(CONV, 1, seed).invocation)
        if len(after) == len(before):
            touched.update(at for at, value in enumerate(after) if value != before[at])
    assert set(touched) == set(range(len(before)))


def test_few_mutations_are_the_rule_and_some_counts_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    def share_of_many() -> float:
        machine = algorithm(*OWN_KINDS, "type")
        return sum(len(machine.case(CONV, 1, seed).rules) > 3 for seed in range(800)) / 800

    assert 0.02 < share_of_many() < 0.2
    monkeypatch.setattr("fuzz_core.mutation.algorithm.UNIFORM_SHARE", 1.0)
    assert share_of_many() > 0.4


def test_the_number_of_mutations_is_uniform_as_published_where_few_are_not_the_rule() -> None:
    machine = Algorithm1(PARAMS, ArgumentSpace.from_json(SPACE), (*OWN_KINDS, "type"), few=False)
    assert sum(len(machine.case(CONV, 1, seed).rules) > 3 for seed in range(800)) / 800 > 0.4


def test_an_invocation_without_arguments_stays() -> None:
    assert algorithm().case(Invocation("now"), 1, 1).rules == ()


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, ["arg0", "arg1", "bias", "input0", "mask"]),
        ({"layer": ("size",)}, ["size", "arg1", "bias", "input0", "mask"]),
        ({"layer": ("a", "b", "c"), "layer.forward": ("self", "x")}, ["a", "b", "bias", "x", "mask"]),
        ({"layer.call": ["inputs"]}, ["arg0", "arg1", "bias", "inputs", "mask"]),
    ],
)
def test_arguments_are_named_by_keyword_or_parameter(params: dict[str, tuple[str, ...]], names: list[str]) -> None:
    then = Then("__call__", (MATRIX,), (("mask", NONE),))
    layer = Invocation("layer", (prim(1), prim(2)), (("bias", NONE),), then)
    assert argument_names(layer, params) == names


def test_other_methods_take_their_own_parameters() -> None:
    step = Invocation("sgd", (), (), Then("step", (NONE,)))
    assert argument_names(step, {"sgd.step": ("self", "closure"), "sgd.forward": ("x",)}) == ["closure"]


def test_values_go_back_where_they_came_from() -> None:
    values = children(CONV)
    assert with_children(CONV, values) == CONV
    swapped = with_children(CONV, [prim(at) for at in range(len(values))])
    assert [value.value for value in children(swapped)] == list(range(len(values)))  # type: ignore[union-attr]
