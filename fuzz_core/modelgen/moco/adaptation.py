"""Adaptation of blocks to their inputs: parameters bound to the input's shape, and relations between parameters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from itertools import zip_longest

from fuzz_core.modelgen.moco.calls import broken, given, parameters, value, with_value, without
from fuzz_core.modelgen.moco.constants import constant, meaning, parsed, same, written
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.program import Call


def bound(facts: Facts, shape: tuple[int, ...]) -> dict[str, str]:
    """Return the values that bound parameters must have for an input of this shape, by name."""
    rank = len(shape)
    sizes = {
        parameter.name: str(shape[parameter.binds])
        for parameter in parameters(facts)
        if parameter.binds is not None and -rank <= parameter.binds < rank
    }
    return {**_alike(facts, shape), **sizes}


def _alike(facts: Facts, shape: tuple[int, ...]) -> dict[str, str]:
    """Return arguments with the input's shape in the working example, such as a loss's target, in the new shape."""
    names = {parameter.name for parameter in parameters(facts) if parameter.dtype == "tensor"}
    made = ((name, _resized(text, facts.inputs[:1], shape)) for name, text in facts.example.items() if name in names)
    return {name: text for name, text in made if text is not None}


def _resized(text: str, inputs: tuple[tuple[int, ...], ...], shape: tuple[int, ...]) -> str | None:
    """Rewrite a call whose first argument is the shape of an input for a new shape; None for any other text."""
    try:
        made = parsed(text)
        if not isinstance(made, ast.Call) or not made.args or tuple(constant(made.args[0])) not in inputs:
            return None
    except (ValueError, TypeError, ArithmeticError):
        return None
    return ast.unparse(ast.Call(made.func, [parsed(written(shape)), *made.args[1:]], made.keywords))


def _itself(call: Call) -> Call:
    return call


def fitted(call: Call, facts: Facts, shape: tuple[int, ...], resolve: Callable[[Call], Call] = _itself) -> Call:
    """Return the call with its bound parameters set to what arrives; the same call if they are set already.

    If that breaks a relation, other parameters change as little as repairs it. A call that cannot be repaired is
    returned with the bound parameters alone, and fails when it runs.

    Args:
        resolve: replaces the program's names for constants by the constants (`Names.resolved`).
    """
    plain = made = resolve(call)
    for name, source in bound(facts, shape).items():
        had = value(made, facts, name)
        if had is None or not same(meaning(had), meaning(source)):
            made = with_value(made, facts, name, source)
    return call if made == plain else as_written(mended(made, facts) or made, plain, call)


def as_written(made: Call, plain: Call, call: Call) -> Call:
    """Return `made`, a changed copy of `plain`, with the words of `call` for every argument that has not changed."""
    places = zip_longest(made.arguments, plain.arguments, call.arguments)
    words = (said if argument == meant else argument for argument, meant, said in places if argument is not None)
    return made._replace(arguments=tuple(words))


def mended(call: Call, facts: Facts, fixed: Collection[str] = ()) -> Call | None:
    """Change the call step by step until no relation is broken; None if no step breaks fewer relations.

    Args:
        fixed: parameters that stay as they are, as bound parameters always do.
    """
    left = broken(call, facts)
    while left:
        step = next(_better(call, facts, left, fixed), None)
        if step is None:
            return None
        call, left = step
    return call


def _better(call: Call, facts: Facts, left: list[int], fixed: Collection[str]) -> Iterator[tuple[Call, list[int]]]:
    for changed in _changes(call, facts, left[0], fixed):
        still = broken(changed, facts)
        if len(still) < len(left):
            yield changed, still


def _changes(call: Call, facts: Facts, relation: int, fixed: Collection[str]) -> Iterator[Call]:
    """Yield calls with one parameter of a relation changed: to a related one, its default, or a working value."""
    related = facts.relations[relation].parameters
    equal = [value(call, facts, name) for name in related]
    for parameter in parameters(facts):
        if parameter.name not in related or parameter.name in fixed or parameter.binds is not None:
            continue
        shorter = without(call, facts, parameter.name) if parameter.default is not None else None
        if parameter.name in given(call, facts) and shorter is not None:
            yield shorter
        worked = (
            facts.example.get(parameter.name),
            parameter.default,
            *parameter.seen,
            *map(written, parameter.choices),
            *equal,
        )
        for source in dict.fromkeys(worked):
            if source is not None and source != value(call, facts, parameter.name):
                yield with_value(call, facts, parameter.name, source)
