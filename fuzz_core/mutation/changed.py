"""Did it really change? A wrapper, so that no rule has to ask."""

from __future__ import annotations

from typing import Any

from fuzz_core.ir.values import Prim, Tensor, Value
from fuzz_core.mutation.contract import Context, Mutator


def drop_unchanged(mutator: Mutator) -> Mutator:
    """The mutator with None in place of a value that describes the same as the one that it was given."""
    mutate = mutator.mutate

    def changed(value: Value, ctx: Context) -> Value | None:
        made = mutate(value, ctx)
        return None if made is None or same(made, value) else made

    return mutator._replace(mutate=changed)


def same(one: Value, other: Value) -> bool:
    """Whether two values describe the same: 0.0 and -0.0 do not, two NaN do."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    return (one == other or (_holds_nan(one) and _holds_nan(other))) and repr(one) == repr(other)


def _holds_nan(value: Value) -> bool:
    if isinstance(value, Tensor):
        return _is_nan(value.fill.special) or _is_nan(value.fill.low)
    return isinstance(value, Prim) and _is_nan(value.value)


def _is_nan(number: Any) -> bool:
    return bool(number != number)
