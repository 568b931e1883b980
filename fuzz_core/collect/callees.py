"""Calls of functions by former names, or by names that only the page uses that shows them.

The page of `tf.raw_ops.MatrixDiag` calls `tf.matrix_diag(diagonal)`, that of `tf.raw_ops.Unique` plain `unique(x)`:
both mean the op of the page. `tf.diag` moved to `tf.linalg.diag`.
"""

from __future__ import annotations

import ast
import re

from fuzz_core.collect.edits import Edit, apply_edits, replace_expression
from fuzz_core.collect.names import PublicNames
from fuzz_core.collect.salvage import syntax_error
from fuzz_core.ir.catalogue import Api

_KEYWORD_ONLY = "tf.raw_ops"
_VERSION = re.compile(r"V\d+$")


def update_names(code: str, names: PublicNames, api: Api | None = None) -> str:
    """Replace each call of an unknown library function by a call of the function that it means.

    The meant function is the api of the page, if its name is the same but for case and underscores. If there is none,
    it is the public function of the same short name. Functions that take keywords only get their positional arguments
    named.
    """
    tree = ast.parse(code)
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    current = apply_edits(code, [edit for call in calls for edit in _edits(call, names, api, bound)])
    return current if syntax_error(current) is None else code


def _edits(call: ast.Call, names: PublicNames, api: Api | None, bound: set[str]) -> list[Edit]:
    callee = _dotted(call.func)
    if not callee or callee.partition(".")[0] in bound or call.func.lineno != call.func.end_lineno:
        return []
    current = _meant(callee, names, api)
    if not current:
        return []
    edits = [] if current == callee else [replace_expression(call.func, current)]
    return edits + _named_arguments(call, current, names)


def _meant(callee: str, names: PublicNames, api: Api | None) -> str:
    """Return the public name of the function that a call means; empty if the call may stay."""
    if names.has(callee):
        return callee if callee.startswith(_KEYWORD_ONLY) else ""
    module, _, short = callee.rpartition(".")
    if module and not names.has_module(module):
        return ""
    if api is not None and api.kind == "function" and _plain(short) == _plain(api.name.rpartition(".")[2]):
        return api.name
    return names.find(short) if module else ""


def _named_arguments(call: ast.Call, current: str, names: PublicNames) -> list[Edit]:
    params = names.params(current) if current.startswith(_KEYWORD_ONLY) else ()
    if len(call.args) > len(params) or any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    taken = {keyword.arg for keyword in call.keywords}
    return [
        Edit(argument.lineno, argument.col_offset, argument.col_offset, f"{name}=")
        for argument, name in zip(call.args, params, strict=False)
        if name not in taken
    ]


def _dotted(node: ast.expr) -> str:
    """Return a chain of attributes of a name as text; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""


def _plain(name: str) -> str:
    """Return a name without version, case and underscores, in which spellings of an op differ."""
    return _VERSION.sub("", name).replace("_", "").lower()
