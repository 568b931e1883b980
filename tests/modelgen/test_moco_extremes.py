import pytest
from hypothesis import given
from hypothesis import strategies as st
from moco_grounds import BLOCKS, CALLS, CONV, DROPOUT, call, known

from fuzz_core.modelgen.moco.calls import value
from fuzz_core.modelgen.moco.constants import meaning, written
from fuzz_core.modelgen.moco.extremes import FLOATS, INTEGERS, within
from fuzz_core.modelgen.moco.facts import Facts, Parameter
from fuzz_core.modelgen.moco.operators import extreme
from fuzz_core.modelgen.moco.program import Call


class DescribeExtremes:
    @given(st.sampled_from(BLOCKS))
    def test_one_parameter_has_an_end_of_its_type(self, each: Call) -> None:
        facts = known(each)
        for mutant in extreme(each, facts):
            assert mutant.operator == "EV" and not mutant.positive and not mutant.why
            assert value(mutant.call, facts, mutant.parameter) == mutant.new != mutant.old
            others = [p.name for p in facts.parameters if p.name != mutant.parameter]
            assert [value(mutant.call, facts, name) for name in others] == [value(each, facts, name) for name in others]

    def test_no_bound_is_needed_and_none_heeded(self) -> None:
        bare = CONV.model_copy(
            update={"parameters": tuple(p.model_copy(update={"bounds": ()}) for p in CONV.parameters)}
        )
        found = {(mutant.parameter, mutant.new) for mutant in extreme(CALLS[0], bare)}
        assert {("stride", written(number)) for number in INTEGERS} <= found
        assert {("in_channels", "0"), ("in_channels", "None")} <= found
        assert {m.new for m in extreme(CALLS[3], DROPOUT)} >= set(map(written, FLOATS)) - {"0.0"}

    def test_of_a_sequence_every_item_and_none_at_all(self) -> None:
        found = {m.new for m in extreme(CALLS[2], CONV) if m.parameter == "kernel_size"}
        assert {"()", "(0, 3)", "(3, 0)", "(-1, 3)", "(3, -1)"} <= found

    def test_texts_are_empty_and_flags_and_tensors_left_alone(self) -> None:
        parameters = (
            Parameter(name="mode", default="'zeros'"),
            Parameter(name="bias", default="True"),
            Parameter(name="weight", dtype="tensor", default="None"),
            Parameter(name="_own", dtype="int", default="1"),
            Parameter(name="device", dtype=""),
        )
        found = {
            (m.parameter, meaning(m.new))
            for m in extreme(call("torch.nn.F"), Facts(api="torch.nn.F", parameters=parameters))
        }
        assert found == {("mode", None), ("mode", ""), ("device", None)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2**31", "2**31 - 1"),
        ("-2**31 - 1", "-2**31 + 1"),
        ("(3, 2**63 - 1)", "(3, 2**31 - 1)"),
        ("[0, -5]", "[0, -5]"),
        ("1e+38", "1e+38"),
        ("None", "None"),
        ("True", "True"),
    ],
)
def test_within_what_32_bits_hold(given: str, expected: str) -> None:
    assert within(given) == expected
