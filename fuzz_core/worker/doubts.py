"""Why two results may differ although nothing is wrong. Asked only once they do, so it may cost several executions.

The rules are the libraries' own: the same random state, no comparing of indices on ties, and by a reference of higher
precision, from which a mode must be further away than the plain mode is (PyTorch's form for fuzzers' reports).
"""

from __future__ import annotations

import builtins
import ctypes
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf, isfinite
from typing import Any, Protocol

import numpy as np

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.layout import overlaps
from fuzz_core.adapters.modes import Mode
from fuzz_core.ir.drawing import elements
from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.parts import numbers_of, objects_of, tensors_of, with_tensors
from fuzz_core.ir.values import Fill, TestCase

REFERENCE = "cpu-fp64"
NUDGED = ("cpu-fp64-nudged", "cpu-fp64-nudged-back")
NUMERICAL = "grad-numerical"
# A change of the input by a few roundings may be amplified by as much before a difference means something.
AMPLIFIED = 10.0
REPEATS = 3
METADATA = ("metadata", "shape", "strides")
GARBAGE = (0x5A, 0x33, 0xC1)
PLAIN_FILLS = (Fill("constant", 0.0, 0.0), Fill("constant", 1.0, 1.0))
LARGEST_WHOLE = 2.0**31
# Powers of ten from here on fit into no float32; a number that is a length of some dimension is none.
LARGEST_EXPONENT = 38
LEAST_SCALE, LARGEST_SCALE = 1e-6, 1e6
# malloc.h: what is allocated is filled with the complement of this byte.
_M_PERTURB = -6
_MALLOPT = getattr(ctypes.CDLL(None), "mallopt", None)

_LIMITATION = re.compile(
    r"not (?:yet |currently )?(?:implemented|supported)|[Uu]nsupported|NotImplemented|eager execution"
)


class Executing(Protocol):
    """What is needed of the execution."""

    adapter: Adapter

    def mode(self, name: str) -> Mode:
        """The mode of a name."""

    def run(self, test: TestCase, mode: str) -> tuple[Outcome, Any]:
        """Outcome and live result of one execution."""


def doubt(execution: Executing, test: TestCase, mode: str, expected: Any, actual: Any) -> str:
    """Why the difference between a mode's result and the one that it is compared with is no fault; empty if it is."""
    way = execution.mode(mode)
    if way.relation not in METADATA and any(made.api.endswith(".Generator") for made in objects_of(test.invocation)):
        return "random by a generator of its own"
    if not _repeats(execution, test, mode, {way.against: expected, mode: actual}):
        return "random"
    if way.relation != "shape" and any(overlaps(tensor) for tensor in tensors_of(test.invocation)):
        return "elements share memory"
    if way.relation in METADATA:
        return ""
    if way.relation == "gradient":
        return _about_gradient(execution, test, mode, actual)
    if way.relation == "finite":
        return _about_finite(execution, test, expected)
    return _about_values(execution, test, expected, actual)


def doubt_refusal(execution: Executing, test: TestCase, outcomes: Mapping[str, Outcome]) -> str:
    """Why one mode may refuse what another accepts.

    It is not done yet, or by chance, or one alone knows the elements; or nothing is computed, so that arguments are not
    looked at.
    """
    if any(outcome.kind == "exception" and _LIMITATION.search(outcome.text) for outcome in outcomes.values()):
        return "not implemented"
    if any(overlaps(tensor) for tensor in tensors_of(test.invocation)):
        return "elements share memory"
    for seed, (mode, outcome) in itertools.product(range(1, REPEATS), outcomes.items()):
        again, result = execution.run(test._replace(seed=test.seed + seed), mode)
        if again.kind != outcome.kind or (again.kind == "exception" and again.name != outcome.name):
            return "random"
        if again.kind == "ok" and not _computed(result):
            return "nothing is computed"
    accepting = next(mode for mode, outcome in outcomes.items() if outcome.kind == "ok")
    refusing = next(mode for mode in outcomes if mode != accepting)
    return "made without elements" if _need_not_refuse(execution, test, accepting, outcomes[refusing]) else ""


def _computed(result: Any) -> bool:
    """Whether there are elements or numbers in a result."""
    if isinstance(result, dict):
        return any(map(_computed, result.values()))
    if isinstance(result, list | tuple):
        return any(map(_computed, result))
    return hasattr(result, "dtype") or isinstance(result, bool | int | float | complex | str)


def _need_not_refuse(execution: Executing, test: TestCase, accepting: str, refusal: Outcome) -> bool:
    """Whether a mode that is made without the elements need not refuse what another does.

    An error of a kernel is no effect of a graph, which may leave the kernel out; one of Python's may rest on elements:
    then it is raised where they are known, or the call is accepted with others.
    """
    knowing = execution.mode(accepting).blind
    if not knowing:
        return False
    if not hasattr(builtins, refusal.name) or execution.run(test, knowing)[0].kind == "exception":
        return True
    refusing = execution.mode(accepting).against
    calls = [with_tensors(test.invocation, lambda t, fill=fill: t._replace(fill=fill)) for fill in PLAIN_FILLS]  # type: ignore[misc]
    return any(execution.run(test._replace(invocation=call), refusing)[0].kind == "ok" for call in calls)


def _repeats(execution: Executing, test: TestCase, mode: str, results: Mapping[str, Any]) -> bool:
    """Whether both modes give the same again, also with other random streams and other garbage in memory."""
    relation = execution.mode(mode).relation
    relation = relation if relation in METADATA else "values"
    for seed, (name, result) in itertools.product(range(REPEATS), results.items()):
        with _garbage(GARBAGE[seed]):
            outcome, again = execution.run(test._replace(seed=test.seed + seed), name)
        if outcome.kind != "ok" or execution.adapter.differences(result, again, relation):
            return False
    return True


@contextmanager
def _garbage(byte: int) -> Iterator[None]:
    """Within it, memory that nobody has written to is full of one byte, where glibc is the allocator."""
    if _MALLOPT is None:
        yield
        return
    _MALLOPT(_M_PERTURB, byte)
    try:
        yield
    finally:
        _MALLOPT(_M_PERTURB, 0)


def _about_values(execution: Executing, test: TestCase, expected: Any, actual: Any) -> str:
    if _overflows(test):
        return "undefined conversion"
    scales = list(_scales(test))
    if _is_complex(test) and any(not isfinite(number) for number in _magnitudes(test, scales)):
        return "infinite complex numbers"
    if any(high == inf for _, high, _ in scales) and 0 in numbers_of(test.invocation):
        return "zero times infinity"
    if any(0 < low < tiny for low, _, tiny in scales):
        return "denormal"
    if any(not high < LARGEST_WHOLE for _, high, _ in scales) and execution.adapter.whole(expected):
        return "undefined conversion"
    if REFERENCE not in execution.adapter.ways:
        return ""
    reference: tuple[Any] | None = (expected,)
    if execution.mode(REFERENCE).applies(test):
        reference = _result(execution, test, REFERENCE)
    if reference is None:
        return "no reference"
    far, near = (execution.adapter.error(reference[0], result) for result in (actual, expected))
    if not far > near + 1.0:
        return "no further from the reference than the plain result"
    if far == inf and any(high > most**0.5 for (_, high, _), most in zip(scales, _largest(test), strict=True)):
        return "overflow"
    moved = (execution.adapter.error(reference[0], each[0]) if each else inf for each in _nudged(execution, test))
    return "ill-conditioned" if any(error * AMPLIFIED >= far for error in moved) else ""


def _about_gradient(execution: Executing, test: TestCase, mode: str, actual: Any) -> str:
    """Difference quotients, which exist only where a function is smooth, say which of two derivatives is wrong."""
    if NUMERICAL not in execution.adapter.ways:
        return ""
    quotient, against = _result(execution, test, NUMERICAL), execution.mode(NUMERICAL).against
    if quotient is None:
        return "not smooth here"
    if mode == NUMERICAL:
        return ""
    if execution.mode(mode).against == against:
        wrong = execution.adapter.differences(quotient[0], actual, "gradient")
        return "" if wrong else "right by difference quotients"
    first = _result(execution, test, against)
    right = first is not None and not execution.adapter.differences(quotient[0], first[0], "gradient")
    return "" if right else "first derivatives differ already"


def _about_finite(execution: Executing, test: TestCase, expected: Any) -> str:
    least, most = LEAST_SCALE, min([LARGEST_SCALE, *(largest**0.125 for largest in _largest(test))])
    if any(not high < most or 0 < low < least for low, high, _ in _scales(test)) or _largest_whole(test) > most:
        return "badly scaled"
    lengths = {length for tensor in tensors_of(test.invocation) for length in tensor.shape}
    sizes = [abs(number) for number in numbers_of(test.invocation)]
    if any((not size < LARGEST_EXPONENT and size not in lengths) or 0 < size < _tiny("float32") for size in sizes):
        return "badly scaled"
    finite = (each and execution.adapter.differences(expected, each[0], "finite") for each in _nudged(execution, test))
    return "" if all(finite) else "ill-conditioned"


def _nudged(execution: Executing, test: TestCase) -> Iterator[tuple[Any] | None]:
    """What double precision makes of a few roundings of the input, in both directions."""
    return (_result(execution, test, mode) for mode in NUDGED if mode in execution.adapter.ways)


def _result(execution: Executing, test: TestCase, mode: str) -> tuple[Any] | None:
    outcome, result = execution.run(test, mode)
    return (result,) if outcome.kind == "ok" else None


def _scales(test: TestCase) -> Iterator[tuple[float, float, float]]:
    """The least magnitude that is not zero, the largest, and the least normal one, of each floating-point tensor."""
    for tensor in tensors_of(test.invocation):
        if DTYPES[tensor.dtype].kind not in ("float", "complex") or not tensor.size:
            continue
        sizes = np.abs(elements(tensor).astype(np.complex128))
        least = sizes[sizes > 0].min(initial=inf)
        yield float(least), float(np.nan_to_num(sizes, nan=inf).max()), _tiny(tensor.dtype)


def _largest(test: TestCase) -> Iterator[float]:
    """The largest number of the dtype of each floating-point tensor that has elements."""
    for tensor in tensors_of(test.invocation):
        dtype = tensor.dtype
        if DTYPES[dtype].kind in ("float", "complex") and tensor.size:
            yield (
                65504.0
                if dtype in ("float16", "complex32")
                else 448.0
                if DTYPES[dtype].bits == 8
                else 1.8e308
                if dtype in ("float64", "complex128")
                else 3.4e38
            )


def _largest_whole(test: TestCase) -> int:
    """The largest magnitude among integers in tensors."""
    kinds = ("int", "uint")
    whole = [t for t in tensors_of(test.invocation) if DTYPES[t.dtype].kind in kinds and t.size]
    return max((max(abs(int(e.min())), abs(int(e.max()))) for e in map(elements, whole)), default=0)


def _overflows(test: TestCase) -> bool:
    """Whether an integer does not fit into the narrowest integer dtype beside it: conversions wrap as they like."""
    kinds = ("int", "uint")
    dtypes = {t.dtype for t in tensors_of(test.invocation) if DTYPES[t.dtype].kind in kinds}
    if not dtypes:
        return False
    scalars = [abs(number) for number in numbers_of(test.invocation) if isinstance(number, int)]
    return max([_largest_whole(test), *scalars]) > min(integer_bounds(dtype)[1] + 1 for dtype in dtypes)


def _magnitudes(test: TestCase, scales: Sequence[tuple[float, float, float]]) -> Iterator[float]:
    yield from (high for _, high, _ in scales)
    yield from map(abs, numbers_of(test.invocation))


def _is_complex(test: TestCase) -> bool:
    scalars = any(isinstance(number, complex) for number in numbers_of(test.invocation))
    return scalars or any(DTYPES[tensor.dtype].kind == "complex" for tensor in tensors_of(test.invocation))


def _tiny(dtype: str) -> float:
    """The least normal magnitude, of a dtype that numpy knows; of float32 otherwise."""
    try:
        return float(np.finfo(dtype).tiny)
    except (TypeError, ValueError):
        return float(np.finfo(np.float32).tiny)
