"""Calls with facts about their apis: the parameter of each argument, and calls with one argument changed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.expressions import Opaque, constant, holds, meaning, parsed, readable, same, written
from fuzz_core.modelgen.moco.block_test import taken_out
from fuzz_core.modelgen.moco.facts import Facts, Parameter
from fuzz_core.modelgen.moco.program import INPUT, Call, CallArgument


def parameters(facts: Facts) -> tuple[Parameter, ...]:
    """Return the parameters that can be chosen: a function's first parameter takes the activation and is left out."""
    return facts.parameters[1:] if facts.kind == "function" else facts.parameters


def given(call: Call, facts: Facts) -> dict[str, int]:
    """Return the places of the arguments of a call, by their parameters and without the activation."""
    found: dict[str, int] = {}
    free = iter([parameter.name for parameter in facts.parameters if parameter.positional])
    for place, argument in enumerate(call.arguments):
        if argument.source.startswith("*"):
            # The parameters of a starred argument and of the arguments after it are unknown.
            free = iter(())
        elif (name := argument.name or next(free, "")) and argument.source != INPUT:
            found[name] = place
    return found


def value(call: Call, facts: Facts, name: str) -> str | None:
    """Return the expression of a parameter in a call: its argument, or its default; None if it has neither."""
    place = given(call, facts).get(name)
    if place is not None:
        return call.arguments[place].source
    parameter = facts.parameter(name)
    return None if parameter is None else parameter.default


def with_value(call: Call, facts: Facts, name: str, source: str) -> Call:
    """Return the call with another expression for a parameter; a new argument is added by keyword."""
    arguments = list(call.arguments)
    place = given(call, facts).get(name)
    if place is not None:
        arguments[place] = arguments[place]._replace(source=source)
    else:
        end = len(arguments) - any(argument.source.startswith("**") for argument in arguments[-1:])
        arguments.insert(end, CallArgument(name, source))
    return call._replace(arguments=tuple(arguments))


def meanings(call: Call, facts: Facts) -> dict[str, Any]:
    """Return the constant values of a call's parameters, including defaults."""
    places = given(call, facts)
    found = {p.name: meaning(p.default) for p in parameters(facts) if p.default is not None}
    found.update((name, meaning(call.arguments[place].source)) for name, place in places.items())
    return {name: each for name, each in found.items() if not isinstance(each, Opaque)}


def broken(call: Call, facts: Facts) -> list[int]:
    """Return the places of the relations that a call breaks.

    An undecidable relation does not count as broken.
    """
    if not facts.relations:
        return []
    names = meanings(call, facts)
    trees = [readable(relation.expression) for relation in facts.relations]
    return [place for place, tree in enumerate(trees) if tree is not None and holds(tree, names) is False]


def parse_call(text: str, api: str, applied: bool) -> Call:
    """Parse a call, and keep each argument as it is written.

    Raises:
        UserError: the text is no call.
    """
    tree: ast.expr | None
    try:
        tree = parsed(text)
    except ValueError:
        tree = None
    if not isinstance(tree, ast.Call):
        problem = f"the text of a call of {api} is not a Python call: {text[:80]!r}"
        remedy = "if it comes from a derivation tree on record, begin a new tree in another --state DIR"
        raise UserError(problem, remedy)
    layer, fit = taken_out(tree, text)
    return Call(api, _source(text, layer.func), tuple(_arguments(text, layer)), applied, fit)


def _arguments(text: str, tree: ast.Call) -> Iterator[CallArgument]:
    # In the order in which they are written: a starred argument may come after a keyword.
    every = [(each, "") for each in tree.args] + [(each.value, each.arg or "**") for each in tree.keywords]
    for node, name in sorted(every, key=lambda pair: (pair[0].lineno, pair[0].col_offset)):
        source = _source(text, node)
        yield CallArgument("", f"**{source}") if name == "**" else CallArgument(name, source)


def _source(text: str, node: ast.expr) -> str:
    return ast.get_source_segment(text, node) or ast.unparse(node)


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


def mended(call: Call, facts: Facts) -> Call | None:
    """Change the call step by step until no relation is broken; None if no step breaks fewer relations.

    Bound parameters stay as they are.
    """
    left = broken(call, facts)
    while left:
        for changed in _changes(call, facts, left[0]):
            if len(still := broken(changed, facts)) < len(left):
                call, left = changed, still
                break
        else:
            return None
    return call


def _changes(call: Call, facts: Facts, relation: int) -> Iterator[Call]:
    """Yield calls with one parameter of a relation changed: to a related one, its default, or a working value."""
    related = facts.relations[relation].parameters
    equal = [value(call, facts, name) for name in related]
    for parameter in parameters(facts):
        if parameter.name not in related or parameter.binds is not None:
            continue
        place = given(call, facts).get(parameter.name)
        if place is not None and parameter.default is not None:
            before, after = call.arguments[:place], call.arguments[place + 1 :]
            # No argument by position stands for another parameter then.
            if call.arguments[place].name or all(each.name for each in after):
                yield call._replace(arguments=before + after)
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
