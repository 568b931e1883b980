"""Calls beside a test case: the same but for elements that a difference must not depend on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.drawing import elements, pack
from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.parts import tensors_of, with_tensors
from fuzz_core.ir.values import Fill, Tensor, TestCase

# Far enough from a kink that a difference quotient no longer sees it.
ASIDE = 1e-3
# Of ASIDE: a derivative that changes by more than its tolerance is amplified a thousand times.
NUDGE = 1e-3
# A product of eight numbers of these magnitudes neither overflows nor vanishes in single precision.
LEAST, LARGEST = 2.0**-12, 2.0**12
WHOLE = ("int", "uint")

Elements = NDArray[Any]


def aside(test: TestCase) -> TestCase:
    """Every real number a little off, by an amount that depends on where it stands: ties and kinks are gone."""
    return _changed(test, ("float",), lambda drawn, _: drawn * (1 + _places(drawn)) + (drawn == 0) * _places(drawn))


def nudged(test: TestCase) -> TestCase:
    """Every real number, in double precision, off by less than matters to a derivative."""

    def of(tensor: Tensor) -> Tensor:
        if DTYPES[tensor.dtype].kind != "float" or not tensor.size:
            return tensor
        drawn = elements(tensor).astype(np.float64)
        return tensor._replace(dtype="float64", fill=Fill("values", data=pack(drawn * (1 + NUDGE * _places(drawn)))))

    return test._replace(invocation=with_tensors(test.invocation, of))


def tempered(test: TestCase) -> TestCase:
    """Every real number that is not zero between LEAST and LARGEST in magnitude."""
    return _changed(test, ("float",), lambda drawn, _: np.sign(drawn) * np.clip(np.abs(drawn), LEAST, LARGEST))


def without_ties(test: TestCase) -> TestCase:
    """Every tensor of integers by the ranks of its elements, of equal ones in order: none is equal to another."""
    return _changed(test, WHOLE, _ranks)


def grown(test: TestCase) -> TestCase:
    """Every length of no elements is one: what is accepted for want of elements is looked at."""
    return test._replace(invocation=with_tensors(test.invocation, _grown))


def has_ties(test: TestCase) -> bool:
    """Whether a tensor of integers has equal elements."""
    whole = (tensor for tensor in tensors_of(test.invocation) if DTYPES[tensor.dtype].kind in WHOLE and tensor.size)
    return any(len(np.unique(elements(tensor))) < tensor.size for tensor in whole)


def _changed(test: TestCase, kinds: tuple[str, ...], change: Callable[[Elements, str], Elements]) -> TestCase:
    def of(tensor: Tensor) -> Tensor:
        dtype = DTYPES[tensor.dtype]
        if dtype.kind not in kinds or not tensor.size:
            return tensor
        with np.errstate(all="ignore"):
            made = change(elements(tensor).astype(np.float64 if dtype.kind == "float" else dtype.storage), tensor.dtype)
            return tensor._replace(fill=Fill("values", data=pack(made.astype(dtype.storage))))

    return test._replace(invocation=with_tensors(test.invocation, of))


def _grown(tensor: Tensor) -> Tensor:
    return (
        tensor if tensor.size else tensor._replace(shape=tuple(max(length, 1) for length in tensor.shape), fill=Fill())
    )


def _places(drawn: Elements) -> Elements:
    turned: Elements = np.cos(1 + 2.4 * np.arange(drawn.size))
    return ASIDE * turned


def _ranks(drawn: Elements, dtype: str) -> Elements:
    if drawn.size > integer_bounds(dtype)[1] + 1:
        return drawn
    return np.argsort(np.argsort(drawn, kind="stable"), kind="stable")
