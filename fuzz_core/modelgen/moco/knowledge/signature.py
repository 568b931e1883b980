"""Parameters from the text of a definition: `torch.nn.Conv2d(in_channels, out_channels, kernel_size, stride=1)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_NAME = re.compile(r"\*{0,2}[A-Za-z_]\w*$")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+$")
_OPENING, _CLOSING = "([{", ")]}"


class SignatureParameter(NamedTuple):
    """A parameter in a signature."""

    name: str
    default: str | None = None  # an expression; None if there is none or it is unreadable
    required: bool = True
    positional: bool = True


def declared(definition: str, params: Sequence[str] = ()) -> list[SignatureParameter]:
    """Returns the parameters of a definition, without `*args` and `**kwargs`.

    A parameter after one with a default has a default too.

    Args:
        params: the names of all positional parameters, because a definition may be cut off.
    """
    found, positional = [], True
    for text in _parts(definition.partition("(")[2]):
        name, assigned, default = (part.strip() for part in text.partition("="))
        if name.startswith("*") or name == "/":
            positional = (positional and name in ("/", "")) or name.startswith("**")
        elif _NAME.match(name):
            found.append(SignatureParameter(name, _constant(default), not assigned, positional))
    known = {each.name for each in found}
    optional = any(not each.required for each in found)
    return found + [SignatureParameter(name, None, not optional) for name in params if name not in known]


def _constant(text: str) -> str | None:
    """Returns the text if it is a constant or a dotted name; None for an object's `<...>`, which cannot be written."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text if _DOTTED.match(text) or text in ("float('inf')", "-float('inf')") else None
    return text


def _parts(inside: str) -> Iterator[str]:
    """Yields the parts between commas, up to the closing parenthesis; a text that is cut off loses its last part."""
    depth, quote, start = 0, "", 0
    for place, char in enumerate(inside):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif depth and char in _CLOSING:
            depth -= 1
        elif depth == 0 and char in ",)":
            if inside[start:place].strip():
                yield inside[start:place].strip()
            start = place + 1
            if char == ")":
                return
