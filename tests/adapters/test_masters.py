"""Masters: each is built once, and every property that changes the elements makes another master."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fuzz_core.adapters.arrays import masters
from fuzz_core.ir.elements import elements
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Fill, Tensor


def counted(limit: int = 4) -> tuple[Callable[[Tensor], bytes], list[Tensor]]:
    made: list[Tensor] = []

    def make(tensor: Tensor) -> bytes:
        made.append(tensor)
        return elements(tensor).tobytes()

    return masters(make, limit), made


def test_what_is_asked_for_again_is_made_once() -> None:
    master, made = counted()
    for _ in range(3):
        assert master(Tensor("int64", (2,), Fill("constant", 7.0))) == (b"\x07" + bytes(7)) * 2
    assert len(made) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [(Fill("constant", 0.0), Fill("constant", -0.0)), (Fill(special=0.0), Fill(special=-0.0)), (Fill(), Fill(key=1))],
)
def test_elements_that_differ_have_masters_of_their_own(one: Fill, other: Fill) -> None:
    master, made = counted()
    for fill in (one, other):
        tensor = Tensor("float32", (4,), fill)
        assert master(tensor) == elements(tensor).tobytes()
    assert len(made) == 2


def test_the_number_of_masters_is_bounded_and_those_in_use_stay() -> None:
    master, made = counted(limit=4)
    used = Tensor("bool", ())
    for size in range(100):
        master(Tensor("bool", (size,)))
        master(used)
    assert made.count(used) == 1
    master(Tensor("bool", (0,)))
    assert made.count(Tensor("bool", (0,))) == 2


def test_what_cannot_be_built_is_not_kept() -> None:
    master, made = counted()
    broken = Tensor("float32", (2,), Fill("values", data=b"123"))
    for _ in range(2):
        with pytest.raises(BuildError):
            master(broken)
    assert len(made) == 2
