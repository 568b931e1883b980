"""False-positive filters for differential oracles: each excuse explains one harmless cause of a difference.

Excuses are looked for only after a difference was seen, so a check may execute the test case several more times. The
rules are the libraries' own: the same random state, and no comparison of indices on ties. A mode must also be further
away from a reference of higher precision than the plain mode is (PyTorch's form for fuzzers' reports).

The checks of numbers follow three questions. Does the answer exist? Undefined conversions, overflow, and the place of
NaN have no answer that all kernels share. Is the problem well posed? The call is executed in double precision, once
more on numbers that are a few roundings off: if the answer moves about as far as the modes differ, the input is to
blame. Is the mode worse than rounding allows? Its distance from double precision is compared with that of the plain
mode, in units of the tolerance. The first excuse in `EXCUSES` that applies is the reason.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from math import inf, isfinite, isnan
from typing import Any, NamedTuple

from fuzz_core.adapters.arrays import overlaps
from fuzz_core.ir.dtypes import DTYPES, coarseness
from fuzz_core.ir.elements import is_vast
from fuzz_core.ir.tree import children, numbers_of, tensors_of, walk, with_children
from fuzz_core.ir.values import Invocation, Ref, TestCase, Value
from fuzz_core.worker.domains import depends_on_device, is_no_distribution, is_outside_of_interval, repeats_indices
from fuzz_core.worker.evidence import (
    BUILD_SPEED,
    BUILD_VALUES,
    BUILDS,
    FINITE,
    GRADIENT,
    MEMORY,
    METADATA,
    MODES,
    REFUSAL,
    VALUES,
    Difference,
    Evidence,
)
from fuzz_core.worker.nearby import (
    ROUNDINGS,
    aside,
    floated,
    grown,
    has_nan,
    has_ties,
    is_complex,
    largest_whole,
    magnitudes,
    moderated,
    nudged,
    overflows,
    rounded,
    scales,
    widened,
    with_members,
    with_rounded_scalars,
    with_single_scalars,
    with_valid_indices,
    without_ties,
)
from fuzz_core.worker.producers import produced
from fuzz_core.worker.refusals import computes_nothing, has_no_backward, need_not_refuse, wraps_integers
from fuzz_core.worker.scale import (
    LARGEST_NUMBER,
    LARGEST_WHOLE,
    differs_by_scale,
    has_no_digit,
    is_badly_scaled,
    power_overflows,
    rounds_beyond_integers,
    sizes,
    squares_overflow,
    underflows,
)

# A difference counts only if it exceeds the effect of a few roundings of the input this many times.
AMPLIFIED = 10.0
# The least step of a difference quotient is 1e-12.
FINEST_EXPONENT = 12
# The most calls with integers within the lengths.
MOST_INDEXED = 16

_NUMERAL = r"(-?\d+(?:\.\d+)?)"
_MEMBERS = re.compile(
    r"(?:\bcontain(?:s|ing)|\bvalues?(?: (?:are|is|must be|should be))?)(?: either)? "
    rf"{_NUMERAL} (?:or|and) {_NUMERAL}\b"
)
_LIMITATION = re.compile(
    r"not (?:yet |currently )?(?:implemented|supported)|[Uu]nsupported|NotImplemented|eager execution"
    r"|[Cc]ould not find device|[Aa]ll kernels registered|No (?:registered )?'?\w*'? ?OpKernel"
)


# An excuse for the mode, and a finding about the call itself.
OUT_OF_BOUNDS = "reads memory that is not its own"


class Excuse(NamedTuple):
    """A harmless cause of a difference: its name, the relations that it applies to, and the check of the evidence."""

    name: str
    relations: Sequence[str]
    check: Callable[[Any], bool]


def _has_generator(found: Evidence) -> bool:
    _, *inside = walk(found.case.invocation)
    return any(isinstance(made, Invocation) and made.api.endswith(".Generator") for made in inside)


def _has_no_quotient(found: Difference) -> bool:
    return found.has_quotients and (not all(map(isfinite, magnitudes(found.case))) or found.quotient is None)


def _moves_derivative(found: Difference) -> bool:
    """Return whether a nudge of the input changes the derivative."""
    if not found.has_quotients or (first := found.derivative) is None:
        return found.has_quotients
    moved = found.run(nudged(found.case), found.derivative_mode)
    return moved is not None and bool(found.adapter.differences(first[0], moved[0], GRADIENT))


def _rounds_derivative(found: Difference) -> bool:
    """Return whether rounding the input moves one of two derivatives about as far as they are apart.

    The derivative of a well-conditioned function still cancels where its formula subtracts large or tiny numbers.
    """
    wide = widened(found.case)
    sides = ((found.way.against, found.reference), (found.mode, found.result))
    moved = [0.0] * len(found.reference)
    for mode, slopes in sides:
        for again in _rounded(found, wide, mode):
            if again is None:
                return True
            moved = list(map(max, moved, map(_gap, slopes, again[0])))
    places = zip(found.reference, found.result, moved, strict=True)
    real = (found.adapter.differences([a], [b], GRADIENT) and _gap(a, b) > AMPLIFIED * far for a, b, far in places)
    return not any(real)


def _rounded(found: Difference, case: TestCase, mode: str) -> Iterator[tuple[Any] | None]:
    """Return the results of a mode for a few roundings of the input."""
    return (found.run(rounded(case, roundings), mode) for roundings in ROUNDINGS)


def _gap(one: float | None, other: float | None) -> float:
    """Return how far two derivatives are apart: infinitely if one is no number."""
    if one is None or other is None or one == other or (isnan(one) and isnan(other)):
        return 0.0
    apart = abs(one - other)
    return inf if isnan(apart) else apart


def _steps_too_little(found: Difference) -> bool:
    """Return whether a whole number is no length, and as a power of ten finer than a quotient's smallest step."""
    tiny = found.is_numerical and any(size >= FINEST_EXPONENT for size in sizes(found.case))
    return tiny and found.derivative is not None and not any(found.derivative[0])


def _is_right_by_quotients(found: Difference) -> bool:
    if found.is_numerical or not found.has_quotients or found.quotient is None:
        return False
    is_first = found.way.against == found.derivative_mode
    return is_first and not found.adapter.differences(found.quotient[0], found.result, GRADIENT)


def _differs_in_first_derivative(found: Difference) -> bool:
    if found.is_numerical or not found.has_quotients or found.quotient is None or found.derivative is None:
        return False
    is_first = found.way.against == found.derivative_mode
    return not is_first and bool(found.adapter.differences(found.quotient[0], found.derivative[0], GRADIENT))


def _is_finite_when_nudged(found: Difference) -> bool:
    """Return whether the result has no NaN or infinity, or does not exist, a few roundings away."""
    return not all(each and found.adapter.differences(found.reference, each[0], FINITE) for each in found.nudged())


def _loses_nan(found: Difference) -> bool:
    if found.way.keeps_nan:
        return False
    return has_nan(found.case) or bool(found.adapter.differences(found.reference, found.result, FINITE))


def _lacks_kernel(found: Difference) -> bool:
    """Return whether the reference refuses the call once it has elements: an empty call needs no kernel."""
    more = grown(found.case)
    if more == found.case:
        return False
    outcome, _ = found.executor.run(more, found.way.against)
    return outcome.kind == "exception" and bool(_LIMITATION.search(f"{outcome.name}: {outcome.text}"))


def _is_as_precise(found: Difference) -> bool:
    return found.has_reference and not found.errors[0] > found.errors[1] + 1.0


def _moves_far(found: Difference) -> bool:
    """Return whether a few roundings of the input move the precise result about as far."""
    if not found.has_reference or found.precise is None:
        return False
    precise = found.precise[0]
    # A rounding of half precision moves doubles by thousands of their tolerances, and results of half precision by few
    # of theirs. There, each step of a kernel may round by the whole tolerance.
    coarse = coarseness(found.adapter.comparer.dtypes(found.result))
    least = 1.0 if coarse > 1.0 else 0.0
    moved = (found.adapter.error(precise, each[0]) if each else inf for each in found.nudged())
    return any(max(error / coarse, least) * AMPLIFIED >= found.errors[0] for error in moved)


def _rounds_result(found: Difference) -> bool:
    """Return whether a few roundings of the input move a result about as far as the modes are apart.

    The result is the plain one, or the mode's if it stays apart from the plain one. A fault at one number alone has
    another cause. Integers are rounded as real numbers, if the call gives the same results for real numbers.
    """
    apart, case = found.adapter.error(found.reference, found.result), found.case
    modes = (found.way.against, found.mode)
    if not found.is_whole and not any(scales(case)) and (case := floated(case)) != found.case:
        same = [found.run(case, mode) for mode in modes]
        sides = zip((found.reference, found.result), same, strict=True)
        if any(each is None or found.adapter.differences(side, each[0], found.relation) for side, each in sides):
            return False
    scalars = [call for each in ROUNDINGS if (call := with_rounded_scalars(case, each)) != case]
    for near in (*(rounded(case, each) for each in ROUNDINGS), *scalars):
        plain, other = (found.run(near, mode) for mode in modes)
        if plain is None:
            continue
        moved = found.adapter.error(found.reference, plain[0])
        if other is not None and found.adapter.differences(plain[0], other[0], found.relation):
            moved = max(moved, found.adapter.error(found.result, other[0]))
        if moved * AMPLIFIED >= apart:
            return True
    return False


def _rounds_setting(found: Difference) -> bool:
    """Return whether modes with single or lower precision agree once single precision holds each number exactly."""
    single = with_single_scalars(found.case)
    return single != found.case and found.is_single and found.agree(single) is True


def _breaks_ties(found: Difference) -> bool:
    """Return whether the modes agree without ties: libraries do not promise which of equal elements they choose."""
    return has_ties(found.case) and found.is_whole and found.agree(without_ties(found.case)) is True


def _is_rounded_last(found: Difference) -> bool:
    """Return whether the modes agree on real numbers: libraries do not promise how they round results to integers."""
    real = _unrounded(found.case)
    return real != found.case and found.is_whole and found.agree(real) is True


def _is_not_produced(found: Difference) -> bool:
    """Return whether the modes agree on an argument from the function that must make it, by documentation."""
    case = produced(found)
    return case is not None and case != found.case and found.agree(case) is True


def _misses_elements(found: Difference) -> bool:
    """Return whether an integer makes the call read beyond a dimension, by documentation or not.

    The proof is that the call reads no gap once the integers are within the lengths. Kernels that take every argument
    for a contiguous one read gaps with any integers.
    """
    beyond = list(itertools.islice(with_valid_indices(found.case), MOST_INDEXED))
    return bool(beyond) and found.reads_gaps(found.case) and not all(map(found.reads_gaps, beyond))


def _leaves_set(found: Difference) -> bool:
    """Return whether the modes agree once a tensor keeps to the documented set of values (`1 or -1`)."""
    function = found.executor.mode(found.mode).builder.found(found.case.invocation.api)
    told = _MEMBERS.search(" ".join((getattr(function, "__doc__", None) or "").split()))
    kept = with_members(found.case, [*map(float, told.groups())]) if told else ()
    return any(found.agree(case) is True for case in kept)


def _unrounded(case: TestCase) -> TestCase:
    """Return the same call with real numbers in place of the integers that it asks for."""

    def of(value: Value) -> Value:
        asked = isinstance(value, Ref) and value.kind == "dtype" and DTYPES[value.name].kind in ("int", "uint")
        return Ref("dtype", "float64") if asked else value

    call = case.invocation._replace(then=None)
    real = with_children(call, [of(each) for each in children(call)])
    return case._replace(invocation=real._replace(then=case.invocation.then))


# The only place that names an excuse. For each relation, the first excuse that applies is the reason. Checks execute
# the test case in this order.
EXCUSES = (
    # The other checks look at elements, and change them.
    Excuse("larger than memory", (*MODES, MEMORY, REFUSAL, *BUILDS), lambda found: is_vast(found.case)),
    Excuse(
        "not implemented",
        (REFUSAL,),
        lambda found: bool(_LIMITATION.search(found.outcomes[found.refusing].text)),
    ),
    Excuse("documented to depend on the device", VALUES, depends_on_device),
    Excuse(OUT_OF_BOUNDS, (*VALUES, GRADIENT, FINITE), lambda found: found.reads_out_of_bounds),
    Excuse("index beyond a dimension", (*VALUES, GRADIENT, FINITE), _misses_elements),
    Excuse("random by a generator of its own", (*VALUES, GRADIENT, FINITE, MEMORY), _has_generator),
    Excuse("random", (*MODES, MEMORY, *BUILDS), lambda found: found.is_random),
    Excuse(
        "elements share memory",
        ("metadata", "strides", *VALUES, GRADIENT, FINITE, REFUSAL),
        lambda found: any(map(overlaps, tensors_of(found.case.invocation))),
    ),
    Excuse(
        "undefined conversion",
        (REFUSAL,),
        lambda found: any(LARGEST_NUMBER < abs(number) < inf for number in numbers_of(found.case.invocation)),
    ),
    Excuse("random", (REFUSAL,), lambda found: found.is_random),
    Excuse("undefined conversion", (REFUSAL,), wraps_integers),
    Excuse("nothing is computed", (REFUSAL,), computes_nothing),
    Excuse("made without elements", (REFUSAL,), need_not_refuse),
    Excuse("no backward pass", (REFUSAL,), has_no_backward),
    Excuse("by chance", (BUILD_SPEED,), lambda found: found.is_faster_again),
    # A library gives a drawn number no derivative. If the deviation is 0, the number is the mean.
    Excuse("random", (GRADIENT,), lambda found: found.draws),
    Excuse("not smooth here", (GRADIENT,), _has_no_quotient),
    Excuse("ill-conditioned", (GRADIENT,), _moves_derivative),
    Excuse("rounding", (GRADIENT,), _rounds_derivative),
    Excuse("steps too small to see", (GRADIENT,), _steps_too_little),
    Excuse(
        "not smooth here", (GRADIENT,), lambda found: found.is_numerical and found.agree(aside(found.case)) is not False
    ),
    Excuse("right by difference quotients", (GRADIENT,), _is_right_by_quotients),
    Excuse("first derivatives differ already", (GRADIENT,), _differs_in_first_derivative),
    Excuse("no probability distribution", (GRADIENT,), is_no_distribution),
    Excuse("outside of the documented interval", (GRADIENT,), is_outside_of_interval),
    Excuse("repeated indices", (*VALUES, GRADIENT), repeats_indices),
    Excuse("badly scaled", (FINITE,), is_badly_scaled),
    Excuse("overflow", (FINITE,), power_overflows),
    Excuse("ill-conditioned", (FINITE,), _is_finite_when_nudged),
    Excuse("ill-conditioned", (FINITE,), has_no_digit),
    Excuse("NaN is not kept", VALUES, _loses_nan),
    Excuse("undefined conversion", (*VALUES, BUILD_VALUES), lambda found: overflows(found.case)),
    Excuse("undefined conversion", (BUILD_VALUES,), rounds_beyond_integers),
    Excuse("overflow", (BUILD_VALUES,), lambda found: found.is_whole and largest_whole(found.case) >= LARGEST_WHOLE),
    Excuse(
        "infinite complex numbers",
        VALUES,
        lambda found: is_complex(found.case) and not all(map(isfinite, magnitudes(found.case))),
    ),
    Excuse(
        "zero times infinity",
        VALUES,
        lambda found: 0 in numbers_of(found.case.invocation) and inf in [high for _, high, *_ in scales(found.case)],
    ),
    Excuse(
        "denormal",
        (*VALUES, GRADIENT, BUILD_VALUES),
        lambda found: any(0 < low < tiny for low, _, tiny, _ in scales(found.case)),
    ),
    Excuse("NaN as a setting", VALUES, lambda found: any(each != each for each in numbers_of(found.case.invocation))),
    Excuse("undefined conversion", VALUES, rounds_beyond_integers),
    Excuse("no reference", VALUES, lambda found: found.has_reference and found.precise is None),
    Excuse("no further from the reference than the plain result", VALUES, _is_as_precise),
    Excuse("overflow", VALUES, squares_overflow),
    Excuse("ill-conditioned", VALUES, _moves_far),
    Excuse("rounding", VALUES, _rounds_result),
    Excuse("rounding", VALUES, _rounds_setting),
    Excuse("NaN has no order", (BUILD_VALUES,), lambda found: found.is_whole and has_nan(found.case)),
    Excuse("indices of equals", VALUES, _breaks_ties),
    Excuse(
        "indices of equals",
        (BUILD_VALUES,),
        lambda found: found.is_whole and found.agree(aside(moderated(without_ties(found.case)))) is True,
    ),
    Excuse("nothing is computed", METADATA, _lacks_kernel),
    Excuse("made whole at the end", VALUES, _is_rounded_last),
    Excuse("underflow", VALUES, underflows),
    Excuse("outside of the documented interval", VALUES, is_outside_of_interval),
    Excuse("rounding of huge numbers", VALUES, differs_by_scale),
    Excuse("not produced as documented", (*VALUES, GRADIENT), _is_not_produced),
    Excuse("not of the documented set", (*VALUES, GRADIENT, FINITE), _leaves_set),
    Excuse("ill-conditioned", (BUILD_VALUES,), lambda found: found.nudged_error * AMPLIFIED >= max(found.errors)),
)


def find_excuse(evidence: Evidence) -> Excuse | None:
    """Return the first excuse that applies to a difference, or None for a real difference."""
    return next((each for each in EXCUSES if evidence.relation in each.relations and each.check(evidence)), None)
