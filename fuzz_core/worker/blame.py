"""The wrong one of two modes that differ: by difference quotients, double precision, NumPy, or a third mode."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import numpy as np

from fuzz_core.adapters.compare import Comparer
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.kinds import RESIZED, WRONG
from fuzz_core.worker.evidence import GRADIENT, METADATA, SHAPE, VALUES, Difference, Executor, Refusal

_SPACES = (np, np.linalg, np.fft)
_KEYWORDS = {"dim": "axis", "keepdim": "keepdims", "input": "a"}
_ARRAYS = Comparer(lambda value: None)


class Blame(NamedTuple):
    """The mode whose result is wrong, and the evidence."""

    mode: str
    witness: str


def with_blame(text: str, found: Difference) -> str:
    """Return the text of a real difference with a last line that names the wrong mode, if evidence decides.

    If the reference mode is the wrong one, the text names its result as the actual one. The first line identifies the
    bug and stays as it is.
    """
    blame = find_blame(found)
    if blame is None:
        return text
    if blame.mode == found.way.against:
        other = found.adapter.differences(found.result, found.reference, found.relation)
        text = other if other.partition("\n")[0] == text.partition("\n")[0] else text
    return f"{text}\n{WRONG}{blame.mode}, by {blame.witness}"


def find_blame(found: Difference) -> Blame | None:
    """Return which of the two modes of a real difference is wrong; None if no evidence decides."""
    if found.relation == GRADIENT:
        return Blame(found.way.against, "difference quotients") if found.way.trusted else _by_quotient(found)
    if found.relation not in (*VALUES, *METADATA):
        return None
    if found.adapter.differences(found.reference, found.result, SHAPE):
        # The mode of double precision is the plain call with other numbers, and so no witness of its shape.
        return _by_shape(found) or (_by_numpy(found) if found.relation in VALUES else None)
    if found.relation in METADATA:
        return None
    if found.is_widened and found.errors[0] != found.errors[1]:
        return Blame(found.mode if found.errors[0] > found.errors[1] else found.way.against, "double precision")
    return _by_numpy(found)


def blame_for_refusal(refusal: Refusal) -> str:
    """Return the last line of the text about a call that one mode refuses; empty if no evidence decides."""
    accepts = refusal.accepting == refusal.executor.adapter.device_modes()[0]
    is_resized = accepts and _resized(refusal.executor, refusal.case) is not None
    return f"\n{WRONG}{refusal.accepting}, by {RESIZED}" if is_resized else ""


def _by_shape(found: Difference) -> Blame | None:
    """Blame the plain call for a wrong shape; None without a witness.

    The witness is the changed argument of the plain call, or a third mode with the same shape as the mode in question.
    A third mode that agrees with the plain call is no proof: both may ask the same function. Modes share rules of
    dtypes, too.
    """
    if found.way.against != found.plain or _shapes(found, found.reference) == _shapes(found, found.result):
        return None
    before = _resized(found.executor, found.case)
    if before is not None and _shapes(found, found.result) == [before]:
        return Blame(found.plain, RESIZED)
    for name, spec in found.adapter.ways.items():
        if not spec.independent or name == found.mode or not found.executor.mode(name).applies(found.case):
            continue
        seen = found.run(found.case, name)
        if seen is not None and _shapes(found, found.result) == _shapes(found, seen[0]):
            return Blame(found.plain, f"the call {spec.phrases[0]}")
    return None


def _shapes(found: Difference, result: Any) -> list[Any]:
    return [getattr(leaf, "shape", None) for leaf in found.adapter.comparer.leaves(result)]


def _resized(executor: Executor, case: TestCase) -> Any:
    """Return the shape of the first argument, if the plain call gives it another one; None otherwise."""
    plain, adapter = executor.adapter.device_modes()[0], executor.adapter
    try:
        adapter.enter(plain)
        adapter.reset(case.seed)
        function, args, keywords = executor.mode(plain).builder.parts(case.invocation)
        before = getattr(args[0], "shape", None) if args else None
        function(*args, **keywords)
    except Exception:  # noqa: BLE001 - whatever the library raises, there is no evidence
        return None
    return before if before is not None and args[0].shape != before else None


def _by_quotient(found: Difference) -> Blame | None:
    if not found.has_quotients or found.quotient is None:
        return None
    near = not found.adapter.differences(found.quotient[0], found.reference, GRADIENT)
    return Blame(found.mode, "difference quotients") if near else None


def _by_numpy(found: Difference) -> Blame | None:
    answer = _numpy_answer(found)
    if answer is None:
        return None
    errors = {mode: _error(found, answer, result) for mode, result in _sides(found)}
    right = [mode for mode, error in errors.items() if error <= 1.0]
    wrong = [mode for mode, error in errors.items() if not error <= 1.0]
    return Blame(wrong[0], "NumPy") if len(right) == len(wrong) == 1 else None


def _sides(found: Difference) -> tuple[tuple[str, Any], tuple[str, Any]]:
    return (found.way.against, found.reference), (found.mode, found.result)


def _error(found: Difference, answer: Any, result: Any) -> float:
    """Return how far a result is from NumPy's, in units of the tolerance; infinite if it is no single array."""
    arrays = found.adapter.comparer.arrays(result)
    if len(arrays) != 1 or arrays[0] is None:
        return inf
    # NumPy has other rules of promotion, so the dtype of its answer does not count.
    return _ARRAYS.error(answer, np.asarray(arrays[0]).astype(np.asarray(answer).dtype, copy=False))


def _numpy_answer(found: Difference) -> Any:
    """Return the answer of NumPy's function of the same name for the call; None if it returns no array."""
    call = found.case.invocation
    name = call.api.rpartition(".")[2]
    function = next((made for space in _SPACES if callable(made := getattr(space, name, None))), None)
    if function is None or isinstance(function, type) or call.then is not None:
        return None
    try:
        _, args, keywords = found.executor.mode(found.plain).builder.parts(call)
        with np.errstate(all="ignore"):
            answer = function(*(_array(found, each) for each in args), **_named(found, keywords))
    except BuildError:
        return None
    except Exception:  # noqa: BLE001 - NumPy has another signature, or refuses the call
        return None
    return answer if isinstance(answer, np.ndarray | np.generic) else None


def _named(found: Difference, keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {_KEYWORDS.get(name, name): _array(found, value) for name, value in keywords.items()}


def _array(found: Difference, value: Any) -> Any:
    """Return an argument for NumPy: a tensor becomes the array of its elements."""
    if isinstance(value, list | tuple):
        return type(value)([_array(found, each) for each in value])
    leaf = found.adapter.comparer.leaf(value) if hasattr(value, "dtype") else None
    return value if leaf is None else leaf.elements()
