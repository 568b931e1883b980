from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from moco_grounds import CALLS, CONV, KNOWLEDGE, call, program

from fuzz_core.ir.values import Seq, Tensor
from fuzz_core.modelgen.moco.calls import parsed
from fuzz_core.modelgen.moco.constants import Opaque, meaning
from fuzz_core.modelgen.moco.extreme_inputs import extreme_inputs
from fuzz_core.modelgen.moco.fitting import CLASS
from fuzz_core.modelgen.moco.generation import Options
from fuzz_core.modelgen.moco.nodes import EXTREME, OK, Arrival, Result
from fuzz_core.modelgen.moco.operators import extreme_input
from fuzz_core.modelgen.moco.program import Call, Fit
from fuzz_core.modelgen.moco.tree import Tree
from fuzz_core.modelgen.moco.writing import as_test

IMAGE = Arrival((2, 6, 8, 8), "float32")
STATES = Fit(CLASS, ("((3, 5), 'int64')", "[((1, 5), 'float32'), ((), 'float32')]"))
shapes = st.lists(st.integers(1, 4), max_size=4).map(tuple)


def taken(each: Call) -> tuple[object, ...]:
    """The inputs of the block alone."""
    test = as_test(each, CONV, IMAGE.shape, IMAGE.dtype, 1)
    assert test is not None and test.invocation.then is not None
    return test.invocation.then.args


class DescribeExtremeInputs:
    def test_the_activation_is_empty_longer_of_another_rank_and_of_integers(self) -> None:
        found = {words: taken(changed) for _, _, words, changed in extreme_inputs(CALLS[0], IMAGE, CLASS)}
        kinds = {words: (one.dtype, one.shape) for words, (one,) in found.items() if isinstance(one, Tensor)}
        assert kinds == {
            "without rows": ("float32", (0, 6, 8, 8)),
            "one row longer": ("float32", (3, 6, 8, 8)),
            "without columns": ("float32", (2, 6, 8, 0)),
            "without dimensions": ("float32", ()),
            "one dimension less": ("float32", (6, 8, 8)),
            "one dimension more": ("float32", (1, 2, 6, 8, 8)),
            "of int64": ("int64", (2, 6, 8, 8)),
        }

    def test_of_several_each_by_itself_and_indices_point_elsewhere(self) -> None:
        each = CALLS[0]._replace(fit=STATES)
        found = [(which, words, taken(changed)) for which, _, words, changed in extreme_inputs(each, IMAGE, CLASS)]
        assert {which for which, _, _ in found} == {"input 0", "input 1[0]", "input 1[1]"}
        for which, _, (first, second) in found:
            plain = taken(each)
            assert (first == plain[0]) == (which != "input 0") and (second == plain[1]) == (which == "input 0")
            assert isinstance(second, Seq) and len(second.items) == 2
        full = {words: first for _, words, (first, _) in found if words.startswith("full")}
        assert set(full) == {"full of -1", "full of 2147483648"}
        assert all(isinstance(one, Tensor) and one.fill.kind == "constant" for one in full.values())

    def test_what_is_applied_and_what_nobody_knows_the_input_of_is_left_alone(self) -> None:
        applied = call("torch.nn.functional.relu", "x", applied=True)
        assert not [*extreme_inputs(applied, IMAGE, CLASS), *extreme_inputs(CALLS[0], None, CLASS)]

    @given(shapes, st.sampled_from(["float32", "int64", "bool"]))
    def test_they_are_read_back_and_are_no_values(self, shape: tuple[int, ...], dtype: str) -> None:
        for mutant in extreme_input(CALLS[0], Arrival(shape, dtype), CLASS):
            assert parsed(mutant.call.written, mutant.call.api, False) == mutant.call
            assert (mutant.operator, mutant.positive) == (EXTREME, False)
            assert isinstance(meaning(mutant.new), Opaque)


def test_trees_try_them_and_no_program_has_them() -> None:
    tree = Tree(program(), KNOWLEDGE, 3, Options(times_ev=8))
    while len(tree.nodes) < 300 and (node := tree.take()) is not None:
        tree.tell(node.number, Result(OK, arrives={block.number: IMAGE for step in tree.steps for block in step}))
    tried = [node for node in tree.nodes if node.parameter.startswith("input ")]
    assert {node.new for node in tried} >= {"without rows", "one dimension more", "of int64"}
    assert not any(node.positive or node.kept for node in tried)
    written = {node.call for node in tried}
    assert not any(
        each.written in written for node in tree.nodes for each in tree.calls(node.number).values() if node.positive
    )
