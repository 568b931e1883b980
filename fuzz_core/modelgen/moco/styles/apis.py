"""The public apis of the library that expressions of a program name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst
from libcst.metadata import Assignment, BaseAssignment, BuiltinAssignment, ImportAssignment, QualifiedNameSource

from fuzz_core.modelgen.moco.styles.source import Source

# The first names in canonical names, for modules whose own name is different.
_ROOTS = {"tensorflow": {"tensorflow": "tf", "keras": "tf.keras"}}
_DEPTH = 8  # names of names


class Apis:
    """Canonical names, by the imports of a program and the names that it gives to modules and apis.

    Args:
        aliases: further names of an api, each with the canonical one.
    """

    def __init__(self, source: Source, library: str, aliases: Mapping[str, str]) -> None:
        self._source = source
        self._aliases = aliases
        self._roots = _ROOTS.get(library, {library: library})
        self._values = dict(_values(source))
        self._stars = [
            module
            for node in source.nodes()
            if isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar) and node.module is not None
            if (module := self._canonical(dotted(node.module)))
        ]

    @property
    def imported(self) -> bool:
        """Whether the program imports the library or a part of it."""
        names = (alias.name for node in self._source.nodes() if isinstance(node, cst.Import) for alias in node.names)
        modules = (node.module for node in self._source.nodes() if isinstance(node, cst.ImportFrom))
        return any(self._canonical(dotted(each)) for each in (*names, *modules) if each is not None)

    def of(self, node: cst.CSTNode) -> str:
        """Returns the canonical name of a name or an attribute; empty if it is not of the library."""
        found = next(filter(None, map(self._canonical, self._full(node, _DEPTH))), "")
        return self._aliases.get(found, found)

    def value(self, target: cst.CSTNode) -> cst.BaseExpression | None:
        """Returns the value that a statement assigns to this target alone; None for any other target."""
        return self._values.get(target)

    def _canonical(self, name: str) -> str:
        root, dot, rest = name.partition(".")
        return self._roots[root] + dot + rest if root in self._roots else ""

    def _full(self, node: cst.CSTNode, depth: int) -> list[str]:
        """Yields the names, as modules spell them, that an expression may stand for."""
        name = dotted(node)
        root = leftmost(node)
        scope = self._source.scope(root)
        if not name or scope is None or not depth:
            return []
        assignments = scope[root.value] if isinstance(root, cst.Name) else set()
        if not assignments:
            return [f"{star}.{name}" for star in self._imported_from()]
        found = scope.get_qualified_names_for(node)
        names = [each.name for each in found if each.source is QualifiedNameSource.IMPORT]
        return sorted(names) or self._renamed(assignments, name.partition(".")[2], depth)

    def _imported_from(self) -> list[str]:
        spelled = {public: own for own, public in self._roots.items() if "." not in public}
        return [spelled.get(star.partition(".")[0], "") + "." + star.partition(".")[2] for star in self._stars]

    def _renamed(self, assignments: set[BaseAssignment], rest: str, depth: int) -> list[str]:
        if len(assignments) != 1 or not isinstance(only := next(iter(assignments)), Assignment):
            return []
        value = self._values.get(only.node)
        if isinstance(only, (ImportAssignment, BuiltinAssignment)) or value is None:
            return []
        return [f"{name}.{rest}" if rest else name for name in self._full(value, depth - 1)]


def dotted(node: cst.CSTNode) -> str:
    """Returns a name or a chain of attributes of a name, with dots; empty for any other expression."""
    match node:
        case cst.Name():
            return node.value
        case cst.Attribute():
            before = dotted(node.value)
            return f"{before}.{node.attr.value}" if before else ""
    return ""


def leftmost(node: cst.CSTNode) -> cst.CSTNode:
    """Returns the first expression of a chain of attributes."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def _values(source: Source) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    for node in source.nodes():
        match node:
            case cst.Assign():
                for each in node.targets:
                    yield from _pairs(each.target, node.value)
            case cst.AnnAssign(target=target, value=cst.BaseExpression() as value):
                yield target, value
            case cst.NamedExpr():
                yield node.target, node.value


def _pairs(target: cst.CSTNode, value: cst.BaseExpression) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    if isinstance(target, (cst.Tuple, cst.List)):
        if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(target.elements):
            for one, other in zip(target.elements, value.elements, strict=True):
                if isinstance(one, cst.Element) and isinstance(other, cst.Element):
                    yield from _pairs(one.value, other.value)
    else:
        yield target, value
