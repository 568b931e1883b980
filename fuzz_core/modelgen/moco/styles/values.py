"""The origins of activations: they show which activations are the same while the layers in between are absent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

import libcst as cst

from fuzz_core.modelgen.moco.styles.activations import Activations, Frame, Path, Several, Value
from fuzz_core.modelgen.moco.styles.source import item
from fuzz_core.modelgen.moco.styles.world import ProgramNames

Layers = frozenset[cst.Call]
# The parts that identify an expression, besides its kind.
_PARTS = (cst.BaseExpression, cst.Arg, cst.BaseElement, cst.SubscriptElement, cst.BaseSlice, cst.BaseBinaryOp)


class Through(NamedTuple):
    """The layers that a call passes an activation through, if it does not change the activation in any other way."""

    activation: cst.BaseExpression
    layers: Layers
    sure: bool = True


class Values:
    """The origins of expressions.

    Attributes:
        through: calls of layers, and of objects made of layers alone.
        gathering: calls of the library that make one activation of several.
    """

    def __init__(self, world: ProgramNames, activations: Activations) -> None:
        self.through: dict[cst.CSTNode, Through] = {}
        self.gathering: set[cst.CSTNode] = set()
        self._world = world
        self._activations = activations
        self._numbers: dict[Hashable, int] = {}

    def of(self, node: cst.CSTNode, frame: Frame) -> Value:
        """Returns the origin of an expression."""
        match node:
            case cst.Name():
                held = frame.values.get(node.value)
                return held if isinstance(held, Value) else self.named(node.value)
            case cst.Call() if node in self.through:
                return self._passed(node, frame)
            case cst.Subscript(value=cst.Call() as call) if call in self.through and item(node) is not None:
                return self._passed(call, frame)
            case cst.NamedExpr(value=inner) | cst.UnaryOperation(expression=inner):
                return self.of(inner, frame)
            case cst.IfExp():
                return self._either(self.of(node.body, frame), self.of(node.orelse, frame))
            case cst.Attribute() if self._activations.active(node.value, frame):
                value = self.of(node.value, frame)
                return value._replace(root=self._number("attribute", node.attr.value, value.root))
        return self._together(node, frame) or self._made(node, frame)

    def named(self, name: str) -> Value:
        """Returns the origin of a variable about which no more than its name is known."""
        return Value(self._number("name", name))

    def _passed(self, call: cst.Call, frame: Frame) -> Value:
        activation, _, sure = self.through[call]
        value = self.of(activation, frame)
        return Value(value.root, value.path | {call}, value.sure | {call} if sure else value.sure)

    def _together(self, node: cst.CSTNode, frame: Frame) -> Value | None:
        """Returns the origin of a join; arithmetic with a single activation keeps that activation's origin."""
        if isinstance(node, cst.BinaryOperation) and not isinstance(node.operator, cst.MatrixMultiply):
            sides = [each for each in (node.left, node.right) if self._activations.active(each, frame)]
            if len(sides) == 1:
                return self.of(sides[0], frame)
        several = self.brought(node, frame)
        return joined(several.parts) if several is not None else None

    def brought(self, node: cst.CSTNode, frame: Frame) -> Several | None:
        """Returns the activations that an expression, or a `+=`, joins."""
        found = self.operands(node, frame)
        if len(found) == 1:
            several = self.several(found[0], frame)
            return several if several is not None and several.parts else None
        plain = all(self._activations.active(each, frame) and not self.several(each, frame) for each in found)
        return Several(tuple(self.of(each, frame) for each in found), len(found)) if found and plain else None

    def operands(self, node: cst.CSTNode, frame: Frame) -> list[cst.BaseExpression]:
        """Returns the expressions of joined activations, or the single expression of their list."""
        match node:
            case cst.BinaryOperation():
                return [node.left, node.right]
            case cst.AugAssign(target=cst.Name()):
                return [node.target, node.value]
            case cst.Call() if node in self.gathering:
                values = (each.value for each in node.args)
                return [each for each in values if self._activations.active(each, frame) or self.is_list(each, frame)]
        return []

    def is_list(self, node: cst.CSTNode, frame: Frame) -> bool:
        """Returns whether a variable holds a list of activations."""
        return isinstance(node, cst.Name) and bool((held := self.several(node, frame)) and held.parts)

    def several(self, node: cst.CSTNode, frame: Frame) -> Several | None:
        """Returns the parts of a list of activations; None if the expression is none, or is not written out."""
        match node:
            case cst.Name():
                held = frame.values.get(node.value)
                return held if isinstance(held, Several) else None
            case cst.List() | cst.Tuple():
                plain = [each.value for each in node.elements if isinstance(each, cst.Element)]
                if len(plain) == len(node.elements) and all(self._activations.active(each, frame) for each in plain):
                    return Several(tuple(self.of(each, frame) for each in plain), len(plain))
            case cst.ListComp() if self._activations.active(node.elt, frame):
                return Several((self.of(node.elt, frame),), 0)
        return None

    def _made(self, node: cst.CSTNode, frame: Frame) -> Value:
        """Returns a new origin for any other expression; it is the same for the same parts."""
        if not self._activations.active(node, frame):
            return Value(self._number("text", self._world.source.module.code_for_node(node).strip()))
        parts = [self.of(each, frame) for each in self._world.source.children(node) if isinstance(each, _PARTS)]
        return _united(self._number(type(node).__name__, *(part.root for part in parts)), parts)

    def _either(self, one: Value, other: Value) -> Value:
        root = one.root if one.root == other.root else self._number("either", one.root, other.root)
        return Value(root, one.path | other.path, one.sure & other.sure)

    def merge(self, frame: Frame, other: Mapping[str, Value | Several]) -> None:
        """Merges the origins of variables at a place that the program reaches on two paths."""
        one, frame.values = frame.values, {}
        for name in {*one, *other}:
            first, second = one.get(name, self.named(name)), other.get(name, self.named(name))
            if isinstance(first, Value) and isinstance(second, Value):
                frame.values[name] = self._either(first, second)
            elif isinstance(first, Several) and isinstance(second, Several):
                longer = max(first, second, key=lambda each: len(each.parts))
                frame.values[name] = longer._replace(fixed=min(first.fixed, second.fixed))

    def assign(self, target: cst.CSTNode, value: cst.BaseExpression, frame: Frame) -> None:
        """Notes the origins of variables from here on."""
        match target:
            case cst.Name():
                frame.values[target.value] = self.several(value, frame) or self.of(value, frame)
            case cst.Tuple() | cst.List():
                found = self._unpacked(target, value, frame)
                for element, made in zip(target.elements, found, strict=True):
                    if isinstance(element.value, cst.Name):
                        frame.values[element.value.value] = made

    def forget(self, target: cst.CSTNode, frame: Frame) -> None:
        """Gives new origins to the variables in an assignment target."""
        for each in self._world.source.nodes(target):
            if isinstance(each, cst.Name):
                frame.values[each.value] = Value(self._number("turn", each))

    def _unpacked(self, target: cst.Tuple | cst.List, value: cst.BaseExpression, frame: Frame) -> list[Value]:
        given = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
        if len(given) == len(target.elements):
            return [self.of(each.value, frame) for each in given]
        whole, read = self.of(value, frame), [self._is_read(each.value) for each in target.elements]
        if value in self.through and sum(read) == 1:
            return [whole] * len(read)
        return [whole._replace(root=self._number("part", place, whole.root)) for place in range(len(read))]

    def _is_read(self, target: cst.CSTNode) -> bool:
        """Returns whether a variable of such a name is read in any place."""
        source = self._world.source
        names = [each for each in source.nodes(target) if isinstance(each, cst.Name)]
        return any(source.loads(mention) for name in names for mention in self._world.names[name.value])

    def append(self, call: cst.Call, frame: Frame) -> None:
        """Notes the value that is appended to a list of activations."""
        match call:
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="append")), args=[given]):
                held = frame.values.get(name)
                if isinstance(held, Several):
                    certain = held.fixed == len(held.parts) and not self._is_turned(call)
                    frame.values[name] = Several((*held.parts, self.of(given.value, frame)), held.fixed + certain)

    def _is_turned(self, node: cst.CSTNode) -> bool:
        """Returns whether a node may be computed any number of times in one call of its function."""
        for outer in self._world.source.ancestors(node):
            if isinstance(outer, (cst.For, cst.While, cst.If, cst.Try)):
                return True
            if isinstance(outer, cst.FunctionDef):
                break
        return False

    def layers(self, path: Iterable[cst.CSTNode]) -> Layers:
        """Returns the layers in the calls of a path."""
        return frozenset[cst.Call]().union(*(self.through[each].layers for each in path))

    def _number(self, *what: Hashable) -> int:
        return self._numbers.setdefault(what, len(self._numbers))


def joined(parts: tuple[Value, ...]) -> Value | None:
    """Returns the value of a join of activations that are the same without their layers; None if they differ."""
    if any(part.root != parts[0].root for part in parts):
        return None
    whole = _united(parts[0].root, parts)
    return whole if len(parts) == 1 or any(part.path != whole.path for part in parts) else None


def _united(root: int, parts: Iterable[Value]) -> Value:
    path, sure = Path(), Path()
    for part in parts:
        path, sure = path | part.path, sure | part.sure
    return Value(root, path, sure)
