"""Calls beside a test case: the same but for elements that a difference must not depend on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.drawing import elements, pack
from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.tree import tensors_of, with_tensors
from fuzz_core.ir.values import Fill, Tensor, TestCase

# Far enough from a kink that a difference quotient no longer sees it.
ASIDE = 1e-3
# Of ASIDE: a derivative that changes by more than its tolerance is amplified a thousand times.
NUDGE = 1e-3
# A product of eight numbers of these magnitudes neither overflows nor vanishes in single precision.
LEAST, LARGEST = 2.0**-12, 2.0**12
WHOLE = ("int", "uint", "bool")

Elements = NDArray[Any]


def aside(test: TestCase) -> TestCase:
    """Every real number a little off, by an amount that depends on where it stands: ties and kinks are gone.

    In single precision where that is more than there is: else equal ones would be rounded to equal ones.
    """
    return _changed(test, lambda drawn: drawn * (1 + _places(drawn)) + (drawn == 0) * _places(drawn), "float32")


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
    return _changed(test, lambda drawn: np.sign(drawn) * np.clip(np.abs(drawn), LEAST, LARGEST))


def without_ties(test: TestCase) -> TestCase:
    """Every tensor of integers by the ranks of its elements, of equal ones in order: none is equal to another.

    In 64 bits where the dtype does not have so many numbers.
    """
    return test._replace(invocation=with_tensors(test.invocation, _ranked))


def grown(test: TestCase) -> TestCase:
    """Every length of no elements is one: what is accepted for want of elements is looked at."""
    return test._replace(invocation=with_tensors(test.invocation, _grown))


def has_ties(test: TestCase) -> bool:
    """Whether a tensor of integers has equal elements."""
    whole = (tensor for tensor in tensors_of(test.invocation) if DTYPES[tensor.dtype].kind in WHOLE and tensor.size)
    return any(len(np.unique(elements(tensor))) < tensor.size for tensor in whole)


def _changed(test: TestCase, change: Callable[[Elements], Elements], least: str = "") -> TestCase:
    def of(tensor: Tensor) -> Tensor:
        dtype = DTYPES[tensor.dtype]
        if dtype.kind != "float" or not tensor.size:
            return tensor
        name = least if least and DTYPES[least].bits > dtype.bits else tensor.dtype
        with np.errstate(all="ignore"):
            made = change(elements(tensor).astype(np.float64))
            return tensor._replace(dtype=name, fill=Fill("values", data=pack(made.astype(DTYPES[name].storage))))

    return test._replace(invocation=with_tensors(test.invocation, of))


def _grown(tensor: Tensor) -> Tensor:
    return (
        tensor if tensor.size else tensor._replace(shape=tuple(max(length, 1) for length in tensor.shape), fill=Fill())
    )


def _places(drawn: Elements) -> Elements:
    turned: Elements = np.cos(1 + 2.4 * np.arange(drawn.size))
    return ASIDE * turned


def _ranked(tensor: Tensor) -> Tensor:
    if DTYPES[tensor.dtype].kind not in WHOLE or not tensor.size:
        return tensor
    ranks = np.argsort(np.argsort(elements(tensor), kind="stable"), kind="stable")
    dtype = tensor.dtype if tensor.size <= integer_bounds(tensor.dtype)[1] + 1 else "int64"
    return tensor._replace(dtype=dtype, fill=Fill("values", data=pack(ranks.astype(DTYPES[dtype].storage))))
