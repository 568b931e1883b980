"""Domains of tensors' elements that documentation names and no kernel checks: distributions, intervals, and indices.

The derivative of softmax and cross entropy in one step is `softmax(logits) - labels`, which is right only if the labels
sum to one. The output of `rgb_to_hsv` "is only well defined if the value in `images` are in `[0,1]`". The output of
`tensor_scatter_nd_update` is nondeterministic "if `indices` contains duplicates", and has no derivative then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import inf

import numpy as np

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import elements, pack
from fuzz_core.ir.tree import rewritten, tensors_of
from fuzz_core.ir.values import Fill, Tensor, TestCase, Value
from fuzz_core.worker.evidence import Difference
from fuzz_core.worker.nearby import FLOATING, INTEGER, Elements, with_distinct_indices

# Elements leave this share of an interval's length free at each end: ends may be excluded.
MARGIN = 0.05
_SPEAKS_OF_REPEATS = re.compile(r"\bduplicates?\b|\bnot\s+unique\b|\brepeated\s+indices\b", re.IGNORECASE)
_SPEAKS_OF_DEVICES = re.compile(
    r"\bdifferent\s+(?:\w+\s+){0,2}(?:hardware|platforms?|devices?)\b[^.]*\bmay\b[^.]*\bdifferent\b", re.IGNORECASE
)
_SPEAKS_OF_DISTRIBUTIONS = re.compile(r"cross[-_ ]?entropy|probability\s+distribution", re.IGNORECASE)
# A sentence, a paragraph, or the entry of an argument.
_SENTENCES = re.compile(r"(?<=[.;])\s+(?=[A-Z\"'({`])|\n\s*\n|\n\s*(?=\w+(?: \([^)\n]*\))?: )")
_OBLIGES = re.compile(r"\b(?:defined|must|should|ha(?:s|ve) to|needs? to|assumed?|expected)\b", re.IGNORECASE)
_OF_ELEMENTS = re.compile(r"\b(?:values?|elements?|entries|pixels?)\b", re.IGNORECASE)
_NUMBER = r"(-?\d+(?:\.\d*)?)"
_INTERVAL = re.compile(rf"[\[(]\s*{_NUMBER}\s*,\s*{_NUMBER}\s*[\])]")


def is_no_distribution(found: Difference) -> bool:
    """Return whether the modes agree once a tensor holds distributions; False if documentation speaks of none."""
    if not _SPEAKS_OF_DISTRIBUTIONS.search(_documentation(found)):
        return False
    return any(found.agree(case) for case in distributed(found.case))


def repeats_indices(found: Difference) -> bool:
    """Return whether the modes agree once indices are distinct; False if documentation speaks of no repeated ones."""
    if not _SPEAKS_OF_REPEATS.search(_documentation(found)):
        return False
    return any(found.agree(case) for case in with_distinct_indices(found.case))


def is_outside_of_interval(found: Difference) -> bool:
    """Return whether the modes agree once a tensor is within an interval; False if documentation names none."""
    near = (case for low, high in intervals(_documentation(found)) for case in confined(found.case, low, high))
    return any(found.agree(case) for case in near)


def depends_on_device(found: Difference) -> bool:
    """Return whether two devices give other elements, and documentation says that they may, as for singular vectors."""
    if found.mode not in found.adapter.device_modes() or not _SPEAKS_OF_DEVICES.search(_documentation(found)):
        return False
    return not found.adapter.differences(found.reference, found.result, "shape")


def _documentation(found: Difference) -> str:
    builder = found.executor.mode(found.mode).builder
    return getattr(builder.found(found.case.invocation.api), "__doc__", None) or ""


def intervals(text: str) -> Iterator[tuple[float, float]]:
    """Yield the interval of each sentence that limits the elements of an argument.

    A sentence with several intervals, for several channels, gives what all of them share.
    """
    for sentence in _SENTENCES.split(text):
        named = [(float(low), float(high)) for low, high in _INTERVAL.findall(sentence)]
        if named and _OBLIGES.search(sentence) and _OF_ELEMENTS.search(sentence):
            low, high = max(low for low, _ in named), min(high for _, high in named)
            if low < high:
                yield low, high


def confined(case: TestCase, low: float, high: float) -> Iterator[TestCase]:
    """Yield the call with each tensor of real numbers that leaves an interval moved and scaled into it."""

    def scaled(drawn: Elements) -> Elements:
        numbers = drawn.astype(np.float64)
        least, length = numbers.min(), np.ptp(numbers)
        parts = (numbers - least) / length if 0 < length < inf else np.full_like(numbers, 0.5)
        confined: Elements = low + (high - low) * (MARGIN + (1 - 2 * MARGIN) * parts)
        return confined

    for tensor in dict.fromkeys(tensors_of(case.invocation)):
        if tensor.size and DTYPES[tensor.dtype].kind == FLOATING[0]:
            drawn = elements(tensor)
            if (drawn < low).any() or (drawn > high).any():
                yield _exchanged(case, tensor, scaled)


def distributed(case: TestCase) -> Iterator[TestCase]:
    """Yield the call with each tensor in turn as distributions along each of its dimensions, the last one first.

    Real numbers are divided by their sum. The largest integer becomes 1, and all smaller ones 0.
    """
    for tensor in dict.fromkeys(tensors_of(case.invocation)):
        change = {FLOATING[0]: _divided, **dict.fromkeys(INTEGER, _one_hot)}.get(DTYPES[tensor.dtype].kind)
        if tensor.size and change is not None:
            for axis in reversed(range(len(tensor.shape))):
                yield _exchanged(case, tensor, lambda drawn, axis=axis, change=change: change(drawn, axis))  # type: ignore[misc]


def _divided(drawn: Elements, axis: int) -> Elements:
    sizes = np.abs(drawn.astype(np.float64))
    total = sizes.sum(axis, keepdims=True)
    shares: Elements = np.where(total > 0, sizes / np.where(total > 0, total, 1.0), 1.0 / drawn.shape[axis])
    return shares


def _one_hot(drawn: Elements, axis: int) -> Elements:
    places = np.indices(drawn.shape)[axis]
    largest: Elements = places == np.expand_dims(drawn.argmax(axis), axis)
    return largest


def _exchanged(case: TestCase, old: Tensor, change: Callable[[Elements], Elements]) -> TestCase:
    """Return the call with the elements of a tensor changed at every place of that tensor; its shape stays."""
    with np.errstate(all="ignore"):
        made = change(elements(old).reshape(old.shape)).astype(DTYPES[old.dtype].storage)
    new = old._replace(fill=Fill("values", data=pack(made.reshape(-1))))

    def of(value: Value) -> Value:
        return new if value == old else value

    return case._replace(invocation=rewritten(case.invocation, of))
