"""Names of parameters and text of definitions, from signatures or from the first line of a docstring."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

MAX_DEFINITION = 512


def definition(name: str, found: Any) -> tuple[str, tuple[str, ...]]:
    """`torch.nn.Conv2d(in_channels, …)` and the names of positional parameters, as far as they are known."""
    try:
        signature = inspect.signature(found)
    except (ValueError, TypeError):
        return _from_docstring(name, found)
    shown = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    names = tuple(p.name for p in shown if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    text = ", ".join(str(p.replace(annotation=p.empty)) for p in shown)
    return f"{name}({text})"[:MAX_DEFINITION], names


def _from_docstring(name: str, found: Any) -> tuple[str, tuple[str, ...]]:
    doc = getattr(found, "__doc__", None)
    text = doc.lstrip() if isinstance(doc, str) else ""
    match = re.match(r"[\w.]+\(((?:[^()]|\([^()]*\))*)\)", text)
    if match is None:
        return name, ()
    inside = " ".join(match.group(1).split())
    return f"{name}({inside})"[:MAX_DEFINITION], _parameter_names(inside)


def _parameter_names(inside: str) -> tuple[str, ...]:
    try:
        function = ast.parse(f"def f({inside}): pass").body[0]
    except SyntaxError:
        return tuple(re.findall(r"(?:^|,)\s*(\w+)", inside.split("*")[0]))
    assert isinstance(function, ast.FunctionDef)
    return tuple(a.arg for a in function.args.posonlyargs + function.args.args if a.arg != "self")
