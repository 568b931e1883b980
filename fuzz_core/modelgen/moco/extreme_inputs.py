"""Extreme inputs of a layer: empty, of another rank or type, or full of one number (beyond MoCo 2024).

What the layer says of them is right; dying of them, or failing internally, is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.modelgen.moco.constants import meaning, written
from fuzz_core.modelgen.moco.fitting import FLOAT, INDEX, is_kind
from fuzz_core.modelgen.moco.nodes import Arrival
from fuzz_core.modelgen.moco.program import Call, Fit

# Indices below nothing, and behind all that there can be.
FILLS = (-1, 1 << 31)


def extreme_inputs(call: Call, arrival: Arrival | None, name: str) -> Iterator[tuple[str, str, str, Call]]:
    """(which input, what it was, in words what it is instead, the call) for each extreme input of a layer.

    Such calls are for the block alone: no program has them. name: of the class that makes layers fit.
    """
    if call.applied or (call.fit is None and arrival is None):
        return
    fit = call.fit or Fit(name, (written((arrival.shape, arrival.dtype)),) if arrival else ())
    for place, source in enumerate(fit.inputs):
        for path, words, changed in _changed(meaning(source)):
            inputs = (*fit.inputs[:place], written(changed), *fit.inputs[place + 1 :])
            yield f"input {place}{path}", source, words, call._replace(fit=fit._replace(inputs=inputs))


def _changed(value: Any) -> Iterator[tuple[str, str, Any]]:
    """(where, in words what, the value) for each change of one tensor of an input, which may be a list of them."""
    if isinstance(value, list):
        for place, each in enumerate(value):
            for path, words, changed in _changed(each):
                yield f"[{place}]{path}", words, [*value[:place], changed, *value[place + 1 :]]
    elif is_kind(value) and value[1] in DTYPES:
        shape, dtype = value[:2]
        yield from (("", words, (other, dtype)) for words, other in _shapes(shape))
        whole = DTYPES[dtype].kind in ("int", "uint")
        yield "", f"of {FLOAT if whole else INDEX}", (shape, FLOAT if whole else INDEX)
        yield from (("", f"full of {fill}", (shape, dtype, fill)) for fill in FILLS if whole)


def _shapes(shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    if shape:
        yield "without rows", (0, *shape[1:])
        yield "one row longer", (shape[0] + 1, *shape[1:])
        yield "without dimensions", ()
    if len(shape) > 1:
        yield "without columns", (*shape[:-1], 0)
        yield "one dimension less", shape[1:]
    yield "one dimension more", (1, *shape)
