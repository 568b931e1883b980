"""The names that a program has for its library: the paths of apis, and the apis that paths stand for."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.modelgen.expressions import Opaque, dotted, meaning, parsed, written
from fuzz_core.modelgen.moco.block_test import CLASS
from fuzz_core.modelgen.moco.program import Call, Program, assemble
from fuzz_core.programs.texts import fitted_class

# Further modules of a library, with their public paths.
_ROOTS = {"tensorflow": {"keras": "tf.keras"}}


class ModuleNames:
    """The modules of a library that a program has names for: `{"nn": "torch.nn"}`, by public path.

    Its imports count, and its variables that stand for apis.

    Attributes:
        fitted: the name of the class that stands around layers which do not fit, or "".
        fitting: the text that defines this class, or "".

    Raises:
        UserError: an unknown library.
    """

    def __init__(self, library: str, tree: ast.Module) -> None:
        lines = dialect_of(library).imports
        # The import statement that makes the first name of all public paths available if the program lacks it.
        self._line = next((line for line in lines if line.split()[1] == library), lines[0])
        ((self.root, module),) = _imported(ast.parse(self._line)).items()
        roots = {module: self.root} | _ROOTS.get(library, {})
        self.aliases = {
            name: f"{roots[head]}{path[len(head) :]}"
            for name, path in _imported(tree).items()
            if (head := path.partition(".")[0]) in roots
        }
        bound = _bound(tree)
        for name, value in _assigned(ast.walk(tree), bound):
            if (path := self.public(dotted(value))) is not None:
                self.aliases[name] = path
        constants = {name: meaning(ast.unparse(value)) for name, value in _assigned(tree.body, bound)}
        # Variables of the module that are one constant throughout, as source.
        self._constants = {name: written(each) for name, each in constants.items() if not isinstance(each, Opaque)}
        self._resolved = lru_cache(maxsize=4096)(self._inserted)
        self.fitted = self.fitting = ""

    @classmethod
    def of(cls, program: Program) -> ModuleNames:
        """Read the imports and the blocks of a program.

        Raises:
            UserError: an unknown library.
        """
        text = assemble(program.template, program.calls)
        found = cls(program.library, ast.parse(text))
        for block in program.blocks:
            found.aliases.update(_shown(block.call))
        if own := fitted_class(program.library):
            found.fitted = CLASS
            while found.fitted in text:
                found.fitted += "_"
            found.fitting = f"{own.replace(CLASS, found.fitted)}\n\n"
        return found

    def beside(self, program: Program) -> frozenset[str]:
        """Return public paths that the program calls or derives classes from independently of its inserted blocks."""
        heads = {number: program.calls[number] for number in program.template.head}
        nodes = list(ast.walk(ast.parse(assemble(program.template, heads))))
        said = [node.func for node in nodes if isinstance(node, ast.Call)]
        said += [base for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases]
        return frozenset(path for each in said if (path := self.public(dotted(each))) is not None)

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
        if not any(name in source for name in self._constants):
            return source
        try:
            # The text is parsed again, because all callers share the tree that `parsed` returns.
            tree = _Inserted(self._constants).visit(ast.parse(source.strip(), mode="eval"))
        except (SyntaxError, ValueError, RecursionError):
            return source
        return ast.unparse(tree)

    def imports(self, calls: Collection[Call]) -> str:
        """Return the import lines and the class that these calls need and the program lacks; empty if none."""
        used = self.root not in self.aliases and any(self.root in _heads(call) for call in calls)
        fitting = self.fitting if any(call.fit is not None for call in calls) else ""
        return (f"{self._line}\n" if used else "") + fitting


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the names that import statements bind, with the imported paths."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                # `import torch.nn` binds `torch`.
                root = each.name.partition(".")[0]
                found[each.asname or root] = each.name if each.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return found


def _bound(tree: ast.Module) -> Counter[str]:
    """Return how often statements and parameters bind each name."""
    stored = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return Counter(stored) + Counter(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))


def _assigned(nodes: Iterable[ast.AST], bound: Mapping[str, int]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that are bound once, by an assignment among these nodes, with their values."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in nodes:
        match node:
            case ast.AnnAssign(target=annotated, value=ast.expr() as value):
                pairs.append((annotated, value))
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                        pairs += zip(target.elts, value.elts, strict=False)
                    else:
                        pairs.append((target, value))
    for target, value in pairs:
        if isinstance(target, ast.Name) and bound[target.id] == 1:
            yield target.id, value


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
