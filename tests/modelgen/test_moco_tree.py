from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from moco_grounds import CALLS, CONV, DROPOUT, KNOWLEDGE, program

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.expressions import meaning
from fuzz_core.modelgen.moco.facts import Knowledge, is_legal
from fuzz_core.modelgen.moco.nodes import FINDING, MISFIT, OK, REFUSED, STATES, Arrival, Result, TreeNode
from fuzz_core.modelgen.moco.operators import value_class
from fuzz_core.modelgen.moco.program import assemble
from fuzz_core.modelgen.moco.tree import Tree, TreeOptions, steps_of, survivors

ARRIVES = {number: Arrival((2, 6, 16, 16)) for number in range(9)}
Judge = Callable[[TreeNode], Result]
DEFAULT = TreeOptions()


def fine(node: TreeNode) -> Result:
    return Result(OK if node.positive else REFUSED, "", ARRIVES)


def grown(
    judge: Judge = fine, seed: int = 1, options: TreeOptions = DEFAULT, most: int = 100_000, **more: object
) -> Tree:
    tree = Tree(program(**more), KNOWLEDGE, seed, options)  # type: ignore[arg-type]
    run(tree, judge, most)
    return tree


def run(tree: Tree, judge: Judge = fine, most: int = 100_000) -> int:
    for count in range(most):
        node = tree.take()
        if node is None:
            return count
        tree.tell(node.number, judge(node))
    return most


def by_level(nodes: Iterable[TreeNode]) -> dict[int, list[TreeNode]]:
    found = defaultdict(list)
    for node in nodes:
        found[node.level].append(node)
    return dict(found)


class DescribeTree:
    def test_level_by_level_each_below_a_node_that_is_kept(self) -> None:
        tree = grown()
        assert tree.finished and tree.take() is None
        levels = by_level(tree.nodes)
        assert sorted(levels) == [0, 1, 2, 3, 4]
        numbers = [node.number for node in tree.nodes]
        assert numbers == sorted(numbers) and [node.level for node in tree.nodes] == sorted(n.level for n in tree.nodes)
        for node in tree.nodes[1:]:
            parent = tree.nodes[node.parent or 0]
            assert parent.kept and parent.state == OK and parent.level == node.level - 1
            assert node.block == node.level - 1 and node.line == 3 + node.block

    def test_a_node_has_its_original_times_mt_mutants_and_what_bc_makes_of_them(self) -> None:
        tree = grown(options=TreeOptions(times_mt=3, times_bc=2))
        below = defaultdict(list)
        for node in tree.nodes[1:]:
            below[node.parent].append(node)
        kept = [node for node in tree.nodes if node.kept]
        assert sorted(below) == [node.number for node in kept]
        for nodes in below.values():
            count = Counter(node.operator for node in nodes)
            assert count["original"] == 1 and count["AR"] + count["RG"] <= 3
            assert len({(node.block, node.call) for node in nodes}) == len(nodes)
            for node in nodes:
                assert node.positive == (node.operator != "BC")
                if not node.positive:
                    base = tree.nodes[node.base or 0]
                    assert base in nodes and base.operator in ("AR", "RG") and base.api == node.api
        assert Counter(node.operator for node in tree.nodes).keys() == {"root", "original", "AR", "RG", "BC"}

    def test_bc_has_a_documented_bound(self) -> None:
        for node in grown().nodes:
            if node.operator == "BC":
                parameter = KNOWLEDGE.apis[node.api].parameter(node.parameter)
                assert parameter is not None and not is_legal(parameter, meaning(node.new))

    def test_bc_does_the_same_a_few_times_and_what_it_did_least_first(self) -> None:
        count = Counter((node.equivalence, node.new) for node in grown().nodes if node.operator == "BC")
        assert min(count.values()) >= 1 and max(count.values()) == TreeOptions().same_check and len(count) > 8

    def test_without_a_limit_bc_does_the_same_as_often_as_it_can(self) -> None:
        count = Counter(
            (node.equivalence, node.new)
            for node in grown(options=TreeOptions(same_check=0)).nodes
            if node.operator == "BC"
        )
        assert max(count.values()) > TreeOptions().same_check

    def test_none_of_them_is_made_where_none_is_wanted(self) -> None:
        operators = {node.operator for node in grown(options=TreeOptions(times_bc=0)).nodes}
        assert operators == {"root", "original", "AR", "RG"}

    def test_blocks_are_fitted_to_what_arrived(self) -> None:
        for node in grown().nodes[1:]:
            if node.operator in ("original", "RG") and node.block == 0:
                assert node.call.startswith("nn.Conv2d(6, ")

    def test_half_of_each_class_goes_on_and_at_least_one(self) -> None:
        tree = grown(options=TreeOptions(times_mt=8, widest=0))
        for level, nodes in by_level(tree.nodes).items():
            if level == len(tree.steps):
                assert all(node.kept is None for node in nodes)
                continue
            classes = defaultdict(list)
            for node in nodes:
                assert not node.kept or (node.positive and node.state == OK)
                if node.positive and node.state == OK:
                    classes[node.equivalence].append(bool(node.kept))
            for kept in classes.values():
                assert sum(kept) >= 1 and len(kept) <= 2 * sum(kept) <= len(kept) + 1

    def test_failures_and_negative_nodes_are_leaves(self) -> None:
        states = [state for state in STATES if state != OK]

        def judge(node: TreeNode) -> Result:
            return Result(states[node.number // 3 % len(states)] if node.number % 3 else OK, "why", ARRIVES)

        tree = grown(judge)
        assert {node.state for node in tree.nodes} == set(STATES)
        for node in tree.nodes[1:]:
            parent = tree.nodes[node.parent or 0]
            assert parent.state == OK and parent.positive

    def test_no_bc_on_a_block_that_does_not_work_itself(self) -> None:
        tree = grown(lambda node: Result(OK if node.operator in ("root", "original") else MISFIT, "", ARRIVES))
        assert not [node for node in tree.nodes if node.operator == "BC"] and len(tree.nodes) > 10

    def test_a_root_that_does_not_run_ends_it(self) -> None:
        tree = grown(lambda node: Result("training configuration", "no loss"))
        assert [node.state for node in tree.nodes] == ["training configuration"] and tree.finished

    def test_blocks_of_one_step_come_together(self) -> None:
        tree = grown(steps=(0, 1, 1, 2))
        assert [len(step) for step in tree.steps] == [1, 2, 1]
        second = [node for node in tree.nodes if node.level == 2]
        assert {node.block for node in second} == {1, 2}
        assert all(set(tree.calls(node.number)) == {0, 1, 2} for node in second)

    def test_widest_keeps_every_class_in_turn(self) -> None:
        tree = grown(options=TreeOptions(times_mt=8, widest=5))
        for level, nodes in by_level(tree.nodes).items():
            kept = [node for node in nodes if node.kept]
            assert len(kept) <= 5 and (level != 1 or len({node.equivalence for node in kept}) == len(kept) == 5)

    def test_only_what_arrives_at_the_next_step_is_kept_on_record(self) -> None:
        for node in grown().nodes:
            assert set(node.arrives) <= {node.level}
            assert bool(node.arrives) == (node.state == OK and node.level < 4)

    def test_programs_follow_from_the_chain_of_ancestors(self) -> None:
        tree = grown()
        last = [node for node in tree.nodes if node.level == 4][-1]
        chain = tree.chain(last.number)
        assert [node.level for node in chain] == [0, 1, 2, 3, 4]
        calls = tree.calls(last.number)
        assert [calls[node.block or 0].written for node in chain[1:]] == [node.call for node in chain[1:]]
        head = {block.number: block.call for block in tree.program.blocks if block.number == 4}
        text = assemble(tree.program.template, {**calls, **head})
        assert all(node.call in text for node in chain)
        assert text.count("    nn.") + text.count("    Fitted(nn.") == 5

    def test_an_unknown_api_is_inserted_as_it_is(self) -> None:
        tree = Tree(program(), Knowledge(library="torch", build=""), 1)
        run(tree)
        assert [node.operator for node in tree.nodes] == ["root", *["original"] * 4]

    def test_a_program_without_blocks_is_its_root(self) -> None:
        assert len(grown(calls=()).nodes) == 1


@pytest.mark.slow
class DescribeLaziness:
    def test_nodes_are_made_when_they_are_asked_for(self) -> None:
        tree = Tree(program(), KNOWLEDGE, 1, TreeOptions(times_ev=0))
        assert len(tree.nodes) == 1
        run(tree, most=20)
        parents = {node.parent for node in tree.nodes if node.parent is not None}
        kept = {node.number for node in tree.nodes if node.kept}
        assert parents < kept

    def test_several_can_be_out_at_once(self) -> None:
        tree = Tree(program(), KNOWLEDGE, 1)
        root = tree.take()
        assert root is not None and tree.take() is None and not tree.finished
        tree.tell(root.number, fine(root))
        out = [node for _ in range(3) if (node := tree.take())]
        assert len({node.number for node in out}) == 3
        for node in reversed(out):
            tree.tell(node.number, fine(node))
        run(tree)
        assert tree.finished and all(node.state for node in tree.nodes)

    def test_a_result_is_told_once_and_of_what_is_out(self) -> None:
        tree = Tree(program(), KNOWLEDGE, 1)
        with pytest.raises(UserError, match="is not running"):
            tree.tell(0, Result(OK))
        tree.take()
        with pytest.raises(UserError, match="is not a state"):
            tree.tell(0, Result("fine"))
        tree.tell(0, Result(OK))
        with pytest.raises(UserError, match="is not running"):
            tree.tell(0, Result(OK))

    @given(st.integers(0, 2**32), st.lists(st.integers(1, 60), max_size=6), st.integers(1, 5))
    @examples(15)
    def test_a_tree_that_stops_anywhere_goes_on_as_if_it_had_not(self, seed: int, stops: list[int], every: int) -> None:
        def judge(node: TreeNode) -> Result:
            return Result(FINDING if node.number % 11 == 5 else OK if node.positive else REFUSED, "x", ARRIVES)

        options = TreeOptions(times_mt=3)
        whole = grown(judge, seed, options)
        record: dict[int, TreeNode] = {}
        tree = Tree(program(), KNOWLEDGE, seed, options)
        for most in stops:
            for _ in range(0, most, every):
                run(tree, judge, every)
                record.update((node.number, node) for node in tree.changed())
            tree.take()
            tree = Tree(program(), KNOWLEDGE, seed, options, [record[number] for number in sorted(record)])
        run(tree, judge)
        assert tree.nodes == whole.nodes

    def test_changes_are_told_once(self) -> None:
        tree = grown()
        assert {node.number for node in tree.changed()} == {node.number for node in tree.nodes}
        assert tree.changed() == []

    def test_a_record_with_gaps_is_refused(self) -> None:
        nodes = grown().nodes
        with pytest.raises(UserError, match="gaps"):
            Tree(program(), KNOWLEDGE, 1, nodes=[nodes[0], *nodes[2:]])

    @pytest.mark.parametrize("other", [{"steps": (0, 0, 1, 2)}, {"calls": CALLS[:3]}])
    def test_a_record_of_a_program_with_other_steps_is_refused(self, other: dict[str, tuple[int, ...]]) -> None:
        with pytest.raises(UserError, match="blocks that the program"):
            Tree(program(**other), KNOWLEDGE, 1, nodes=grown().nodes)  # type: ignore[arg-type]

    @given(st.integers(0, 2**32))
    @examples(10)
    def test_one_seed_gives_one_tree(self, seed: int) -> None:
        assert grown(seed=seed).nodes == grown(seed=seed).nodes

    def test_another_seed_gives_another_tree(self) -> None:
        assert grown(seed=1).nodes != grown(seed=2).nodes


class DescribePruning:
    names = st.sampled_from(["a", "b", "c"])

    @given(st.lists(st.tuples(names, st.booleans(), st.sampled_from([OK, MISFIT])), max_size=30), st.integers(0, 9))
    def test_half_of_each_class(self, told: list[tuple[str, bool, str]], seed: int) -> None:
        nodes = [
            TreeNode(n, 0, 1, 0, "", "", "RG", positive=positive, equivalence=name, state=state)
            for n, (name, positive, state) in enumerate(told)
        ]
        kept = survivors(nodes, Rng(seed))
        for name in "abc":
            able = {n.number for n in nodes if n.equivalence == name and n.positive and n.state == OK}
            assert len(kept & able) == (len(able) + 1) // 2
        assert all(nodes[number].positive and nodes[number].state == OK for number in kept)

    @pytest.mark.parametrize(
        ("name", "value", "expected"),
        [
            *(("p", 0.5, "inside"), ("p", 0.0, "at"), ("p", 1.0, "at"), ("p", 1.1, "outside")),
            *(("inplace", True, "True"), ("inplace", False, "False")),
        ],
    )
    def test_classes_of_parameters(self, name: str, value: object, expected: str) -> None:
        parameter = DROPOUT.parameter(name)
        assert parameter is not None and value_class(parameter, value) == expected

    @pytest.mark.parametrize(
        ("value", "expected"),
        [((3, 3), "inside"), ((1, 3), "at"), (1, "at"), ((0, 1), "outside"), (meaning("size"), "other")],
    )
    def test_of_a_sequence_the_outermost_counts(self, value: object, expected: str) -> None:
        parameter = CONV.parameter("kernel_size")
        assert parameter is not None and value_class(parameter, value) == expected

    def test_each_choice_is_a_class(self) -> None:
        parameter = CONV.parameter("padding_mode")
        assert parameter is not None
        assert len({value_class(parameter, choice) for choice in parameter.choices}) == 3


def test_steps_leave_the_head_out() -> None:
    assert [[block.number for block in step] for step in steps_of(program())] == [[n] for n in range(len(CALLS))]
