"""Layers and functions that take other inputs than the activation: a class of the program makes their inputs.

MoCo (2024) lets an api take a block's place only if its dimensionality is the same. As a result, layers with several
tensors, or with ranks and types that no seed has, never get into a program. Here the program defines a class that makes
their inputs from the activation, in shapes with which they were seen to work. The class then adds the result to the
activation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import Any

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Fill, Seq, Tensor, Value
from fuzz_core.modelgen.moco.constants import constant, meaning
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.program import Fit, Program, Slot, assemble

CLASS = "Fitted"
# Limit for all inputs of a layer together: larger ones cost time and memory, and find no other bugs.
MOST_CELLS = 200_000
FLOAT, INDEX = "float32", "int64"


def open_at_first_block(program: Program) -> Program:
    """Move the place for imports and definitions to just before the statement of the program's first block.

    The statements before that place only make data, and a new import does not make that data again.
    """
    text = assemble(program.template, {block.number: block.call for block in program.blocks})
    pieces = list(program.template.pieces)
    first = next((place for place, piece in enumerate(pieces) if isinstance(piece, Slot)), len(pieces))
    before = "".join(piece for piece in pieces[:first] if isinstance(piece, str))
    at = _statement(text, before.count("\n") + 1)
    template = program.template._replace(pieces=(before[:at], before[at:], *pieces[first:]), fresh=1)
    return program._replace(template=template)


def _statement(text: str, line: int) -> int:
    """Return the offset of the module's statement that contains this line."""
    found = next((each for each in ast.parse(text).body if (each.end_lineno or 0) >= line), None)
    if found is None:
        return 0
    begins = min([found.lineno, *(each.lineno for each in getattr(found, "decorator_list", ()))])
    return sum(len(each) + 1 for each in text.split("\n")[: begins - 1])


def fit_to_seen_inputs(facts: Facts, name: str, rng: Rng) -> Fit | None:
    """Return inputs with which the layer was seen to work; None if there are none, or if they are too large.

    If only the activation's type is known, the further inputs all have that type, or all are indices.
    """
    if facts.takes:
        inputs = facts.takes
    else:
        own = facts.dtypes[0] if facts.dtypes else FLOAT
        other = rng.choice((own, INDEX)) if len(facts.inputs) > 1 else own
        inputs = tuple(_written(shape, other if place else own) for place, shape in enumerate(facts.inputs))
    cells = sum(prod(shape) for text in inputs for shape, _ in kinds(meaning(text)))
    return Fit(name, inputs, facts.kind == "function") if inputs and 0 < cells <= MOST_CELLS else None


def _written(shape: tuple[int, ...], dtype: str) -> str:
    return f"({shape}, {dtype!r})"


def kinds(value: Any) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the shapes and dtypes in the value of an item of `Fit.inputs`; none if it is neither a pair nor a list."""
    if isinstance(value, list):
        for each in value:
            yield from kinds(each)
    elif is_kind(value):
        yield value


def is_kind(value: Any) -> bool:
    """Return whether a value is a shape and a dtype."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], tuple)
        and all(type(size) is int and size >= 0 for size in value[0])
        and isinstance(value[1], str)
    )


def _is_input(node: ast.expr) -> bool:
    """Return whether an expression describes an argument that the class makes for a layer."""
    try:
        value = constant(node)
    except (ValueError, TypeError, ArithmeticError):
        return False
    return is_kind(value) or (isinstance(value, list) and bool(list(kinds(value))))


def taken_out(tree: ast.Call, text: str) -> tuple[ast.Call, Fit | None]:
    """Take the layer's call out of a call that makes it fit, and return both.

    Other calls stay as they are.

    A function that is made to fit becomes a call with only its arguments besides the inputs.
    """
    match tree:
        case ast.Call(func=ast.Name(id=name), args=[ast.Call() as layer, *inputs], keywords=[]):
            if inputs and all(map(_is_input, inputs)):
                return layer, Fit(name, _segments(text, inputs))
        case ast.Call(func=ast.Name(id=name), args=[ast.Name() | ast.Attribute() as function, *inputs]):
            if inputs and all(map(_is_input, inputs)):
                call = ast.Call(func=function, args=[], keywords=tree.keywords)
                return call, Fit(name, _segments(text, inputs), function=True)
    return tree, None


def _segments(text: str, nodes: list[ast.expr]) -> tuple[str, ...]:
    return tuple(ast.get_source_segment(text, each) or "" for each in nodes)


def tensors(fit: Fit, seed: int) -> tuple[Value, ...] | None:
    """Return descriptions of the layer's arguments, with numbers like those of CLASS: from 0 to 1, integers 0 first.

    The result is None if a dtype is unknown here.
    """
    values = [meaning(text) for text in fit.inputs]
    if any(dtype not in DTYPES for value in values for _, dtype in kinds(value)):
        return None
    return tuple(_tensor(value, seed) for value in values)


def _tensor(value: Any, seed: int) -> Value:
    if isinstance(value, list):
        return Seq("list", tuple(_tensor(each, seed) for each in value))
    shape, dtype = value
    if DTYPES[dtype].kind in ("int", "uint", "bool"):
        width = max(DTYPES[dtype].bits // 8, 1)
        return Tensor(dtype, shape, Fill("values", data=bytes([0] * width + [1] + [0] * (width - 1))))
    return Tensor(dtype, shape, Fill("uniform", 0.0, 1.0, seed))
