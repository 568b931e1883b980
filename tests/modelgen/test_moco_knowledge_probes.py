"""Tests of the facts that experiments find, on layers written here and executed in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import pytest
from signatures import api_of

from fuzz_core.campaign.moco.study_subject import Subject
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Prim, Seq, Tensor, Then, Value, prim
from fuzz_core.ir.wire import ModeRun
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence

Shape = tuple[int, ...]


class RefusalError(Exception):
    """The library's own error."""


def dense(x: Shape, features: int, units: int = 3, rate: float = 0.5, mode: str = "a") -> Shape:
    """A layer whose last axis has the size `features`, for any rank from 2."""
    if not 0 <= rate < 1:
        raise RefusalError(f"probability has to be between 0 and 1, but got {rate}")
    if units < 1:
        raise RefusalError("units must be greater than 0")
    if mode not in ("a", "b"):
        raise RefusalError(f"unknown mode {mode!r}: use 'a' or 'b'")
    if len(x) < 2 or x[-1] != features:
        raise RefusalError(f"expected {features} features, got {x}")
    return (*x[:-1], units)


def norm(x: Shape, channels: int, parts: int = 2) -> Shape:
    """A layer whose second axis has the size `channels`, in equal parts, for ranks 2 and 3."""
    if parts < 1 or channels % parts:
        raise RefusalError("channels must be divisible by parts")
    if len(x) not in (2, 3) or x[1] != channels:
        raise RefusalError(f"{channels} channels")
    return x


def grouped(x: Shape, size: int = 1, groups: int = 1) -> Shape:
    """A layer for which no parameter is the size of an axis, though the last axis has to be divisible by `groups`."""
    if groups < 1 or x[-1] % groups:
        raise RefusalError("no")
    return x


def both(x: Shape, y: Shape, power: int = 2, note: str | None = None) -> Shape:
    """A layer of two tensors of one shape."""
    if x != y:
        raise RefusalError("shapes differ")
    return x


def plain(value: Value) -> Any:
    match value:
        case Prim():
            return value.value
        case Tensor():
            return value.shape
        case Seq():
            return tuple(map(plain, value.items))
    raise AssertionError(value)


def in_process(layer: Callable[..., Shape]) -> Callable[[Invocation], ModeRun]:
    def run(call: Invocation) -> ModeRun:
        then = call.then or Then("", call.args)
        arguments = {name: plain(value) for name, value in call.kwargs}
        try:
            shape = layer(*map(plain, then.args), **arguments)
        except (RefusalError, TypeError) as error:
            return ModeRun(Outcome("exception", type(error).__name__, str(error)))
        assert prod(shape) >= 0
        return ModeRun(Outcome("ok"), Tensor("float32", shape))

    return run


def learnt(
    layer: Callable[..., Shape],
    definition: str,
    *calls: Invocation,
    kind: str = "class",
    pool: Mapping[str, Value] = {},
) -> Facts:
    api = api_of(definition, kind)
    subject = Subject(ApiEvidence(api, calls=calls, spell=lambda value: repr(plain(value))), in_process(layer))
    subject.find(pool, lambda: False)
    subject.bind(lambda: False)
    return subject.facts()


def called(arguments: dict[str, Value], *inputs: Tensor) -> Invocation:
    return Invocation("lib.nn.layer", (), tuple(arguments.items()), Then("__call__", inputs))


DENSE = "lib.nn.layer(features, units=3, rate=0.5, mode='a')"


def test_a_layer_that_nobody_has_called_is_made_to_work() -> None:
    found = learnt(dense, DENSE)
    assert found.origin is not None and found.origin.source == "probe"
    assert found.returns == "tensor" and found.inputs and found.example["features"] == str(found.inputs[0][-1])
    assert found.ranks == (2, 3, 4, 5)


def test_a_number_is_bound_to_the_last_axis_whatever_the_rank() -> None:
    found = learnt(dense, DENSE, called({"features": prim(6)}, Tensor("float32", (2, 6))))
    assert {each.name: each.binds for each in found.parameters} == {
        "features": -1,
        "units": None,
        "rate": None,
        "mode": None,
    }
    assert (found.example, found.inputs) == ({"features": "6"}, ((2, 6),))


def test_a_number_is_bound_to_the_second_axis_and_grows_so_that_it_stays_divisible() -> None:
    found = learnt(norm, "lib.nn.layer(channels, parts=2)", called({"channels": prim(4)}, Tensor("float32", (3, 4, 5))))
    channels, parts = found.parameters
    assert (channels.binds, parts.binds, found.ranks) == (1, None, (2, 3))
    assert [each.expression for each in found.relations] == ["channels % parts == 0"]
    assert found.relations[0].origin.source == "error message"


def test_what_only_has_to_divide_an_axis_is_not_bound() -> None:
    found = learnt(grouped, "lib.nn.layer(size=1, groups=1)", called({}, Tensor("float32", (4, 1))))
    assert [each.binds for each in found.parameters] == [None, None]


def test_what_a_library_refuses_is_no_bound_of_a_parameter() -> None:
    found = learnt(dense, DENSE)
    assert all(not each.bounds and not each.choices for each in found.parameters)


def test_an_example_has_no_more_than_it_needs() -> None:
    rich = called({"features": prim(6), "units": prim(9), "rate": prim(0.1)}, Tensor("float32", (2, 6)))
    assert learnt(dense, DENSE, rich).example == {"features": "6"}


def test_what_takes_two_tensors_has_two() -> None:
    pair = called({"power": prim(3)}, Tensor("float32", (2, 6)), Tensor("float32", (2, 6)))
    found = learnt(both, "lib.nn.layer(power=2, note=None)", pair)
    assert (found.example, found.inputs) == ({}, ((2, 6), (2, 6)))


def test_a_function_is_applied_to_its_first_parameter() -> None:
    found = learnt(dense, "lib.nn.layer(x, features, units=3)", kind="function")
    assert found.returns == "tensor" and "x" not in found.example
    bound = found.parameter("features")
    assert bound is not None and bound.binds == -1


def test_where_nothing_works_nothing_is_claimed() -> None:
    def never(x: Shape, **arguments: Any) -> Shape:
        raise RefusalError("units must be positive")

    found = learnt(never, DENSE, called({"features": prim(6)}, Tensor("float32", (2, 6))))
    assert (found.example, found.inputs, found.returns, found.origin) == ({}, (), "", None)
    assert all(each.binds is None and not each.bounds for each in found.parameters)


@pytest.mark.parametrize("size", [4, 1])
def test_what_other_apis_were_given_by_that_name_is_tried(size: int) -> None:
    def picky(x: Shape, width: int) -> Shape:
        if width != 37:
            raise RefusalError("no")
        return x

    found = learnt(picky, "lib.nn.layer(width)", pool={"width": prim(37)})
    assert found.example == {"width": "37"}


def test_what_could_not_be_tried_to_the_end_is_left_as_it_was_recorded() -> None:
    call = called({"features": prim(6)}, Tensor("float32", (2, 6)))
    api = api_of(DENSE, "class")
    subject = Subject(ApiEvidence(api, calls=[call], spell=lambda value: repr(plain(value))), in_process(dense))
    subject.find({}, lambda: True)
    found = subject.facts()
    assert (found.example, found.inputs) == ({"features": "6"}, ((2, 6),))
    assert found.origin is not None and found.origin.source == "trace"


def test_what_takes_a_fraction_is_no_whole_number_whatever_its_default() -> None:
    def layer(x: Shape, rate: float = 0, size: int = 1) -> Shape:
        if size != int(size):
            raise RefusalError("size has to be whole")
        return x

    rate, size = learnt(layer, "lib.nn.layer(rate=0, size=1)").parameters
    assert (rate.dtype, rate.structure, size.dtype) == ("float", "", "int")


def test_a_loss_that_nobody_has_called_is_tried_on_two_tensors() -> None:
    found = learnt(both, "lib.nn.layer(power=2, note=None)")
    assert (found.returns, found.example, len(found.inputs)) == ("tensor", {}, 2)
