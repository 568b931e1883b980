"""The classes and functions of a program, and what their variables and attributes hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst
from libcst.metadata import Assignment, BaseAssignment, BuiltinAssignment, ImportAssignment

from fuzz_core.modelgen.moco.styles.apis import Apis
from fuzz_core.modelgen.moco.styles.source import Source

FORWARD = ("forward", "call", "execute", "__call__")


class Class:
    """A class of the program.

    Attributes:
        attributes: the values that its methods assign to attributes of `self`, by name.
    """

    def __init__(self, node: cst.ClassDef, apis: Apis, source: Source) -> None:
        self.node = node
        self.name = node.name.value
        self.bases = [base.value.value for base in node.bases if isinstance(base.value, cst.Name)]
        self.methods = {each.name.value: each for each in node.body.body if isinstance(each, cst.FunctionDef)}
        self.attributes: defaultdict[str, list[cst.BaseExpression | None]] = defaultdict(list)
        for method in self.methods.values():
            for target in _stored(source, method):
                self.attributes[target.attr.value].append(apis.value(target))


def _stored(source: Source, method: cst.FunctionDef) -> Iterator[cst.Attribute]:
    first = selfname(method)
    for node in source.nodes(method):
        own = isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == first
        if isinstance(node, cst.Attribute) and own and not source.loads(node):
            yield node


class ProgramNames:
    """The meanings of the names in a program."""

    def __init__(self, source: Source, apis: Apis) -> None:
        self.source = source
        self.apis = apis
        nodes = list(source.nodes())
        self.classes = {n.name.value: Class(n, apis, source) for n in nodes if isinstance(n, cst.ClassDef)}
        self.functions: dict[cst.CSTNode, cst.FunctionDef] = {n: n for n in nodes if isinstance(n, cst.FunctionDef)}
        self.passed = [each for n in nodes if isinstance(n, cst.Arg) and (each := self._passed(n))]
        # Mentions of variables, and reads of attributes, by name.
        self.names: defaultdict[str, list[cst.Name]] = defaultdict(list)
        self.attributes: defaultdict[str, list[cst.Attribute]] = defaultdict(list)
        for node in nodes:
            if isinstance(node, cst.Name) and source.scope(node) is not None:
                self.names[node.value].append(node)
            elif isinstance(node, cst.Attribute) and source.loads(node):
                self.attributes[node.attr.value].append(node)

    def lineage(self, owner: Class) -> list[Class]:
        """Returns a class and the program's classes that it inherits from, the nearest first."""
        found = [owner]
        for each in found:
            found += [self.classes[b] for b in each.bases if b in self.classes and self.classes[b] not in found]
        return found

    def method(self, owner: Class, name: str) -> cst.FunctionDef | None:
        """Returns the method that an object of this class has."""
        return next((each.methods[name] for each in self.lineage(owner) if name in each.methods), None)

    def computing(self, owner: Class) -> list[cst.FunctionDef]:
        """Returns the method that computes a model, or all ordinary methods of a class with a library base.

        A class of the program without a base is a model if it has a method of one of these names.
        """
        names = FORWARD if owner.node.bases else FORWARD[:-1]
        found = next(filter(None, (self.method(owner, name) for name in names)), None)
        if found is not None or not any(self.apis.of(base.value) for base in owner.node.bases):
            return [found] if found is not None else []
        return [each for name, each in owner.methods.items() if not name.startswith("__") and name != "build"]

    def local_class(self, node: cst.CSTNode) -> Class | None:
        """Returns the class of the program that a name means."""
        return self.classes.get(node.value) if isinstance(node, cst.Name) else None

    def _passed(self, argument: cst.Arg) -> Class | None:
        """Returns the class that a call passes on, but not to a builtin function: `super(Net, self)`."""
        call = self.source.parent(argument)
        asked = isinstance(call, cst.Call) and self.builtin(call.func)
        return None if asked else self.local_class(argument.value)

    def parts(self) -> set[str]:
        """Returns the names of classes that are only used as parts of other classes."""
        names = {each.name for each in self.passed}
        made = set()
        for name in self.classes:
            for mention in self.names[name]:
                outer = {n.name.value for n in self.source.ancestors(mention) if isinstance(n, cst.ClassDef)}
                call = self.source.parent(mention)
                if outer and name not in outer:
                    names.add(name)
                elif not outer and isinstance(call, cst.Call) and call.func is mention:
                    made.add(name)
        return names - made

    def made_by(self, node: cst.CSTNode) -> cst.Call | None:
        """Returns the call whose result is a program function's only result."""
        function = self.local_function(node)
        gives = [each.value for each in self.source.nodes(function or node) if isinstance(each, cst.Return)]
        return gives[0] if function and len(gives) == 1 and isinstance(gives[0], cst.Call) else None

    def local_function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Returns the function of the program that a name means."""
        found = self._assigned(node)
        return self.functions.get(found) if found is not None else None

    def held(self, node: cst.CSTNode, owner: Class | None, method: cst.FunctionDef | None) -> cst.BaseExpression | None:
        """Returns the value that a variable, or an attribute of `self` in a method of `owner`, has at all its reads."""
        if isinstance(node, cst.Attribute) and own_attribute(node, method) and owner is not None:
            values = [v for each in self.lineage(owner) for v in each.attributes.get(node.attr.value, ())]
            return values[0] if len(values) == 1 else None
        return self.value(node)

    def value(self, node: cst.CSTNode) -> cst.BaseExpression | None:
        """Returns the value of a variable that is assigned once."""
        target = self._assigned(node)
        return self.apis.value(target) if target is not None else None

    def mentions(self, variable: cst.Name) -> list[cst.Name]:
        """Returns the places that read a variable or add to it, in the order of the text."""
        first = self._assigned(variable)
        found = [
            each
            for each in self.names[variable.value]
            if self._assigned(each) is first
            and (self.source.loads(each) or isinstance(self.source.parent(each), cst.AugAssign))
        ]
        return sorted(found, key=lambda each: self.source.span(each).start)

    def _assigned(self, node: cst.CSTNode) -> cst.CSTNode | None:
        found = [each for each in self._bindings(node) if not self._adds(each)]
        return found[0].node if len(found) == 1 and isinstance(found[0], Assignment) else None

    def _adds(self, assignment: BaseAssignment) -> bool:
        """Returns whether an assignment is `+=`, which keeps the list."""
        return isinstance(assignment, Assignment) and isinstance(self.source.parent(assignment.node), cst.AugAssign)

    def is_parameter(self, node: cst.CSTNode) -> bool:
        """Returns whether a name is a parameter."""
        found = [each for each in self._bindings(node) if isinstance(each, Assignment)]
        return any(isinstance(self.source.parent(each.node), cst.Parameters) for each in found)

    def builtin(self, node: cst.CSTNode) -> bool:
        """Returns whether a name is a builtin function."""
        return any(isinstance(each, BuiltinAssignment) for each in self._bindings(node))

    def imported(self, node: cst.CSTNode) -> bool:
        """Returns whether a name stands for an imported module or an object in one."""
        return any(isinstance(each, ImportAssignment) for each in self._bindings(node))

    def _bindings(self, node: cst.CSTNode) -> Iterable[BaseAssignment]:
        scope = self.source.scope(node)
        return scope[node.value] if isinstance(node, cst.Name) and scope is not None else ()

    def same_variable(self, one: cst.Name, other: cst.Name) -> bool:
        """Returns whether two names of the same spelling are the same variable."""
        return self._assigned(one) is self._assigned(other)


def own_attribute(node: cst.CSTNode, method: cst.FunctionDef | None) -> bool:
    """Returns whether a node is an attribute of the object that the method belongs to."""
    if not isinstance(node, cst.Attribute) or not isinstance(node.value, cst.Name) or method is None:
        return False
    return node.value.value == selfname(method)


def selfname(method: cst.FunctionDef) -> str:
    """Returns the name that a method gives its object; empty if it has no parameters."""
    given = [*method.params.posonly_params, *method.params.params]
    return given[0].name.value if given else ""


def bound(
    function: cst.FunctionDef, arguments: Sequence[cst.Arg], skipped: int = 0
) -> Iterator[tuple[cst.Param, cst.Arg]]:
    """Yields the parameters of a function with the arguments of a call.

    Args:
        skipped: the number of parameters that are bound already, as `self` is.
    """
    places = [*function.params.posonly_params, *function.params.params][skipped:]
    names = {each.name.value: each for each in (*places, *function.params.kwonly_params)}
    positional = (each for each in arguments if each.keyword is None and not each.star)
    yield from zip(places, positional, strict=False)
    for each in arguments:
        if each.keyword is not None and each.keyword.value in names:
            yield names[each.keyword.value], each
