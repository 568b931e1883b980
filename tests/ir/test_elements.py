"""Tests of the elements of described tensors: the same on every machine, in their range, of their type."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.elements import POOL_SIZE, elements, pack, period, window
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Fill, Tensor

REAL = sorted(name for name, dtype in DTYPES.items() if dtype.kind == "float")
COMPLEX = sorted(name for name, dtype in DTYPES.items() if dtype.kind == "complex")
WHOLE = sorted(name for name, dtype in DTYPES.items() if dtype.kind in ("int", "uint", "bool"))
keys = st.integers(0, 2**63)
ranges = st.tuples(strategies.finite, strategies.finite).map(sorted)


def drawn(
    dtype: str, low: float, high: float, key: int = 0, size: int = 100, special: float | None = None
) -> NDArray[Any]:
    return elements(Tensor(dtype, (size,), Fill("uniform", low, high, key, special=special)))


@given(strategies.tensors(fills=st.builds(Fill, st.sampled_from(["uniform", "constant"]), strategies.numbers,
                                          strategies.numbers, keys, special=st.none() | st.floats())))  # fmt: skip
@example(Tensor("uint64", (2,), Fill("uniform", 2.0**64, 2.0**64)))
@example(Tensor("uint64", (2,), Fill("uniform", 2.0**64 - 4096, 2.0**64)))
@example(Tensor("uint64", (2,), Fill("uniform", 2.0**63, 2.0**63)))
@example(Tensor("int64", (2,), Fill("uniform", float("-inf"), float("inf"))))
@example(Tensor("uint64", (), Fill("uniform", 2.0**63, 0.0)))
def test_any_range_gives_elements_of_the_storage_type(tensor: Tensor) -> None:
    flat = elements(tensor)
    assert (flat.dtype.name, flat.shape) == (DTYPES[tensor.dtype].storage, (tensor.size,))


@pytest.mark.parametrize("dtype", REAL)
@given(ranges, keys)
@example([-1.7e308, 1.7e308], 3)
@example([0.1, 0.1], 3)
def test_floats_stay_in_their_range_up_to_rounding(dtype: str, range_: list[float], key: int) -> None:
    with np.errstate(over="ignore"):
        low, high = np.array(range_).astype(DTYPES[dtype].storage)
    flat = drawn(dtype, *range_, key)
    assert (low <= flat).all()
    assert (flat <= high).all()


def test_a_range_whose_width_overflows_is_drawn_from_on_both_sides() -> None:
    flat = drawn("float64", -1.7e308, 1.7e308, 3)
    assert flat.min() < -1e307
    assert flat.max() > 1e307


@pytest.mark.parametrize("dtype", COMPLEX)
@given(st.tuples(st.floats(-1e30, 1e30), st.floats(-1e30, 1e30)).map(sorted), keys)
def test_both_parts_of_complex_numbers_stay_in_the_range(dtype: str, range_: list[float], key: int) -> None:
    flat = drawn(dtype, *range_, key)
    low, high = np.array(range_).astype(flat.real.dtype)
    for part in (flat.real, flat.imag):
        assert (low <= part).all()
        assert (part <= high).all()


def test_the_parts_of_a_complex_number_are_independent() -> None:
    flat = drawn("complex64", 0.0, 1.0)
    assert not np.array_equal(flat.real, flat.imag)


@pytest.mark.parametrize("dtype", WHOLE)
@given(st.data(), keys)
def test_integers_stay_in_their_range_and_that_of_the_dtype(dtype: str, data: st.DataObject, key: int) -> None:
    bottom, top = integer_bounds(dtype)
    wide = st.integers(bottom - 5, top + 5).map(float)
    low, high = sorted(data.draw(st.tuples(wide, wide)))
    flat = [int(n) for n in drawn(dtype, low, high, key)]
    assert max(bottom, min(top, int(low))) <= min(flat)
    assert max(flat) <= max(bottom, min(top, int(high)))


@pytest.mark.parametrize("dtype", WHOLE)
def test_the_whole_range_of_a_dtype_is_drawn_from(dtype: str) -> None:
    bottom, top = integer_bounds(dtype)
    flat = [int(n) for n in drawn(dtype, float("-inf"), float("inf"), size=5000)]
    quarter = (top - bottom) // 4
    assert min(flat) <= bottom + quarter
    assert max(flat) >= top - quarter


def test_small_ranges_of_integers_are_drawn_from_evenly() -> None:
    values, counts = np.unique(drawn("int32", -1, 2, size=POOL_SIZE), return_counts=True)
    assert values.tolist() == [-1, 0, 1, 2]
    assert counts.min() > 0.9 * POOL_SIZE / 4


@given(keys, st.integers(0, 40))
def test_a_draw_depends_on_the_key_alone(key: int, size: int) -> None:
    long, short = drawn("float64", 0.0, 1.0, key, 40), drawn("float64", 0.0, 1.0, key, size)
    assert long[:size].tolist() == short.tolist()
    assert np.array_equal(drawn("float64", 0.0, 1.0, key), drawn("float64", 0.0, 1.0, key))


def test_draws_are_the_same_on_every_machine() -> None:
    assert drawn("float64", 0.0, 1.0, 5, 3).tolist() == [0.3655019217429646, 0.7217869767536216, 0.17232464919758372]
    assert drawn("int64", -1000, 1000, 5, 4).tolist() == [-269, 444, -656, 47]
    every = hashlib.sha256(window(0, POOL_SIZE).tobytes()).hexdigest()
    assert every[:16] == "8e9e906bbb7e871b"


def test_a_window_wraps_around_the_pool() -> None:
    wrapped = window(POOL_SIZE - 2, 2 * POOL_SIZE)
    assert wrapped[:4].tolist() == [*window(POOL_SIZE - 2, 2), *window(0, 2)]
    assert wrapped[:POOL_SIZE].tolist() == wrapped[POOL_SIZE:].tolist()


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
@pytest.mark.parametrize("special", ["nan", "inf", "-inf", "-0.0", "7.0"])
def test_a_special_number_stands_at_every_third_place(dtype: str, special: str) -> None:
    flat = drawn(dtype, 1.0, 2.0, special=float(special), size=7)
    assert [str(float(n.real)) for n in flat[::3]] == [special] * 3
    assert ((flat[1::3].real >= 1.0) & (flat[1::3].real <= 2.0)).all()


@pytest.mark.parametrize("dtype", WHOLE)
def test_integers_have_no_special_numbers(dtype: str) -> None:
    assert drawn(dtype, 1.0, 1.0, special=float("nan")).tolist() == drawn(dtype, 1.0, 1.0).tolist()


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("fill", [Fill(), Fill("constant", 3.0), Fill("values", data=b"")])
def test_nothing_is_drawn_for_an_empty_tensor(dtype: str, fill: Fill) -> None:
    assert elements(Tensor(dtype, (2, 0), fill)).shape == (0,)


@pytest.mark.parametrize("dtype", [name for name in sorted(DTYPES) if name != "string"])
def test_constants_are_cut_to_the_dtype(dtype: str) -> None:
    flat = elements(Tensor(dtype, (3,), Fill("constant", 1e300)))
    exact = {"float64": 1e300, "complex128": 1e300}
    top = integer_bounds(dtype)[1] if dtype in WHOLE else exact.get(dtype, math.inf)
    assert flat.tolist() == [top] * 3


@given(st.data(), st.sampled_from([name for name in sorted(DTYPES) if name != "string"]))
def test_given_values_are_kept(data: st.DataObject, dtype: str) -> None:
    raw = np.frombuffer(data.draw(st.binary(min_size=32, max_size=32)), "uint8")
    array = (raw % 2).astype(bool) if dtype == "bool" else raw.view(DTYPES[dtype].storage)
    made = elements(strategies.kept(array, dtype))
    assert made.tobytes() == array.tobytes()
    assert made.flags.writeable


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))), min_size=1, max_size=5))
def test_given_texts_are_kept(given_texts: list[str]) -> None:
    array = np.array(given_texts, dtype=object)
    assert elements(strategies.kept(array, "string")).tolist() == given_texts


def test_given_values_are_repeated_or_cut_to_the_size() -> None:
    three = Fill("values", data=pack(np.arange(3)))
    assert elements(Tensor("int64", (5,), three)).tolist() == [0, 1, 2, 0, 1]
    assert elements(Tensor("int64", (2,), three)).tolist() == [0, 1]


def test_bytes_are_packed_little_endian() -> None:
    assert pack(np.array([1, 2], dtype=">i2")) == b"\x01\x00\x02\x00"
    assert pack(np.asfortranarray([[1, 2], [3, 4]]).astype("uint8")) == b"\x01\x02\x03\x04"


@pytest.mark.parametrize("data", [b"", b"123"])
def test_data_that_do_not_fit_cannot_be_built(data: bytes) -> None:
    with pytest.raises(BuildError):
        elements(Tensor("float32", (2,), Fill("values", data=data)))


@pytest.mark.parametrize(
    "fill", [Fill("constant", 7.0), Fill("uniform", 0.0, 9.0), Fill("values", data=bytes(range(16)))]
)
def test_an_expanded_tensor_is_never_in_memory_and_has_a_period(fill: Fill) -> None:
    """An array of its elements would have two exabytes."""
    expanded = Tensor("int64", (1, 2**58), fill, strides=(0, 0))
    with pytest.raises(MemoryError, match="more than"):
        elements(expanded)
    few = expanded._replace(shape=(1, 100_000), strides=None)
    assert elements(few).tolist() == np.resize(period(expanded), 100_000).tolist()
    assert period(few._replace(shape=(3,))).tolist() == elements(few._replace(shape=(3,))).tolist()
