"""Why two results may differ although nothing is wrong. Asked only once they do, so it may cost several executions.

The rules are the libraries' own: the same random state, no comparing of indices on ties, and by a reference of higher
precision, from which a mode must be further away than the plain mode is (PyTorch's form for fuzzers' reports).
"""

from __future__ import annotations

import builtins
import itertools
import re
from collections.abc import Iterator, Mapping
from math import inf, isfinite, log
from typing import Any, Protocol

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.layout import overlaps
from fuzz_core.adapters.modes import Mode
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.parts import numbers_of, objects_of, tensors_of, with_tensors
from fuzz_core.ir.values import Fill, Ref, TestCase, Value
from fuzz_core.worker.garbage import GARBAGE, garbage
from fuzz_core.worker.nearby import aside, grown, has_ties, nudged, tempered, without_ties
from fuzz_core.worker.scale import has_nan, is_complex, largest, largest_whole, magnitudes, overflows, scales, tiny_of

REFERENCE = "cpu-fp64"
NUDGED = ("cpu-fp64-nudged", "cpu-fp64-nudged-back")
NUMERICAL = "grad-numerical"
# A change of the input by a few roundings may be amplified by as much before a difference means something.
AMPLIFIED = 10.0
REPEATS = 3
METADATA = ("metadata", "shape", "strides")
PLAIN_FILLS = (Fill("constant", 0.0, 0.0), Fill("constant", 1.0, 1.0))
LARGEST_WHOLE = 2.0**31
# Powers of ten from here on fit into no float32; a number that is a length of some dimension is none.
LARGEST_EXPONENT = 38
LARGEST_NUMBER = 10.0**LARGEST_EXPONENT
# A difference quotient takes steps of 1e-12 at the least.
FINEST_EXPONENT = 12
LEAST_SCALE, LARGEST_SCALE = 1e-6, 1e6
# The product of five numbers below this power of the least normal one may vanish.
UNDERFLOW = 0.2

_LIMITATION = re.compile(
    r"not (?:yet |currently )?(?:implemented|supported)|[Uu]nsupported|NotImplemented|eager execution"
    r"|[Cc]ould not find device|[Aa]ll kernels registered|No (?:registered )?'?\w*'? ?OpKernel"
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
    if not way.keeps_nan and (has_nan(test) or execution.adapter.differences(expected, actual, "finite")):
        return "NaN is not kept"
    return _about_values(execution, test, expected, actual) or _about_places(execution, test, mode, expected)


def doubt_refusal(execution: Executing, test: TestCase, outcomes: Mapping[str, Outcome]) -> str:
    """Why one mode may refuse what another accepts.

    It is not done yet, or by chance, or one alone knows the elements; or nothing is computed, so that arguments are not
    looked at.
    """
    if any(outcome.kind == "exception" and _LIMITATION.search(outcome.text) for outcome in outcomes.values()):
        return "not implemented"
    if any(overlaps(tensor) for tensor in tensors_of(test.invocation)):
        return "elements share memory"
    if any(LARGEST_NUMBER < abs(number) < inf for number in numbers_of(test.invocation)):
        return "undefined conversion"
    for seed, (mode, outcome) in itertools.product(range(1, REPEATS), outcomes.items()):
        again, result = execution.run(test._replace(seed=test.seed + seed), mode)
        if again.kind != outcome.kind or (again.kind == "exception" and again.name != outcome.name):
            return "random"
        if again.kind == "ok" and not _computed(result):
            return "nothing is computed"
    accepting = next(mode for mode, outcome in outcomes.items() if outcome.kind == "ok")
    refusing = next(mode for mode in outcomes if mode != accepting)
    if execution.mode(refusing).blind and _is_taken_unseen(execution, test, accepting):
        return "nothing is computed"
    return "made without elements" if _need_not_refuse(execution, test, accepting, outcomes[refusing]) else ""


def _is_taken_unseen(execution: Executing, test: TestCase, accepting: str) -> bool:
    """Whether no operator looks at the arguments, or one that does refuses them once they have elements."""
    seen: set[str] = set()
    with execution.adapter.operators(seen.add):
        execution.run(test, accepting)
    if not seen:
        return True
    more = grown(test)
    return more != test and execution.run(more, accepting)[0].kind == "exception"


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
        with garbage(GARBAGE[seed]):
            outcome, again = execution.run(test._replace(seed=test.seed + seed), name)
        if outcome.kind != "ok" or execution.adapter.differences(result, again, relation):
            return False
    return True


def _about_values(execution: Executing, test: TestCase, expected: Any, actual: Any) -> str:
    if overflows(test):
        return "undefined conversion"
    found = list(scales(test))
    if is_complex(test) and any(not isfinite(number) for number in magnitudes(test)):
        return "infinite complex numbers"
    if any(high == inf for _, high, _ in found) and 0 in numbers_of(test.invocation):
        return "zero times infinity"
    if any(0 < low < tiny for low, _, tiny in found):
        return "denormal"
    if any(not high < LARGEST_WHOLE for _, high, _ in found) and execution.adapter.whole(expected):
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
    squares = any(high > most**0.5 for (_, high, _), most in zip(found, largest(test), strict=True))
    if far == inf and (squares or _power_overflows(test)):
        return "overflow"
    moved = (execution.adapter.error(reference[0], each[0]) if each else inf for each in _nudged(execution, test))
    return "ill-conditioned" if any(error * AMPLIFIED >= far for error in moved) else ""


def _about_places(execution: Executing, test: TestCase, mode: str, expected: Any) -> str:
    """Nobody promises which one of equals is meant, how results are made whole, nor how small numbers become."""
    if has_ties(test) and execution.adapter.whole(expected) and _agree(execution, without_ties(test), mode):
        return "indices of equals"
    real = _unrounded(test)
    if real != test and execution.adapter.whole(expected) and _agree(execution, real, mode):
        return "made whole at the end"
    small = any(0 < low < tiny**UNDERFLOW for low, _, tiny in scales(test))
    return "underflow" if small and _agree(execution, tempered(test), mode) else ""


def _agree(execution: Executing, test: TestCase, mode: str) -> bool:
    """Whether the two modes return the same for another test case."""
    way = execution.mode(mode)
    first, second = _result(execution, test, way.against), _result(execution, test, mode)
    if first is None or second is None:
        return False
    return not execution.adapter.differences(first[0], second[0], way.relation)


def _about_gradient(execution: Executing, test: TestCase, mode: str, actual: Any) -> str:
    """Difference quotients, which exist only where a function is smooth, say which of two derivatives is wrong."""
    if NUMERICAL not in execution.adapter.ways:
        return ""
    if any(not isfinite(number) for number in magnitudes(test)):
        return "not smooth here"
    quotient, against = _result(execution, test, NUMERICAL), execution.mode(NUMERICAL).against
    if quotient is None:
        return "not smooth here"
    first, moved = _result(execution, test, against), _result(execution, nudged(test), against)
    if first is None or (moved is not None and execution.adapter.differences(first[0], moved[0], "gradient")):
        return "ill-conditioned"
    if mode == NUMERICAL:
        if _has_exponent(test) and not any(first[0]):
            return "steps too small to see"
        return "" if _differ(execution, aside(test), mode) else "not smooth here"
    if execution.mode(mode).against == against:
        wrong = execution.adapter.differences(quotient[0], actual, "gradient")
        return "" if wrong else "right by difference quotients"
    wrong = execution.adapter.differences(quotient[0], first[0], "gradient")
    return "first derivatives differ already" if wrong else ""


def _has_exponent(test: TestCase) -> bool:
    """Whether a whole number is none of the lengths, and as a power of ten finer than a quotient's smallest step."""
    return any(size >= FINEST_EXPONENT for size in _sizes(test))


def _differ(execution: Executing, test: TestCase, mode: str) -> bool:
    """Whether both modes return for another test case, and not the same."""
    way = execution.mode(mode)
    first, second = _result(execution, test, way.against), _result(execution, test, mode)
    if first is None or second is None:
        return False
    return bool(execution.adapter.differences(first[0], second[0], way.relation))


def _about_finite(execution: Executing, test: TestCase, expected: Any) -> str:
    least, most = LEAST_SCALE, min([LARGEST_SCALE, *(largest**0.125 for largest in largest(test))])
    if any(not high < most or 0 < low < least for low, high, _ in scales(test)) or largest_whole(test) > most:
        return "badly scaled"
    if any(not size < LARGEST_EXPONENT or 0 < size < tiny_of("float32") for size in _sizes(test)):
        return "badly scaled"
    if _power_overflows(test):
        return "overflow"
    finite = (each and execution.adapter.differences(expected, each[0], "finite") for each in _nudged(execution, test))
    return "" if all(finite) else "ill-conditioned"


def _power_overflows(test: TestCase) -> bool:
    """Whether an element, to the power of a number, is more than its dtype holds."""
    pairs = [(log(high), log(most)) for (_, high, _), most in zip(scales(test), largest(test), strict=True) if high > 1]
    return any(size * high > most for size in _sizes(test) for high, most in pairs)


def _sizes(test: TestCase) -> list[float]:
    """The magnitudes of the scalar numbers that are not a length of some dimension."""
    lengths = {length for tensor in tensors_of(test.invocation) for length in tensor.shape}
    return [abs(number) for number in numbers_of(test.invocation) if abs(number) not in lengths]


def _unrounded(test: TestCase) -> TestCase:
    """The same call with real numbers for the integers that it is asked for."""

    def of(value: Value) -> Value:
        asked = isinstance(value, Ref) and value.kind == "dtype" and DTYPES[value.name].kind in ("int", "uint")
        return Ref("dtype", "float64") if asked else value

    call = test.invocation
    named = tuple((name, of(value)) for name, value in call.kwargs)
    return test._replace(invocation=call._replace(args=tuple(map(of, call.args)), kwargs=named))


def _nudged(execution: Executing, test: TestCase) -> Iterator[tuple[Any] | None]:
    """What double precision makes of a few roundings of the input, in both directions."""
    return (_result(execution, test, mode) for mode in NUDGED if mode in execution.adapter.ways)


def _result(execution: Executing, test: TestCase, mode: str) -> tuple[Any] | None:
    outcome, result = execution.run(test, mode)
    return (result,) if outcome.kind == "ok" else None
