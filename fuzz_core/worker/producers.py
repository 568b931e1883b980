"""Functions that must make an argument, by documentation: `ldl_solve` takes results of `ldl_factor_ex`.

Kernels rely on such arguments without a check, so that a call which returns is no proof of valid input.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.tree import tensors_of, with_tensors
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, Value
from fuzz_core.worker.evidence import Difference

_PRODUCED = re.compile(
    r"\b(?:computed|returned|produced|obtained|generated)\s+(?:by|from|with)\s+(?::\w+:)?`+~?([\w.]+)"
)


def produced(found: Difference) -> TestCase | None:
    """Return the same call on the results of the documented function for its first tensor.

    Further results take the place of the tensors that follow, as long as shapes and dtypes are the same. The result is
    None if no function is named, or the named one does not return for this tensor.
    """
    first = next(tensors_of(found.case.invocation), None)
    if first is None:
        return None
    dtype = DTYPES[first.dtype]
    real = first._replace(dtype=f"float{dtype.bits // 2}", fill=Fill()) if dtype.kind == "complex" else first
    for name in _named(found):
        for tensor in dict.fromkeys((first, real)):
            if made := _results(found, Invocation(name, (tensor,))):
                return _with(found.case, made)
    return None


def _named(found: Difference) -> Iterator[str]:
    """Yield the public names of the functions that must make arguments, by the documentation of the call's api."""
    builder, api = found.executor.mode(found.mode).builder, found.case.invocation.api
    text = getattr(builder.found(api), "__doc__", None) or ""
    root, owner = api.partition(".")[0], api.rpartition(".")[0]
    for name in dict.fromkeys(_PRODUCED.findall(text)):
        public = (each for each in (name, f"{owner}.{name}", f"{root}.{name}") if each.startswith(f"{root}."))
        yield from itertools.islice((each for each in public if callable(builder.found(each))), 1)


def _results(found: Difference, call: Invocation) -> list[Tensor]:
    """Return the tensors that a call returns, as descriptions; none if it does not return."""
    answer = found.run(found.case._replace(invocation=call), found.plain)
    leaves = found.adapter.comparer.leaves(answer[0]) if answer else ()
    try:
        described = [found.adapter.describe(leaf, _refuse) for leaf in leaves]
    except Undescribable:
        return []
    return [each for each in described if isinstance(each, Tensor)]


def _refuse(value: object) -> Value:
    raise Undescribable("a part of a result")


def _with(case: TestCase, made: list[Tensor]) -> TestCase:
    """Return the call with these tensors in the place of its first ones."""
    left = iter(made)
    places = iter(range(len(made)))

    def of(tensor: Tensor) -> Tensor:
        new, place = next(left, None), next(places, -1)
        fits = new is not None and (new.shape, DTYPES[new.dtype].kind) == (tensor.shape, DTYPES[tensor.dtype].kind)
        return new if new is not None and (place == 0 or fits) else tensor

    return case._replace(invocation=with_tensors(case.invocation, of))
