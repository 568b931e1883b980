"""The contents of variables and attributes that programs call: layers, sequences and lists of them, and their loops."""

from __future__ import annotations

import libcst as cst

from fuzz_core.modelgen.moco.styles.activations import Frame
from fuzz_core.modelgen.moco.styles.layers import is_sequence
from fuzz_core.modelgen.moco.styles.sequences import elements, is_list
from fuzz_core.modelgen.moco.styles.source import item
from fuzz_core.modelgen.moco.styles.world import ProgramNames


class Holding:
    """The lookup of held layers, sequences and lists in one program."""

    def __init__(self, world: ProgramNames) -> None:
        self._world = world

    def of(self, node: cst.CSTNode, frame: Frame) -> cst.BaseExpression | None:
        """Returns the expression that a variable, attribute or item holds at all its reads; None if that is unknown."""
        if isinstance(node, cst.Subscript):
            return self._item(node, frame)
        return self._world.held(node, frame.owner, frame.method)

    def _item(self, node: cst.Subscript, frame: Frame) -> cst.BaseExpression | None:
        """Returns the element of a held list at a literal index."""
        held, place = self.of(node.value, frame), item(node)
        if place is None or held is None or not self.is_sequence(held):
            return None
        found = [each.value for each in elements(self._world, held) if each.kind == "element"]
        return found[place] if place < len(found) else None

    def is_sequence(self, value: cst.BaseExpression) -> bool:
        """Returns whether an expression may be a sequence or a list of layers."""
        if isinstance(value, cst.Call):
            return is_sequence(self._world.apis.of(value.func)) or is_list(self._world, value)
        return isinstance(value, (cst.List, cst.Name))

    def in_sequence(self, layer: cst.Call) -> bool:
        """Returns whether a layer is an element of a sequence, which as a whole returns one activation."""
        calls = (each for each in self._world.source.ancestors(layer) if isinstance(each, cst.Call))
        return is_sequence(next(filter(None, (self._world.apis.of(call.func) for call in calls)), ""))

    def applied(self, loop: cst.For | cst.CompFor, frame: Frame) -> cst.BaseExpression | None:
        """Returns the sequence or list of layers that a loop calls one by one, each with one value.

        A loop inside a list counts only if the list is an argument of a function or layer.
        """
        held = self.of(loop.iter, frame)
        body = loop.body if isinstance(loop, cst.For) else self._world.source.parent(loop)
        if held is None or not self.is_sequence(held):
            return None
        if isinstance(loop, cst.CompFor) and not self._is_given(body, frame):
            return None
        calls = (each for each in self._world.source.nodes(body) if isinstance(each, cst.Call))
        named = (call for call in calls if isinstance(call.func, cst.Name) and isinstance(loop.target, cst.Name))
        single = any(call.func.value == loop.target.value and len(call.args) == 1 for call in named)  # type: ignore[attr-defined]
        return held if single else None

    def _is_given(self, value: cst.CSTNode | None, frame: Frame) -> bool:
        """Returns whether a list is an argument of a function or a layer of the library."""
        argument = self._world.source.parent(value) if isinstance(value, cst.ListComp) else None
        call = self._world.source.parent(argument) if isinstance(argument, cst.Arg) else None
        if not isinstance(call, cst.Call):
            return False
        made = call.func if isinstance(call.func, cst.Call) else self.of(call.func, frame)
        return bool(self._world.apis.of(made.func if isinstance(made, cst.Call) else call.func))
