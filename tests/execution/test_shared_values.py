"""Tries of a search share the values of their arguments."""

from __future__ import annotations

from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.modes import Builder
from fuzz_core.ir.values import Invocation, Seq, Tensor
from fuzz_core.worker.search import MOST_SHARED, SharedValues

SMALL = Tensor("float32", (2,))


def test_tries_share_values_and_the_arguments_of_one_call_do_not() -> None:
    adapter = adapter_of("fakelib")
    adapter.load()
    builder = Builder(adapter)
    shared = SharedValues(builder)
    call = Invocation("fakelib.add", (SMALL, SMALL), (("rest", Seq("list", (SMALL,))),))
    made = []
    for _ in range(2):
        with shared.of_call():
            _, args, keywords = builder.parts(call)
        made.append([*args, *keywords["rest"]])
    assert len({id(each) for each in made[0]}) == 3
    assert [id(each) for each in made[0]] == [id(each) for each in made[1]]
    assert builder.build(SMALL) is not made[0][0]


def test_values_of_old_tries_are_given_up() -> None:
    adapter = adapter_of("fakelib")
    adapter.load()
    builder = Builder(adapter)
    shared = SharedValues(builder)
    for size in range(2 * MOST_SHARED):
        with shared.of_call():
            builder.build(Tensor("float32", (size,)))
            assert len(shared.made) <= MOST_SHARED + 1
