"""Tests that encoded data is read back, and that any other input is refused with CodecError alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import strategies
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz_core.ir import wire
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import MAX_DEPTH, decode, decode_test, digest, dumps, encode, encode_test, loads
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import KINDS, Outcome
from fuzz_core.ir.values import Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, TestCase, Then, Value, prim

NUMBERS = (prim(1), prim(2))
TENSOR = Tensor("float32", (2, 3), Fill("uniform", -1.0, 1.0, 7), "tensor", (3, 1), True)
WHOLE = Invocation(
    "torch.nn.LSTM",
    (prim(1), prim(2.5), prim("x"), prim(b"y"), prim(1j), prim(float("inf")), Prim("ellipsis", None), prim(None)),
    (("x", Seq("tuple", (Ref("dtype", "float32"), TENSOR))), ("y", Map((("k", prim(True)),)))),
    Then("__call__", (Slice(prim(0), prim(None), prim(2)),), (("z", TENSOR),)),
)


def mutations(data: Any) -> Iterator[Any]:
    """Yields the same JSON with one list longer, shorter or turned into an object, or one tag or name unknown."""
    if not isinstance(data, list):
        return
    yield {}
    yield {str(index): item for index, item in enumerate(data)}
    if data and data[0] in ("f", "c", "b", "e", "S", "M", ":", "R", "T", "I"):
        yield from ([*data, None], [*data, []], data[:-1], ["?", *data[1:]], [[], *data[1:]], [None, *data[1:]])
    for index, item in enumerate(data):
        yield from ([*data[:index], changed, *data[index + 1 :]] for changed in mutations(item))


@given(strategies.values)
def test_a_value_is_read_back(value: Value) -> None:
    assert decode(json.loads(json.dumps(encode(value)))) == value
    assert loads(dumps(value)) == value


@given(strategies.tests)
def test_a_test_case_is_read_back(test: TestCase) -> None:
    assert decode_test(json.loads(json.dumps(encode_test(test)))) == test


@given(strategies.values)
def test_scalars_that_compare_equal_stay_apart(value: Value) -> None:
    assert repr(loads(dumps(value))) == repr(value)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "-0.0"])
def test_numbers_that_json_lacks_are_kept(number: str) -> None:
    odd = float(number)
    for value in (prim(odd), prim(complex(odd, 1.0)), Tensor("float32", (1,), Fill(low=odd, special=odd))):
        assert repr(loads(dumps(value))) == repr(value)
        json.loads(dumps(value), parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))


@given(strategies.json_data)
@example([":", 1, 2])
@example(["T", "float32", "", ["uniform", "0", "1", 0, "", None], "tensor", None, False])
@example(["M", ["ab"]])
@example(["M", {"ab": 1}])
@example([["T"] * 10])
@example(["S", "list", {}])
def test_json_that_means_nothing_raises_codec_errors_alone(data: Any) -> None:
    for read in (decode, decode_test, partial(wire.decode, Api), Outcome.from_json):
        try:
            read(data)
        except CodecError as error:
            assert len(str(error)) < 1000


@given(st.text() | strategies.json_data.map(json.dumps))
@example("[" * 100_000)
@example("[" * 50 + "]" * 50)
@example("1" * 5000)
def test_text_that_means_nothing_raises_codec_errors_alone(text: str) -> None:
    try:
        value = loads(text)
    except CodecError:
        return
    assert repr(loads(dumps(value))) == repr(value)


MUTATIONS = list(mutations(encode(WHOLE)))


@pytest.mark.parametrize("number", range(len(MUTATIONS)))
def test_every_change_of_structure_is_refused(number: int) -> None:
    with pytest.raises(CodecError):
        decode(MUTATIONS[number])


@pytest.mark.parametrize(
    "fields",
    [
        {"dtype": "float31"}, {"shape": [2, -3]}, {"shape": [2.0, 3]}, {"shape": [True, 3]}, {"shape": "23"},
        {"strides": [1]}, {"strides": [-1, 1]}, {"container": "list"}, {"requires_grad": 1}, {"fill": None},
        {"fill": ["gauss", "0.0", "1.0", 0, "", None]}, {"fill": ["uniform", 0.0, "1.0", 0, "", None]},
        {"fill": ["uniform", "zero", "1.0", 0, "", None]}, {"fill": ["uniform", "0.0", "1.0", 0.5, "", None]},
        {"fill": ["values", "0.0", "1.0", 0, "not base64", None]}, {"fill": ["uniform", "0.0", "1.0", 0, "", 1.0]},
    ],
)  # fmt: skip
def test_a_tensor_with_a_bad_part_is_refused(fields: dict[str, Any]) -> None:
    names = ("dtype", "shape", "fill", "container", "strides", "requires_grad")
    data = dict(zip(names, encode(TENSOR)[1:], strict=True))
    with pytest.raises(CodecError):
        decode(["T", *{**data, **fields}.values()])


def test_data_that_cannot_be_printed_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for data in ([10**5000], ["?", 10**5000], deep, ["S", "list", [deep]]):
        with pytest.raises(CodecError):
            decode(data)


def test_nesting_is_read_to_a_limit_and_no_deeper() -> None:
    value: Value = prim(1)
    for _ in range(MAX_DEPTH + 1):
        value = Seq("list", (value,))
    assert loads(dumps(value)) == value
    with pytest.raises(CodecError):
        loads(dumps(Seq("list", (value,))))


def test_a_test_case_needs_an_invocation() -> None:
    for data in ([encode(prim(1)), 1, 0, []], [encode(TENSOR), 1, 0, []], [encode(WHOLE), "1", 0, []], [], None):
        with pytest.raises(CodecError):
            decode_test(data)


@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_are_read_back_and_others_refused(kind: str) -> None:
    outcome = Outcome(kind, "RuntimeError", "text", ("frame",), 0.5)
    data = json.loads(json.dumps(outcome))
    assert Outcome.from_json(data) == outcome
    for changed in ([*data, 1], data[:-1], ["fine", *data[1:]], [*data[:4], "0.5"], [*data[:3], "frame", 0.5]):
        with pytest.raises(CodecError):
            Outcome.from_json(changed)


def without_elements(value: Any) -> Any:
    """Returns the value with the fill of every tensor reset, at any depth."""
    if isinstance(value, Tensor):
        return value._replace(fill=Fill())
    if isinstance(value, tuple):
        parts = [without_elements(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


@given(strategies.values, strategies.values)
@example(Invocation("f", (prim("T"), *NUMBERS, prim(3))), Invocation("f", (prim("T"), *NUMBERS, prim(4))))
@example(prim(1), prim(True))
@example(prim(1), prim(1.0))
def test_the_identity_is_everything_but_elements(one: Value, other: Value) -> None:
    same = repr(without_elements(one)) == repr(without_elements(other))
    assert (digest(one) == digest(other)) == same


@given(strategies.values)
@example(Map((("T", TENSOR),)))
@example(Seq("list", (prim("T"), TENSOR)))
def test_the_identity_ignores_elements_wherever_they_stand(value: Value) -> None:
    assert digest(value) == digest(without_elements(value))


@given(strategies.tensors(), st.data())
def test_the_identity_of_a_tensor_is_all_its_other_fields(tensor: Tensor, data: st.DataObject) -> None:
    other = data.draw(strategies.tensors())
    assert digest(tensor._replace(fill=other.fill)) == digest(tensor)
    for field in set(Tensor._fields) - {"fill"}:
        changed = tensor._replace(**{field: getattr(other, field)})
        assert (digest(changed) == digest(tensor)) == (changed == tensor)
