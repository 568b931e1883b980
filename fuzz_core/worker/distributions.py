"""Arguments that must be probability distributions: the derivatives of a cross entropy rely on that without a check.

The derivative of softmax and cross entropy in one step is `softmax(logits) - labels`, which is right only if the labels
sum to one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from fuzz_core.ir.drawing import elements, pack
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.tree import rewritten, tensors_of
from fuzz_core.ir.values import Fill, Tensor, TestCase, Value
from fuzz_core.worker.evidence import Difference
from fuzz_core.worker.nearby import INTEGER

_SPEAKS_OF_DISTRIBUTIONS = re.compile(r"cross[-_ ]?entropy|probability\s+distribution", re.IGNORECASE)


def is_no_distribution(found: Difference) -> bool:
    """Return whether the modes agree once a tensor holds distributions; False if documentation speaks of none."""
    builder = found.executor.mode(found.mode).builder
    text = getattr(builder.found(found.case.invocation.api), "__doc__", None) or ""
    if not _SPEAKS_OF_DISTRIBUTIONS.search(text):
        return False
    return any(found.agree(case) for case in distributed(found.case))


def distributed(case: TestCase) -> Iterator[TestCase]:
    """Yield the call with each tensor in turn as distributions along each of its dimensions, the last one first.

    Real numbers are divided by their sum; of integers, the largest becomes 1, and the others 0.
    """
    for tensor in dict.fromkeys(tensors_of(case.invocation)):
        if tensor.size and DTYPES[tensor.dtype].kind in ("float", *INTEGER):
            for axis in reversed(range(len(tensor.shape))):
                yield _exchanged(case, tensor, _distributed(tensor, axis))


def _distributed(tensor: Tensor, axis: int) -> Tensor:
    dtype, drawn = DTYPES[tensor.dtype], elements(tensor).reshape(tensor.shape)
    if dtype.kind == "float":
        sizes = np.abs(drawn.astype(np.float64))
        total = sizes.sum(axis, keepdims=True)
        made = np.where(total > 0, sizes / np.where(total > 0, total, 1.0), 1.0 / tensor.shape[axis])
    else:
        ranks = np.arange(tensor.shape[axis]).reshape([-1 if at == axis else 1 for at in range(len(tensor.shape))])
        made = ranks == np.expand_dims(drawn.argmax(axis), axis)
    return tensor._replace(fill=Fill("values", data=pack(made.astype(dtype.storage).reshape(-1))))


def _exchanged(case: TestCase, old: Tensor, new: Tensor) -> TestCase:
    def of(value: Value) -> Value:
        return new if value == old else value

    return case._replace(invocation=rewritten(case.invocation, of))
