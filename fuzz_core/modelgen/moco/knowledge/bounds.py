"""Documented bounds and choices as facts, each with its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fuzz_core.ir.constraints import Constraint
from fuzz_core.modelgen.moco.facts import NumberRange, Origin

# How far each source is trusted: declarations that the library itself checks, prose that a rule has read.
CONFIDENCE = {"op definition": 1.0, "schema": 1.0, "error message": 0.95, "annotation": 0.9, "docstring": 0.8}
_QUOTED_NONE = re.compile(r"""(['"])none\1""")
_SIDES = {
    "minimum": ("least", False),
    "above": ("least", True),
    "maximum": ("most", False),
    "below": ("most", True),
}


def origin_of(constraint: Constraint) -> Origin:
    """Returns the origin of a constraint."""
    return Origin(source=constraint.source, text=constraint.text, confidence=CONFIDENCE[constraint.source])  # type: ignore[arg-type]


def bounds_of(constraints: Iterable[Constraint]) -> tuple[NumberRange, ...]:
    """Returns the bounds among the constraints of an argument; two sides in one sentence become one range."""
    merged: dict[Origin, dict[str, float | bool]] = {}
    for each in constraints:
        if each.kind in _SIDES:
            side, is_open = _SIDES[each.kind]
            merged.setdefault(origin_of(each), {}).update({side: float(each.bounds[0]), f"open_{side}": is_open})
    return tuple(NumberRange(**sides, origin=origin) for origin, sides in merged.items())  # type: ignore[arg-type]


def choices_of(constraints: Sequence[Constraint]) -> tuple[tuple[str, ...], Origin | None]:
    """Returns the legal texts of an argument, as expressions; an unquoted `none` becomes None."""
    for each in constraints:
        if each.kind == "choices":
            absent = "none" if _QUOTED_NONE.search(each.text) is None else None
            texts = tuple(dict.fromkeys("None" if text == absent else repr(text) for text in map(str, each.bounds)))
            return texts, origin_of(each)
    return (), None
