"""The elements of sequences of layers, in all forms that programs write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from fuzz_core.modelgen.moco.styles.layers import Kind, is_sequence
from fuzz_core.modelgen.moco.styles.world import ProgramNames


class Element(NamedTuple):
    """An element of a sequence: its form, the text that is removed with it, and its value."""

    kind: Kind
    piece: cst.CSTNode
    value: cst.BaseExpression


def elements(world: ProgramNames, sequence: cst.BaseExpression) -> Iterator[Element]:
    """Yields the elements, in order, as far as they are written out.

    Understood forms: `Sequential(a, b)`, `Sequential([a, b])`, `Sequential(layers=[a, b])`,
    `Sequential(OrderedDict([("one", a), ...]))`, a list alone, `[a for _ in range(3)]`, and `Sequential(*layers)` after
    `layers.append(a)`, `layers += [a, b]`.
    """
    match sequence:
        case cst.List() | cst.Tuple():
            for each in sequence.elements:
                if isinstance(each, cst.StarredElement):
                    yield from elements(world, each.value)
                else:
                    yield Element("element", each, _named(each.value))
        case cst.ListComp():
            yield Element("element", sequence, _named(sequence.elt))
        case cst.Name():
            yield from _collected(world, sequence)
        case cst.Call():
            yield from _of_call(world, sequence)


def is_whole(world: ProgramNames, sequence: cst.BaseExpression) -> bool:
    """Returns whether all elements of a sequence are written out, including those of each list that it spreads."""
    spread = (
        each.value
        for each in world.source.nodes(sequence)
        if isinstance(each, cst.StarredElement) or (isinstance(each, cst.Arg) and each.star)
    )
    return all(any(True for _ in elements(world, each)) for each in spread)


def _of_call(world: ProgramNames, call: cst.Call) -> Iterator[Element]:
    named = [each for each in call.args if each.keyword is not None and each.keyword.value in ("layers", "modules")]
    given = [each for each in call.args if each.keyword is None] or named
    if len(given) == 1 and (given[0].star or _is_listed(world, given[0].value)):
        inner = given[0].value
        if isinstance(inner, cst.Call) and not world.apis.of(inner.func) and len(inner.args) == 1:
            inner = inner.args[0].value
        yield from elements(world, inner)
        return
    for argument in given:
        if argument.star:
            yield from elements(world, argument.value)
        else:
            yield Element("element", argument, argument.value)


def _is_listed(world: ProgramNames, value: cst.BaseExpression) -> bool:
    """Returns whether a sole argument holds all the elements: a list, a variable, an `OrderedDict([...])`."""
    if isinstance(value, cst.Call) and len(value.args) == 1 and not world.apis.of(value.func):
        value = value.args[0].value
        return isinstance(value, (cst.List, cst.Tuple))
    return isinstance(value, (cst.List, cst.Tuple, cst.ListComp, cst.Name))


def _named(value: cst.BaseExpression) -> cst.BaseExpression:
    """Returns the layer in a pair of a name and a layer."""
    if isinstance(value, cst.Tuple) and len(value.elements) == 2:
        name, layer = (each.value for each in value.elements)
        return layer if isinstance(name, (cst.SimpleString, cst.FormattedString)) else value
    return value


def _collected(world: ProgramNames, variable: cst.BaseExpression) -> Iterator[Element]:
    """Yields the elements of a list that statements fill; none if the list is also read in another way."""
    if not isinstance(variable, cst.Name):
        return
    start = world.value(variable)
    if not isinstance(start, (cst.List, cst.ListComp)):
        return
    found = [*elements(world, start)]
    for name in world.mentions(variable):
        got = _fill(world, name)
        if got is None:
            return
        found += got
    yield from found


def _fill(world: ProgramNames, name: cst.Name) -> list[Element] | None:
    """Returns the elements that a mention of a list adds to it; None if the mention is not understood."""
    parent = world.source.parent(name)
    if isinstance(parent, cst.AugAssign) and parent.target is name and isinstance(parent.value, cst.List):
        return [*elements(world, parent.value)]
    if isinstance(parent, cst.Attribute) and isinstance(call := world.source.parent(parent), cst.Call):
        statement = world.source.parent(call)
        if call.func is not parent or len(call.args) != 1 or not isinstance(statement, cst.Expr):
            return None
        if parent.attr.value == "append":
            return [Element("added", statement, _named(call.args[0].value))]
        if parent.attr.value == "extend" and isinstance(call.args[0].value, cst.List):
            return [*elements(world, call.args[0].value)]
        return None
    return [] if _is_taken(world, name, parent) else None


def _is_taken(world: ProgramNames, name: cst.Name, parent: cst.CSTNode | None) -> bool:
    """Returns whether a list is only read as a whole here: by a sequence, a loop, a return or an assignment."""
    if isinstance(parent, (cst.StarredElement, cst.Return)):
        return True
    if isinstance(parent, cst.Arg):
        call = world.source.parent(parent)
        return isinstance(call, cst.Call) and (is_sequence(world.apis.of(call.func)) or is_list(world, call))
    return isinstance(parent, cst.Assign) or (isinstance(parent, cst.For) and parent.iter is name)


def is_list(world: ProgramNames, call: cst.CSTNode) -> bool:
    """Returns whether a call makes a list of layers that are used one by one, as a `ModuleList` is."""
    return isinstance(call, cst.Call) and world.apis.of(call.func).endswith("List")
