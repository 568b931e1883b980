"""The names that a program has for its library: the paths of apis, and the apis that paths stand for."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.modelgen.expressions import Opaque, meaning, parsed, written
from fuzz_core.modelgen.moco.block_test import CLASS
from fuzz_core.modelgen.moco.program import Call, Program, assemble
from fuzz_core.programs.texts import fitted_class

# Further modules of a library, with their public paths.
_ROOTS = {"tensorflow": {"keras": "tf.keras"}}


class ModuleNames:
    """The modules of a library that a program has names for: `{"nn": "torch.nn"}`, by public path.

    Args:
        root: the first name of all public paths.
        line: the import statement that makes `root` available if the program lacks it.
        constants: variables of the program that are one constant throughout, as source.
        fitted: the name of the class that stands around layers which do not fit, or "".
        fitting: the text that defines this class, or "".
    """

    def __init__(
        self,
        aliases: Mapping[str, str],
        root: str,
        line: str,
        constants: Mapping[str, str] = {},
        fitted: str = "",
        fitting: str = "",
    ) -> None:
        self.aliases = dict(aliases)
        self.root = root
        self.line = line
        self.constants = dict(constants)
        self.fitted, self.fitting = fitted, fitting
        self._resolved = lru_cache(maxsize=4096)(self._inserted)

    @classmethod
    def of(cls, program: Program) -> ModuleNames:
        """Read the imports and the blocks of a program.

        Raises:
            UserError: an unknown library.
        """
        text = assemble(program.template, {block.number: block.call for block in program.blocks})
        found = cls.in_tree(program.library, tree := ast.parse(text))
        for block in program.blocks:
            found.aliases.update(_shown(block.call))
        return cls(found.aliases, found.root, found.line, _constants(tree), *_fitting(program.library, text))

    @classmethod
    def in_tree(cls, library: str, tree: ast.Module) -> ModuleNames:
        """Read the imports of a program, and its variables that stand for apis.

        Raises:
            UserError: an unknown library.
        """
        lines = dialect_of(library).imports
        line = next((line for line in lines if line.split()[1] == library), lines[0])
        ((root, module),) = _imported(ast.parse(line))
        found = cls(dict(_public(_imported(tree), {module: root} | _ROOTS.get(library, {}))), root, line)
        bound = _bound(tree)
        for target, value in _assigned(ast.walk(tree)):
            path = found.public(ast.unparse(value)) if isinstance(value, ast.Name | ast.Attribute) else None
            if path is not None and isinstance(target, ast.Name) and bound[target.id] == 1:
                found.aliases[target.id] = path
        return found

    def beside(self, program: Program) -> frozenset[str]:
        """Return public paths that the program calls or derives classes from independently of its inserted blocks."""
        heads = {block.number: block.call for block in program.blocks if block.number in program.template.head}
        said = _said(ast.parse(assemble(program.template, heads)))
        return frozenset(path for each in said if (path := self.public(each)) is not None)

    def spelled(self, api: str) -> str:
        """Return the shortest path to an api; its public path if the program has no name for its module."""
        found = [f"{alias}{api[len(path) :]}" for alias, path in self.aliases.items() if api.startswith(f"{path}.")]
        return min(found, key=lambda path: (len(path), path), default=api)

    def public(self, path: str) -> str | None:
        """Return the public path for a dotted path of the program; None if it is not the library's."""
        head, dot, rest = path.partition(".")
        known = self.aliases.get(head, self.root if head == self.root else None)
        return known and f"{known}{dot}{rest}"

    def resolved(self, call: Call) -> Call:
        """Return the call with constants in the place of the program's names for them."""
        arguments = tuple(argument._replace(source=self._resolved(argument.source)) for argument in call.arguments)
        return call._replace(arguments=arguments)

    def _inserted(self, source: str) -> str:
        if not any(name in source for name in self.constants):
            return source
        try:
            # The text is parsed again, because all callers share the tree that `parsed` returns.
            tree = _Inserted(self.constants).visit(ast.parse(source.strip(), mode="eval"))
        except (SyntaxError, ValueError, RecursionError):
            return source
        return ast.unparse(tree)

    def imports(self, calls: Iterable[Call]) -> str:
        """Return the import lines and the class that these calls need and the program lacks; empty if none."""
        listed = list(calls)
        used = self.root not in self.aliases and any(self.root in _heads(call) for call in listed)
        fitting = self.fitting if any(call.fit is not None for call in listed) else ""
        return (f"{self.line}\n" if used else "") + fitting


def _fitting(library: str, text: str) -> tuple[str, str]:
    """Return the name and the definition of the class that makes layers fit; the program does not use the name."""
    own = fitted_class(library)
    name = CLASS
    while name in text:
        name += "_"
    return (name, f"{own.replace(CLASS, name)}\n\n") if own else ("", "")


def _imported(tree: ast.Module) -> list[tuple[str, str]]:
    """Return the names that import statements bind, with the imported paths."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(each.asname or each.name.split(".")[0], each.name) for each in node.names]
            # `import torch.nn` binds `torch`.
            found += [(each.name.split(".")[0], each.name.split(".")[0]) for each in node.names if not each.asname]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(each.asname or each.name, f"{node.module}.{each.name}") for each in node.names]
    return list(dict(found).items())


def _public(imported: Iterable[tuple[str, str]], roots: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, path in imported:
        head, dot, rest = path.partition(".")
        if head in roots:
            yield name, f"{roots[head]}{dot}{rest}"


def _said(tree: ast.Module) -> Iterator[str]:
    """Yield dotted paths that a program calls and derives its classes from."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as each):
                yield ast.unparse(each)
            case ast.ClassDef(bases=bases):
                yield from map(ast.unparse, bases)


def _constants(tree: ast.Module) -> dict[str, str]:
    """Return the variables of the module that are bound once in the whole program, to a constant."""
    bound, found = _bound(tree), {}
    for target, value in _assigned(tree.body):
        if isinstance(target, ast.Name) and bound[target.id] == 1:
            constant = meaning(ast.unparse(value))
            if not isinstance(constant, Opaque):
                found[target.id] = written(constant)
    return found


def _bound(tree: ast.Module) -> Counter[str]:
    """Return how often statements and parameters bind each name."""
    stored = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return Counter(stored) + Counter(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets and values of the assignments among these nodes."""
    for node in nodes:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            yield node.target, node.value
        for target in node.targets if isinstance(node, ast.Assign) else ():
            assert isinstance(node, ast.Assign)
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


class _Inserted(ast.NodeTransformer):
    """A transformer that replaces names by constants."""

    def __init__(self, constants: Mapping[str, str]) -> None:
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        source = self.constants.get(node.id)
        return node if source is None else parsed(source)


def _shown(call: Call) -> Mapping[str, str]:
    """Return the module behind the first name of a call: `layers.Dense` for `tf.keras.layers.Dense` shows `layers`."""
    head, dot, rest = call.spelled.partition(".")
    return {head: call.api[: -len(rest) - 1]} if dot and call.api.endswith(f".{rest}") else {}


def _heads(call: Call) -> set[str]:
    try:
        tree = parsed(call.written)
    except ValueError:
        return {call.spelled.split(".")[0]}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
