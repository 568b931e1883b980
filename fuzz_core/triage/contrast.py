"""The contrast of two modes of a bug: the fault of the plain call, and the shapes and arguments that show it."""

from __future__ import annotations

import re

from fuzz_core.ir.values import Invocation, Prim, Seq
from fuzz_core.oracles.kinds import RESIZED, WRONG

_SHAPES = re.compile(
    r"attribute 'shape' do not match: (?:torch\.Size\()?([^!\n]{1,80}?)\)? != (?:torch\.Size\()?([^\n]{1,80}?)\)?\."
)


def fault_in(text: str, difference: str) -> str:
    """Return the mode that is wrong although others are compared with it, and how; empty if the text blames no mode.

    Args:
        difference: `KIND MODE: HOW`.
    """
    last = text.rpartition("\n")[2]
    mode, _, witness = last.removeprefix(WRONG).partition(", by ")
    if not last.startswith(WRONG) or not difference or f" {mode}:" in difference:
        return ""
    return witness if witness == RESIZED else f"{mode}: {difference.rpartition(': ')[2]}"


def contrast_of(nature: str, text: str, call: Invocation) -> tuple[str, ...]:
    """Return mode, both shapes and the keyword arguments of a smallest call; empty without shapes or keywords.

    Functions with an equal contrast share one rule (`dim=()` of `any` and `all`).
    """
    shapes = _SHAPES.search(text)
    given = [*call.kwargs, *(call.then.kwargs if call.then else ())]
    keywords = sorted(f"{name}={value}" for name, value in given if isinstance(value, Prim | Seq))
    return (nature, *shapes.groups(), *keywords) if shapes and keywords else ()
