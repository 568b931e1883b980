"""The documentation's constraints on arguments, as data with the words that they were taken from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, Value

Bound: TypeAlias = bool | int | float | str
Check: TypeAlias = Callable[[Sequence[Any], Value], bool | None]
KINDS = ("dtypes", "choices", "minimum", "above", "maximum", "below", "length", "lengths", "rank", "least-rank")
# The documentation and the library itself, then other sources of facts about model programs.
SOURCES = ("op definition", "schema", "annotation", "docstring", "error message", "probe", "trace", "llm", "import")
MAX_TEXT = 300


class Constraint(NamedTuple):
    """A documented bound of an argument of an api.

    kind and bounds:
    - `dtypes`: names of element types. `choices`: texts.
    - `minimum` and `maximum`: one allowed number. `above` and `below`: one number that is not allowed.
    - A whole number bounds whole numbers alone.
    - `length`: the least length of a list. `lengths`: the allowed lengths.
    - `rank`: the allowed numbers of dimensions of a tensor. `least-rank`: the least number.
    """

    api: str
    argument: str
    kind: str
    bounds: tuple[Bound, ...]
    text: str  # the words it was taken from
    source: str  # one of SOURCES

    @classmethod
    def from_json(cls, data: Any) -> Constraint:
        """Read what JSON makes of a constraint, a list.

        Raises:
            CodecError: the data may come from untrusted code.
        """
        match data:
            case [str(api), str(argument), str(kind), list(bounds), str(text), str(source)] if (
                kind in KINDS and source in SOURCES and bounds and _fit(kind, bounds)
            ):
                return cls(api, argument, kind, tuple(bounds), text[:MAX_TEXT], source)
        raise CodecError(f"not a constraint: {str(data)[:200]}")

    def holds(self, value: Value) -> bool | None:
        """Return whether a value satisfies the constraint; None if the constraint does not apply to such a value."""
        return _CHECKS[self.kind](self.bounds, value)


def _fit(kind: str, bounds: Sequence[Any]) -> bool:
    if kind in ("dtypes", "choices"):
        return all(isinstance(bound, str) for bound in bounds)
    return all(type(bound) is int or (type(bound) is float and math.isfinite(bound)) for bound in bounds)


def _dtype(bounds: Sequence[Any], value: Value) -> bool | None:
    """Check tensors of the library's own and dtypes.

    A value to be converted (a number, an array) has no dtype yet.
    """
    if isinstance(value, Tensor):
        return None if value.container == "ndarray" else value.dtype in bounds
    return value.name in bounds if isinstance(value, Ref) and value.kind == "dtype" else None


def _choice(bounds: Sequence[Any], value: Value) -> bool | None:
    if not isinstance(value, Prim) or not isinstance(value.value, str):
        return None
    return value.value.casefold() in {str(bound).casefold() for bound in bounds}


def _number(allowed: Callable[[Any, Any], bool]) -> Check:
    def check(bounds: Sequence[Any], value: Value) -> bool | None:
        """Check a number, or each number of a sequence.

        NaN is on neither side of a bound.
        """
        whole = type(bounds[0]) is int
        numbers = [number for number in _numbers(value) if not (whole and isinstance(number, float))]
        return all(allowed(number, bounds[0]) for number in numbers) if numbers else None

    return check


def _numbers(value: Value) -> Iterator[int | float]:
    if isinstance(value, Seq) and value.kind != "set":
        for item in value.items:
            yield from _numbers(item)
    elif isinstance(value, Prim) and value.type in ("int", "float"):
        assert isinstance(value.value, int | float)
        if not math.isnan(value.value):
            yield value.value


def _count(kind: type, parts: str, allowed: Callable[[int, Sequence[Any]], bool]) -> Check:
    """Make a check of the number of items of a sequence, or of dimensions of a tensor."""
    return lambda bounds, value: allowed(len(getattr(value, parts)), bounds) if isinstance(value, kind) else None


def _at_least(count: int, bounds: Sequence[Any]) -> bool:
    return bool(count >= bounds[0])


def _one_of(count: int, bounds: Sequence[Any]) -> bool:
    return count in bounds


_CHECKS: dict[str, Check] = {
    "dtypes": _dtype,
    "choices": _choice,
    "minimum": _number(lambda number, bound: number >= bound),
    "above": _number(lambda number, bound: number > bound),
    "maximum": _number(lambda number, bound: number <= bound),
    "below": _number(lambda number, bound: number < bound),
    "length": _count(Seq, "items", _at_least),
    "lengths": _count(Seq, "items", _one_of),
    "rank": _count(Tensor, "shape", _one_of),
    "least-rank": _count(Tensor, "shape", _at_least),
}


class ConstraintCheck(NamedTuple):
    """A constraint applied to an argument of a call."""

    constraint: Constraint
    value: Value
    holds: bool


class Documentation:
    """The constraints of a target's apis.

    Args:
        params: names of positional parameters, by api.
    """

    def __init__(self, constraints: Iterable[Constraint] = (), params: Mapping[str, Sequence[str]] = {}) -> None:
        self.by_api: defaultdict[str, list[Constraint]] = defaultdict(list)
        for constraint in constraints:
            self.by_api[constraint.api].append(constraint)
        self.params = params

    def __bool__(self) -> bool:
        """Return whether a constraint is documented."""
        return bool(self.by_api)

    def said(self, invocation: Invocation) -> Iterator[ConstraintCheck]:
        """Apply each constraint that covers an argument of the call.

        For a class, the call is its construction.
        """
        constraints = self.by_api.get(invocation.api)
        if not constraints:
            return
        given = dict(zip(self.params.get(invocation.api, ()), invocation.args, strict=False))
        given.update(invocation.kwargs)
        for constraint in constraints:
            value = given.get(constraint.argument)
            if value is not None and (holds := constraint.holds(value)) is not None:
                yield ConstraintCheck(constraint, value, holds)

    def broken(self, invocation: Invocation) -> ConstraintCheck | None:
        """Return the first constraint that the call does not keep to, if any."""
        return next((said for said in self.said(invocation) if not said.holds), None)

    def legal(self, said: ConstraintCheck) -> list[Value]:
        """Return other values of the same type for the argument that keep to its documentation."""
        own = [c for c in self.by_api[said.constraint.api] if c.argument == said.constraint.argument]
        made = (_put(said.value, bound, said.constraint) for bound in _candidates(own))
        kept = (value for value in made if value is not None and all(c.holds(value) is not False for c in own))
        return list(dict.fromkeys(kept))


def _candidates(constraints: Sequence[Constraint]) -> list[Bound]:
    """Return values at and near the bounds, and between them."""
    found = [bound for c in constraints if c.kind == "choices" for bound in c.bounds]
    numbers = [n for c in constraints if c.kind in ("minimum", "above", "maximum", "below") for n in c.bounds]
    near = [float(number) + step for number in numbers for step in (0, 1, -1)]
    return [*found, *near, *([sum(map(float, numbers)) / len(numbers)] if numbers else [])]


def _put(value: Value, bound: Bound, broken: Constraint) -> Value | None:
    """Return the value with what breaks the constraint replaced by a bound; None where their types differ."""
    if isinstance(value, Seq):
        items = [item if broken.holds(item) else _put(item, bound, broken) for item in value.items]
        return None if None in items else value._replace(items=tuple(item for item in items if item is not None))
    if not isinstance(value, Prim):
        return None
    if value.type == "str":
        return Prim("str", bound) if isinstance(bound, str) else None
    if isinstance(bound, str) or value.type not in ("int", "float"):
        return None
    if value.type == "int":
        return Prim("int", int(bound)) if float(bound).is_integer() else None
    return Prim("float", float(bound))


def replaced(invocation: Invocation, old: Value, new: Value) -> Invocation:
    """Return the call with one of its own arguments, which is recognised by identity, replaced."""
    args = tuple(new if value is old else value for value in invocation.args)
    return invocation._replace(args=args, kwargs=tuple((k, new if v is old else v) for k, v in invocation.kwargs))
