"""Readers for types, ranges and constraints in the words of a language model or of the paper's own files.

Unreadable answers are ignored: ranges and constraints are expressions (see `expressions`), never executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from fuzz_core.modelgen.moco.facts import NumberRange, Origin, ParameterRelation
from fuzz_core.modelgen.moco.knowledge.expressions import names_of, read

_DTYPES = {
    "int": "int", "integer": "int", "float": "float", "double": "float", "number": "float", "bool": "bool",
    "boolean": "bool", "str": "str", "string": "str", "dtype": "dtype", "tensor": "tensor", "callable": "callable",
    "function": "callable",
}  # fmt: skip
_STRUCTURES = {"int": "integer", "integer": "integer", "tuple": "tuple", "list": "list", "tensor": "tensor"}
_NOTHING = re.compile(r"\s*(?:no mention\.?|none|n/?a|-)?\s*", re.IGNORECASE)
# "if bias is True: bias_initializer = 'zeros'" is how the paper writes an implication.
_IMPLIES = re.compile(r"if (?P<given>.+?): *(?P<name>\w+) *(?:=|==) *(?P<value>[^=].*)", re.DOTALL)
_FLIPPED: dict[type, type] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq}


def dtype_of(text: str) -> str:
    """Returns `int` for "tf.int32", "Integer" and "int, optional"; an empty text for an unknown type."""
    return _first(text, _DTYPES)


def structure_of(text: str) -> str:
    """Returns `tuple` for "a tuple of two ints"; if several are named, the first counts."""
    return _first(text, _STRUCTURES)


def _first(text: str, known: dict[str, str]) -> str:
    words = (re.sub(r"\d+$", "", word) for word in re.findall(r"[a-z]+\d*", text.lower()))
    return next((known[word] for word in words if word in known), "")


def lengths_of(text: str) -> tuple[int, ...]:
    """Returns the numbers of elements: 2 for "2", "(2,)" and "[2]"."""
    if _NOTHING.fullmatch(text) or not re.fullmatch(r"[\s\d,()\[\]]+", text):
        return ()
    return tuple(sorted({int(number) for number in re.findall(r"\d{1,3}", text)}))


def range_of(name: str, text: str, origin: Origin) -> tuple[tuple[NumberRange, ...], tuple[str, ...]]:
    """Returns (bounds, choices) from a range such as `0 <= p < 1` or `p in ('a', 'b')`; both may be empty."""
    try:
        tree = None if _NOTHING.fullmatch(text) else read(text)
    except ValueError:
        tree = None
    if tree is None or names_of(tree) != {name}:
        return (), ()
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    sides: dict[str, float | bool] = {}
    for part in parts:
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.In):
            return (), _listed(part, name)
        found = list(_sides(part, name))
        if not found:
            return (), ()
        sides.update(dict(found))
    return ((NumberRange(**sides, origin=origin),) if sides else ()), ()  # type: ignore[arg-type]


def _listed(part: ast.Compare, name: str) -> tuple[str, ...]:
    right = part.comparators[0]
    if not isinstance(part.left, ast.Name) or part.left.id != name or not isinstance(right, ast.Tuple | ast.List):
        return ()
    values = [repr(each.value) for each in right.elts if isinstance(each, ast.Constant)]
    return tuple(values) if len(values) == len(right.elts) else ()


def _sides(part: ast.expr, name: str) -> Iterator[tuple[str, float | bool]]:
    """Yields the bounds in a chain of comparisons of the parameter with numbers; none for any other expression."""
    if not isinstance(part, ast.Compare):
        return
    operands = [part.left, *part.comparators]
    for left, op, right in zip(operands, part.ops, operands[1:], strict=False):
        kind: type | None = type(op)
        if not (isinstance(left, ast.Name) and left.id == name):
            left, right, kind = right, left, _FLIPPED.get(type(op))
        number = _number(right)
        if not (isinstance(left, ast.Name) and left.id == name) or number is None:
            continue
        if kind in (ast.Gt, ast.GtE):
            yield from (("least", number), ("open_least", kind is ast.Gt))
        elif kind in (ast.Lt, ast.LtE):
            yield from (("most", number), ("open_most", kind is ast.Lt))


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def relation_of(text: str, names: Collection[str], origin: Origin) -> ParameterRelation | None:
    """Returns a constraint between parameters; None if the text is no expression over some of these."""
    implied = _IMPLIES.fullmatch(text.strip())
    if implied is not None:
        text = f"not ({implied['given']}) or {implied['name']} == ({implied['value']})"
    try:
        about = names_of(read(text))
    except ValueError:
        return None
    if not about or not about <= set(names):
        return None
    parameters = tuple(name for name in names if name in about)
    return ParameterRelation(parameters=parameters, expression=ast.unparse(read(text)), origin=origin)
