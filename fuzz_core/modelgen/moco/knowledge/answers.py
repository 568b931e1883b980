"""Readers for types, ranges and constraints in the words of a language model or of the paper's own files.

Unreadable answers are ignored: ranges and constraints are expressions (see `expressions`), never executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from math import isfinite

from fuzz_core.ir.constraints import MAX_TEXT, Bound, Constraint
from fuzz_core.modelgen.expressions import names_of, read
from fuzz_core.modelgen.moco.facts import Origin, ParameterRelation, Source

_DTYPES = {
    "int": "int", "integer": "int", "float": "float", "double": "float", "number": "float", "bool": "bool",
    "boolean": "bool", "str": "str", "string": "str", "dtype": "dtype", "tensor": "tensor", "callable": "callable",
    "function": "callable",
}  # fmt: skip
_STRUCTURES = {"int": "integer", "integer": "integer", "tuple": "tuple", "list": "list", "tensor": "tensor"}
_NOTHING = re.compile(r"\s*(?:no mention\.?|none|n/?a|-)?\s*", re.IGNORECASE)
# "if bias is True: bias_initializer = 'zeros'" is how the paper writes an implication.
_IMPLIES = re.compile(r"if (?P<given>.+?): *(?P<name>\w+) *(?:=|==) *(?P<value>[^=].*)", re.DOTALL)
# Kinds of constraints, and those of the same comparison with its sides exchanged.
_KINDS: dict[type, str] = {ast.Gt: "above", ast.GtE: "minimum", ast.Lt: "below", ast.LtE: "maximum"}
_FLIPPED = {"above": "below", "minimum": "maximum", "below": "above", "maximum": "minimum"}


def dtype_of(text: str) -> str:
    """Return `int` for "tf.int32", "Integer" and "int, optional"; an empty text for an unknown type."""
    return _first(text, _DTYPES)


def structure_of(text: str) -> str:
    """Return `tuple` for "a tuple of two ints"; if several are named, the first counts."""
    return _first(text, _STRUCTURES)


def _first(text: str, known: dict[str, str]) -> str:
    words = (re.sub(r"\d+$", "", word) for word in re.findall(r"[a-z]+\d*", text.lower()))
    return next((known[word] for word in words if word in known), "")


def constraint_of(name: str, kind: str, bounds: Iterable[Bound], text: str, source: Source) -> tuple[Constraint, ...]:
    """Return a constraint on a parameter, with its words; none without bounds.

    The api is not named.
    """
    found = tuple(bounds)
    return (Constraint("", name, kind, found, text[:MAX_TEXT], source),) if found else ()


def lengths_of(name: str, text: str, source: Source) -> tuple[Constraint, ...]:
    """Return the legal numbers of elements: 2 for "2", "(2,)" and "[2]"."""
    if _NOTHING.fullmatch(text) or not re.fullmatch(r"[\s\d,()\[\]]+", text):
        return ()
    lengths = {int(number) for number in re.findall(r"\d{1,3}", text)}
    return constraint_of(name, "lengths", sorted(lengths), text, source)


def range_of(name: str, text: str, source: Source) -> tuple[Constraint, ...]:
    """Return bounds or choices from a range such as `0 <= p < 1` or `p in ('a', 'b')`; none if it has another form."""
    try:
        tree = None if _NOTHING.fullmatch(text) else read(text)
    except ValueError:
        tree = None
    if tree is None or names_of(tree) != {name}:
        return ()
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    found: dict[str, float] = {}
    for part in parts:
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.In):
            return constraint_of(name, "choices", _listed(part, name), text, source)
        ends = dict(_ends(part, name))
        if not ends:
            return ()
        found |= ends
    return tuple(each for kind, end in found.items() for each in constraint_of(name, kind, (end,), text, source))


def _listed(part: ast.Compare, name: str) -> tuple[Bound, ...]:
    right = part.comparators[0]
    if not isinstance(part.left, ast.Name) or part.left.id != name or not isinstance(right, ast.Tuple | ast.List):
        return ()
    values = [choice(each.value) for each in right.elts if isinstance(each, ast.Constant)]
    return tuple(values) if len(values) == len(right.elts) else ()


def choice(value: object) -> Bound:
    """Return a value as the bound of a constraint `choices`."""
    return value if isinstance(value, bool | int | float) else "none" if value is None else str(value)


def _ends(part: ast.expr, name: str) -> Iterator[tuple[str, float]]:
    """Yield (kind, bound) in a chain of comparisons of the parameter with numbers; none for any other expression."""
    if not isinstance(part, ast.Compare):
        return
    operands = [part.left, *part.comparators]
    for left, op, right in zip(operands, part.ops, operands[1:], strict=False):
        kind = _KINDS.get(type(op))
        if not (isinstance(left, ast.Name) and left.id == name):
            left, right, kind = right, left, _FLIPPED.get(kind or "")
        number = _number(right)
        if isinstance(left, ast.Name) and left.id == name and number is not None and kind is not None:
            yield kind, number


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if is_number else None


def relation_of(text: str, names: Collection[str], source: Source) -> ParameterRelation | None:
    """Return a constraint between parameters; None if the text is no expression over some of these."""
    origin = Origin(source=source, text=text[:MAX_TEXT])
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
