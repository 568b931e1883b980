"""Tests that executions find the blocks that a program needs, and the blocks that need each other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from moco_programs import taken_apart

from fuzz_core.adapters.models import Models
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.disassembly_steps import RunObservations, Runs, steps
from fuzz_core.modelgen.moco.program import Block, Call, Program, Slot, Template, assemble

COUNT = 9


def program(count: int = COUNT, once: bool = False, joins: tuple[int, ...] = ()) -> Program:
    """Returns a program whose first and last block stay.

    Args:
        count: number of blocks.
        once: whether each block is used once.
        joins: numbers of the blocks whose branches are joined, at the first of them.
    """
    call = Call("lib.Layer", "lib.Layer")
    blocks = tuple(Block(n, call, n + 1, step=n, once=once) for n in range(count))
    join = (Slot(joins[0], joins=joins),) if joins else ()
    return Program("made.py", "lib", "class", Template(("x = 1\n", *join), (0, count - 1)), blocks)


def needing(rule: Callable[[set[int]], bool]) -> Runs:
    """Returns a run that succeeds if the rule holds for the numbers of the inserted blocks, and observes no shapes."""
    return lambda calls: RunObservations() if rule(set(calls)) else None


class Chain:
    """Runs of a chain of blocks; some blocks change the shape.

    Args:
        changing: numbers of the blocks that change the shape.
        joins: if one of these blocks is inserted, another shape arrives behind the last of them.
        together: sets of blocks; a run fails if it has a part of such a set.
        count: number of blocks.
    """

    def __init__(
        self, changing: set[int], joins: tuple[int, ...] = (), together: tuple[set[int], ...] = (), count: int = COUNT
    ) -> None:
        self.changing, self.joins, self.together, self.count = changing, joins, together, count
        self.asked: list[frozenset[int]] = []

    def arrived(self, there: set[int]) -> dict[int, tuple[tuple[int | None, ...], str]]:
        """Returns the shape that arrives at each block; for an absent block the number of samples is unknown."""
        shapes: dict[int, tuple[tuple[int | None, ...], str]] = {}
        shape = 0
        for number in range(self.count):
            if self.joins and number == max(self.joins) + 1 and there & {*self.joins}:
                shape += 1000
            shapes[number] = (8 if number in there else None, shape), "float32"
            shape += number in there & self.changing
        return shapes

    def sizes(self, there: set[int]) -> list[int | None]:
        """Returns the shape of one sample that arrives at each block."""
        return [shape[1] for shape, _ in self.arrived(there).values()]

    def rule(self, there: set[int]) -> bool:
        """Returns whether the program runs with these blocks."""
        return all(not group & there or group <= there for group in self.together)

    def __call__(self, calls: Mapping[int, Call]) -> RunObservations | None:
        there = set(calls)
        self.asked.append(frozenset(there))
        same = there - self.changing
        return RunObservations(same, self.arrived(there)) if self.rule(there) else None


def grouped(found: Program) -> list[set[int]]:
    """Returns the blocks of each step, in order."""
    numbers = dict.fromkeys(block.step for block in found.blocks if block.number not in found.template.head)
    return [{block.number for block in found.blocks if block.step == number} for number in numbers]


def test_blocks_that_run_alone_are_steps_of_their_own() -> None:
    found = steps(program(), needing(lambda there: True))
    assert found.template.head == (0, 8)
    assert grouped(found) == [{n} for n in range(1, 8)]


def test_a_block_that_needs_the_next_ones_is_joined_with_them_alone() -> None:
    found = steps(program(), needing(lambda there: len({2, 3} & there) != 1 and len({4, 7} & there) != 1))
    assert grouped(found) == [{1}, {2, 3}, {4, 7}, {5}, {6}]


def test_blocks_without_which_nothing_runs_join_the_head() -> None:
    found = steps(program(), needing(lambda there: {3, 6} <= there))
    assert found.template.head == (0, 3, 6, 8)
    assert grouped(found) == [{1}, {2}, {4}, {5}, {7}]


def test_a_program_that_does_not_run_is_refused() -> None:
    with pytest.raises(UserError, match=r"made\.py does not run, even"):
        steps(program(), needing(lambda there: False))
    with pytest.raises(UserError, match="needs all of its hidden layers"):
        steps(program(), needing(lambda there: len(there) == COUNT))


@examples(100)
@given(
    st.sets(st.integers(0, COUNT - 1), max_size=3),
    st.lists(st.sets(st.integers(0, COUNT - 1), min_size=2, max_size=4), max_size=3),
)
def test_each_step_runs_after_those_before_it(needed: set[int], together: list[set[int]]) -> None:
    asked: list[frozenset[int]] = []

    def rule(there: set[int]) -> bool:
        return needed <= there and all(not group & there or group <= there for group in together)

    def runs(calls: Mapping[int, Call]) -> RunObservations | None:
        asked.append(frozenset(calls))
        return RunObservations() if rule(set(calls)) else None

    try:
        found = steps(program(), runs)
    except UserError:
        # A program is refused if no block at all can be left out.
        assert all(not rule(set(range(COUNT)) - {n}) for n in range(1, COUNT - 1))
        return
    inserted = set(found.template.head)
    assert {0, COUNT - 1} <= inserted and rule(inserted)
    for step in grouped(found):
        inserted |= step
        assert rule(inserted)
    assert inserted == set(range(COUNT))
    assert len(asked) == len(set(asked))


def test_blocks_that_change_no_shape_are_inserted_at_once() -> None:
    chain = Chain({3, 6})
    assert grouped(steps(program(), chain)) == [{n} for n in range(1, 8)]
    # The runs: the whole program, the root, then plus 1 and 2, plus 3, plus 4 and 5, plus 6. Block 7 makes it whole.
    assert [len(there) for there in chain.asked] == [9, 2, 4, 5, 7, 8]


def test_blocks_that_are_used_once_need_no_run_of_their_own() -> None:
    chain = Chain({3, 6})
    assert grouped(steps(program(once=True), chain)) == [{n} for n in range(1, 8)]
    assert [len(there) for there in chain.asked] == [9, 2, 5, 8]


def test_a_block_that_has_branches_joined_is_run() -> None:
    chain = Chain({3}, joins=(4, 5))
    steps(program(once=True, joins=(4, 5)), chain)
    assert {0, 1, 2, 3, 4, 8} in map(set, chain.asked)


@examples(150)
@given(
    st.sets(st.integers(1, COUNT - 2)),
    st.lists(st.sets(st.integers(1, COUNT - 2), min_size=2, max_size=3), max_size=2),
    st.sets(st.integers(1, COUNT - 2), max_size=3),
    st.booleans(),
)
def test_what_is_not_run_has_nowhere_another_shape_than_what_is(
    changing: set[int], together: list[set[int]], joins: set[int], once: bool
) -> None:
    # Blocks that run in no other way than together do change the shape.
    changing |= {number for group in together for number in group}
    chain = Chain(changing, tuple(sorted(joins)), tuple(together))
    found = steps(program(once=once, joins=chain.joins), chain)
    inserted = set(found.template.head)
    known = [chain.sizes(set(there)) for there in chain.asked if chain.rule(set(there))]
    for step in [set[int](), *grouped(found)]:
        inserted |= step
        assert chain.rule(inserted)
        assert chain.sizes(inserted) in known
    assert len(chain.asked) == len(set(chain.asked))
    assert together or len(chain.asked) <= COUNT


TOY = """
import numpy as np
import fakelib as toy

def made(size):
    return toy.Layer(size)

class Net(toy.Module):
    def __init__(self):
        self.first, self.spare = toy.Layer(1), toy.Layer(1)
        self.some = {some}
        self.last = toy.Layer(1)
    def forward(self, x):
        x = self.spare(self.first(x))
        {computed}
        return self.last(x)

Net()(np.zeros(3))
"""
LIST = "list([toy.Layer(2), toy.Layer(3)])"


class SizedModule:
    """The class of all layers and models."""

    def __call__(self, x: Any) -> Any:
        return self.forward(x)  # type: ignore[attr-defined]


class SizedLayer(SizedModule):
    """A layer with a size, which returns its argument."""

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, x: Any) -> Any:
        """Returns the argument."""
        return x


class SizedSequence(SizedModule):
    """Layers that are computed one after another."""

    def __init__(self, *layers: SizedLayer) -> None:
        self.layers = layers

    def forward(self, x: Any) -> Any:
        """Returns what the last layer gives."""
        for layer in self.layers:
            x = layer(x)
        return x


# A container is known by its name.
SizedSequence.__name__ = "Sequential"


class SizedModels(Models):
    """The hooks of the toy library."""

    layer = SizedModule


@pytest.mark.parametrize(
    ("some", "computed", "head"),
    [
        (LIST, "x = x + self.some[1].size\n        for each in self.some: x = each(x)", {3}),
        (LIST, "for each in self.some: x = each(x) + self.some[1].size", {3}),
        ("toy.Sequential(toy.Layer(2), toy.Layer(3))", "x = self.some(x) + self.some.layers[0].size", {2}),
        ("toy.Sequential(toy.Layer(2), toy.Layer(3))", "x = self.some(x) + self.some.layers[1].size", {3}),
        ("made(2)", "x = self.some(x) + made(3).size", {2}),
        ("made(2)", "x = self.some(x) + self.some.size", {2}),
        ("made(2)", "x = self.some(x)", set()),
    ],
)
def test_a_layer_that_is_read_for_more_than_its_result_stays(
    some: str, computed: str, head: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = ModuleType("fakelib")
    vars(toy).update(Layer=SizedLayer, Sequential=SizedSequence, Module=SizedModule)
    monkeypatch.setitem(sys.modules, "fakelib", toy)
    program = taken_apart(TOY.format(some=some, computed=computed), models=SizedModels())

    def runs(calls: Mapping[int, Call]) -> RunObservations | None:
        try:
            exec(compile(assemble(program.template, calls), "toy.py", "exec"), {"__name__": "__main__"})
        except AttributeError:
            return None
        return RunObservations()

    found = steps(program, runs)
    assert set(found.template.head) == {0, len(program.blocks) - 1, *head}
