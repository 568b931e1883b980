"""A small library of arrays, each of its faults planted: `tests/quality/planted_faults.py` lists them.

A fault stands in one function each, and in one way to call it; the functions of `sound`, and `decayed`, have none.
"""

from __future__ import annotations

from qualitylib import costly, crashing, disagreeing, documented, sound, unbounded
from qualitylib.array import (
    Array,
    array,
    between,
    compiled,
    derivative,
    empty_like,
    quotient,
    scattered,
    settings,
    threaded,
    twice,
    vmap,
)

__all__ = [
    "Array",
    "array",
    "between",
    "compiled",
    "derivative",
    "empty_like",
    "quotient",
    "scattered",
    "settings",
    "threaded",
    "twice",
    "vmap",
]

MODULES = (crashing, disagreeing, unbounded, documented, costly, sound)
APIS = tuple(
    name
    for module in MODULES
    for name, found in vars(module).items()
    if getattr(found, "__module__", "") == module.__name__ and ">>> " in (found.__doc__ or "")
)
globals().update({name: vars(module)[name] for module in MODULES for name in vars(module) if name.rstrip("_") in APIS})
