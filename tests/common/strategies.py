"""Hypothesis strategies for values, and for arbitrary JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import pack
from fuzz_core.ir.values import Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, TestCase, Then, Value, prim

texts = st.text(max_size=8) | st.sampled_from(["T", "I", "S", "M", "R", "f", ":", "torch.add", "a|b`c\n"])
names = st.text(min_size=1, max_size=8) | st.sampled_from(["T", "input", "torch.nn.Conv2d"])
finite = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.floats(allow_nan=False)
prims = (
    st.none() | st.booleans() | st.integers() | numbers | st.complex_numbers(allow_nan=False) | texts | st.binary()
).map(prim) | st.just(Prim("ellipsis", None))
refs = st.builds(Ref, st.sampled_from(["dtype", "device", "name"]), names)
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
dtypes = st.sampled_from(sorted(DTYPES))
fills = st.builds(
    Fill,
    st.sampled_from(["uniform", "constant", "values"]),
    numbers,
    numbers,
    st.integers(0, 2**63),
    st.binary(max_size=16),
    st.none() | numbers,
)


@st.composite
def tensors(draw: st.DrawFn, dtypes: st.SearchStrategy[str] = dtypes, fills: st.SearchStrategy[Fill] = fills) -> Tensor:
    """Draws any described tensor; its data need not fit its shape."""
    shape = draw(shapes)
    strides = draw(st.none() | st.tuples(*[st.integers(0, 9)] * len(shape)))
    container = draw(st.sampled_from(["tensor", "parameter", "variable", "ndarray"]))
    return Tensor(draw(dtypes), shape, draw(fills), container, strides, draw(st.booleans()))


def _pairs(values: st.SearchStrategy[Value]) -> st.SearchStrategy[tuple[tuple[str, Value], ...]]:
    return st.lists(st.tuples(names, values), max_size=3, unique_by=lambda pair: pair[0]).map(tuple)


def _calls(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Invocation]:
    args = st.lists(values, max_size=4).map(tuple)
    then = st.none() | st.builds(Then, names, args, _pairs(values))
    return st.builds(Invocation, names, args, _pairs(values), then)


def _nodes(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    sequences = st.builds(Seq, st.sampled_from(["list", "tuple", "set"]), st.lists(values, max_size=4).map(tuple))
    return sequences | _pairs(values).map(Map) | _calls(values) | st.builds(Slice, values, values, values)


# Deferred: a strategy that is built of others prints itself with all of them, in every report.
values: st.SearchStrategy[Value] = st.deferred(lambda: prims | refs | tensors() | _nodes(values))
invocations = st.deferred(lambda: _calls(values))
tests = st.deferred(
    lambda: st.builds(TestCase, invocations, st.integers(0, 2**63 - 1), st.integers(0, 9), st.lists(names).map(tuple))
)
json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda parts: st.lists(parts, max_size=8) | st.dictionaries(texts, parts, max_size=8),
    max_leaves=20,
)


def kept(values: Any, dtype: str) -> Tensor:
    """Returns a tensor that holds these values."""
    array = np.asarray(values, DTYPES[dtype].storage)
    return Tensor(dtype, array.shape, Fill("values", data=pack(array)))
