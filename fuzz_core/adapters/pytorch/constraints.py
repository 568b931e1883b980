"""What PyTorch declares: lengths of lists in its schemas, enum values in its annotations."""

from __future__ import annotations

import typing
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import torch

from fuzz_core.adapters.base import Listed
from fuzz_core.ir.constraints import Constraint

Lengths = dict[str, dict[str, tuple[tuple[int, ...], str]]]


def definitions(listed: Iterable[Listed]) -> Iterator[Constraint]:
    """The constraints of every listed api: of native ones by their schemas, of others by their annotations."""
    lengths = _lengths()
    for entry in listed:
        if isinstance(entry.found, type) or hasattr(entry.found, "__code__"):
            yield from _annotated(entry)
            continue
        for argument, (allowed, text) in lengths.get(entry.found.__name__, {}).items():
            yield Constraint(entry.api.name, argument, "lengths", allowed, text, "schema")


def _lengths() -> Lengths:
    """Lengths of lists, by operator and argument, where all overloads agree: a single number stands for all."""
    seen: defaultdict[str, defaultdict[str, dict[tuple[int, ...], str]]] = defaultdict(lambda: defaultdict(dict))
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        for argument in schema.arguments if namespace == "aten" else ():
            seen[name][argument.name][_allowed(argument)] = f"{argument.type}[{argument.N}] {argument.name}"
    return {
        name: {argument: next(iter(found.items())) for argument, found in arguments.items() if _agreed(found)}
        for name, arguments in seen.items()
    }


def _agreed(found: dict[tuple[int, ...], str]) -> bool:
    return len(found) == 1 and found.keys() != {()}


def _allowed(argument: Any) -> tuple[int, ...]:
    """The lengths that a declared list may have, a default's own among them; () where any will do."""
    if not isinstance(argument.N, int) or argument.N < 2 or "Optional" in str(argument.type):
        return ()
    default = argument.default_value if argument.has_default_value() else None
    own = {len(default)} if isinstance(default, list) else set()
    return tuple(sorted({1, argument.N, *own}))


def _annotated(entry: Listed) -> Iterator[Constraint]:
    """Literal types of parameters. What cannot be resolved says nothing."""
    function = vars(entry.found).get("__init__") if isinstance(entry.found, type) else entry.found
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return
    for argument, hint in hints.items():
        parts = [part for part in (hint, *typing.get_args(hint)) if typing.get_origin(part) is Literal]
        values = [value for part in parts for value in typing.get_args(part)]
        texts = tuple(value for value in values if isinstance(value, str))
        if texts and argument != "return":
            words = f"{argument}: Literal[{', '.join(map(repr, values))}]"
            yield Constraint(entry.api.name, argument, "choices", texts, words, "annotation")
