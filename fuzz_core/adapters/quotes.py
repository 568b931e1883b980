"""How a broken rule of the documentation is spelled: the argument, its value, and the words that forbid it."""

from __future__ import annotations

import re
from typing import NamedTuple

from fuzz_core.ir.constraints import ConstraintCheck
from fuzz_core.ir.tree import fuzz_type
from fuzz_core.ir.values import Prim, Ref, Seq, Value

# The mode that refuses what documentation forbids.
MODE = "documented"
MAX_SHOWN = 60
_TENSOR = re.compile(r"\btensor<(\d+),(\w+)>")
_SPELLED = re.compile(
    r'(?P<argument>[^=\n]{1,200}?) = `(?P<value>.{0,200}?)`, documented: "(?P<text>.*)" \([^()]*\)\Z', re.DOTALL
)


class RuledOut(Exception):  # noqa: N818 - what documentation says of a call
    """An argument of the call has a value that the documentation rules out."""


def spelled(said: ConstraintCheck) -> str:
    """Return the rule as text, such as: p = ``2.0``, documented: "must be in [0, 1]" (docstring)."""
    constraint = said.constraint
    return f'{constraint.argument} = `{shown(said.value)}`, documented: "{constraint.text}" ({constraint.source})'


class Quoted(NamedTuple):
    """An argument whose value the documentation forbids, the value as source, and the documentation's words."""

    argument: str
    value: str
    text: str


def quoted_in(text: str) -> Quoted | None:
    """Read a text that `spelled` has written; None for any other text."""
    found = _SPELLED.match(text)
    value = _TENSOR.sub(r"<\1-D \2 tensor>", found["value"]) if found else ""
    return found and Quoted(found["argument"], value, " ".join(found["text"].split()))


def shown(value: Value) -> str:
    """Return a value for a reader; a long value or a tensor as its FuzzType."""
    if isinstance(value, Prim):
        text = repr(value.value)
    elif isinstance(value, Seq):
        text = f"({', '.join(map(shown, value.items))})"
    else:
        text = value.name if isinstance(value, Ref) else fuzz_type(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
