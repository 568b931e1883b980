"""The further places where a program reads a layer. A layer that is read for more than its result must stay."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from fuzz_core.modelgen.moco.styles.apis import leftmost
from fuzz_core.modelgen.moco.styles.layers import Layer
from fuzz_core.modelgen.moco.styles.source import item
from fuzz_core.modelgen.moco.styles.world import Class, ProgramNames, selfname


class Reads:
    """The lookup of reads of layers and variables."""

    def __init__(self, world: ProgramNames) -> None:
        self._world = world
        self._source = world.source

    def elsewhere(self, layer: Layer) -> int:
        """Returns the first line that reads a held layer without calling it; 0 if there is none."""
        used = {use.call.func for use in layer.uses}
        lines = (self._source.line(node) for func in used for node in self._other(func, used))
        return min(lines, default=0)

    def _other(self, function: cst.CSTNode, used: Collection[cst.CSTNode]) -> Iterator[cst.CSTNode]:
        if not isinstance(function, cst.Subscript):
            yield from (node for node in self._reads(function) if node not in used)
            return
        for node in self._reads(function.value):
            outer = self._source.parent(node)
            if not isinstance(outer, cst.Subscript) or item(outer) is None:
                yield node
            elif item(outer) == item(function) and outer not in used:
                yield outer

    def _reads(self, holder: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yields all reads of the variable or the attribute that this expression names."""
        if isinstance(holder, cst.Name):
            for name in self._world.names[holder.value]:
                if self._source.loads(name) and self._world.same_variable(name, holder):
                    yield name
        elif isinstance(holder, cst.Attribute):
            for attribute in self._world.attributes[holder.attr.value]:
                if self._may_be(attribute, holder):
                    yield attribute

    def _may_be(self, attribute: cst.Attribute, holder: cst.Attribute) -> bool:
        """Returns whether an attribute may be the layer: it belongs to no module, activation or other class."""
        owner, here = self._owner(attribute), self._owner(holder)
        if isinstance(attribute.value, cst.Name) and owner is not None:
            method = self._source.function_of(attribute)
            if method is not None and attribute.value.value != selfname(method):
                return False
            related = {owner.name, *owner.bases} & {here.name, *here.bases} if here else set()
            return owner is here or bool(related)
        if not isinstance(leftmost(attribute), cst.Name):
            return False
        return not self._world.imported(leftmost(attribute))

    def _owner(self, node: cst.CSTNode) -> Class | None:
        found = next((each for each in self._source.ancestors(node) if isinstance(each, cst.ClassDef)), None)
        return self._world.classes.get(found.name.value) if found else None

    def read_after(self, target: cst.CSTNode, after: cst.CSTNode) -> bool:
        """Returns whether an assigned target is read behind the statement, or in the next turn of a loop around it."""
        if isinstance(target, (cst.Tuple, cst.List)):
            return any(self.read_after(each.value, after) for each in target.elements)
        if not isinstance(target, cst.Name):
            return True
        loops = [each for each in self._source.ancestors(after) if isinstance(each, (cst.For, cst.While))]
        start = self._source.span(loops[-1]).start if loops else self._source.span(after).end
        return any(
            self._source.loads(name)
            and self._source.span(name).start >= start
            and self._source.function_of(name) is self._source.function_of(after)
            for name in self._world.names[target.value]
        )
