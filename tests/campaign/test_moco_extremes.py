"""Extreme values of blocks: mutants by the rules of single calls, and their share of the time."""

from __future__ import annotations

from fuzz_core.campaign.moco.extremes import SHARE, Allowance, Mutations
from fuzz_core.ir.values import Invocation, Prim, Tensor, TestCase, Then, prim
from fuzz_core.modelgen.moco.facts import Facts, Parameter

POOL = Facts(
    api="lib.nn.Pool",
    parameters=(
        Parameter(name="size", dtype="int", required=True),
        Parameter(name="stride", dtype="int", default="3"),
        Parameter(name="mode", dtype="str", default="'a'"),
        Parameter(name="device", default="somewhere()"),
        Parameter(name="_own", dtype="int", default="1"),
    ),
)
TEST = TestCase(Invocation("lib.nn.Pool", (prim(2),), (), Then("__call__", (Tensor("float32", (2, 4)),))), 7)


def mutants(count: int = 400) -> list[TestCase]:
    mutations = Mutations(str)
    return [made for number in range(count) if (made := mutations.mutant(TEST, POOL, number)) is not None]


def test_a_mutant_is_the_same_each_time_and_names_its_rules() -> None:
    assert mutants(40) == mutants(40) and all(len(each.rules) == 1 for each in mutants(40))


def test_no_value_of_a_parameter_comes_twice_and_in_the_end_there_is_none() -> None:
    strides = [dict(each.invocation.kwargs).get("stride") for each in mutants()]
    changed = [each for each in strides if each != prim(3)]
    assert len(changed) == len(set(changed)) > 8 and len(mutants()) == len(mutants(800)) < 100


def test_defaults_become_extreme_as_well_as_arguments_and_inputs() -> None:
    changed = {"size": 0, "stride": 0, "mode": 0, "input": 0}
    for each in mutants():
        call = each.invocation
        given = dict(call.kwargs)
        assert not {"device", "_own"} & given.keys()
        changed["size"] += call.args != TEST.invocation.args
        changed["stride"] += given.get("stride") != prim(3)
        changed["mode"] += given.get("mode") != prim("a")
        changed["input"] += call.then != TEST.invocation.then
    assert min(changed.values()) >= 1
    values = {value.value for each in mutants() for _, value in each.invocation.kwargs if isinstance(value, Prim)}
    assert {0, -1, 2**31} <= values


def test_extreme_values_have_three_tenths_of_what_is_spent() -> None:
    allowance, counts = Allowance(), {True: 0, False: 0}
    for _ in range(1000):
        extreme = allowance.is_left
        allowance.spend(1, extreme)
        counts[extreme] += 1
    assert counts[True] == SHARE * 1000
