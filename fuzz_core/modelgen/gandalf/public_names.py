"""The public api of a library that an operator's spelling is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fuzz_core.modelgen.gandalf.table import MODULES, NUMPY, Library, Spelling
from fuzz_core.modelgen.gandalf.templates import dotted, parsed

# Methods that only move or convert data: the operator is about the call whose result they are asked of.
MOVING = {"expand", "flatten", "float", "permute", "reshape", "squeeze", "to", "transpose", "unsqueeze", "view"}
# The class of the object whose method is called, if no module is named.
INSTANCES: dict[Library, str] = {"torch": "torch.Tensor", "jittor": "jittor.Var", "tensorflow": "tf.Tensor"}


def api_of(spelling: Spelling, library: Library) -> str:
    """Return the outermost called api that computes, or that made the called object; the library if there is none."""
    made = dict(_made(spelling.setup))
    calls = [_asked(node) for node in ast.walk(parsed(spelling.call)) if isinstance(node, ast.Call)]
    makers = [made.get(each.id, each) if isinstance(each, ast.Name) else each for each in calls]
    names = (_public(each, library) for each in [*makers, *made.values()])
    return next(filter(None, names), next(iter(MODULES[library].values())))


def _asked(call: ast.Call) -> ast.expr:
    """Return the called function, or the function whose result a moving method is asked of."""
    function = call.func
    while isinstance(function, ast.Attribute) and function.attr in MOVING and isinstance(function.value, ast.Call):
        function = function.value.func
    return function


def is_formula(spelling: Spelling, library: Library) -> bool:
    """Return whether a spelling has more than one call of the library: an overflow in between is its own fault."""
    whole: ast.AST = parsed(spelling.call).body[-1]
    while isinstance(whole, ast.Expr | ast.UnaryOp | ast.Subscript | ast.Attribute):
        whole = whole.operand if isinstance(whole, ast.UnaryOp) else whole.value
    if not isinstance(whole, ast.Call):
        return not isinstance(whole, ast.Name)
    # Making a layer and calling it count as one call.
    made = whole.func
    owner = list(ast.walk(made.value)) if isinstance(made, ast.Attribute) else []
    inner = [node for node in ast.walk(whole) if isinstance(node, ast.Call) and node not in (whole, made)]
    return any(node in owner or _computes(node.func, library) for node in inner)


def _computes(function: ast.expr, library: Library) -> bool:
    """Return whether a call computes: no method of an argument, such as `b.long()`, and not `abs(b) % 8`."""
    if isinstance(function, ast.Name) and function.id == "abs":
        return False
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.value.id in MODULES[library]
    return True


def _made(setup: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the function whose call gives a name its value in a preparation, with the name."""
    for node in ast.walk(parsed(setup)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function)):
                yield name, function


def _public(function: ast.expr, library: Library) -> str:
    """Return the api that is called; empty if the library has no such api."""
    root, *rest = dotted(function).split(".")
    if root in MODULES[library]:
        return ".".join([MODULES[library][root], *rest])
    return f"{INSTANCES[library]}.{function.attr}" if isinstance(function, ast.Attribute) and root != NUMPY else ""


def paths_in(spelling: Spelling, library: Library) -> set[str]:
    """Return all names of the library in a spelling, as programs write them: `F.relu`, `keras.layers.Dense`."""
    nodes = [*ast.walk(parsed(spelling.call)), *ast.walk(parsed(spelling.setup))]
    paths = {dotted(node) for node in nodes if isinstance(node, ast.Attribute)}
    return {path for path in paths if path.partition(".")[0] in MODULES[library]}
