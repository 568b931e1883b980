"""Signatures of Python functions and classes, from annotations, default values and names."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.signatures import LOOSE, ApiSignature, SignatureParameter

# The first pattern that an annotation matches decides the kind of a value, and whether the argument is a list.
_ANNOTATED: tuple[tuple[str, str, str], ...] = (
    (r"Callable|function", "function", ""),
    (
        r"(?:list|List|Sequence|Tuple|tuple|Iterable)\[[^\[\]]*\b(?:Tensor|Var)\b|_tensor_list|TensorOrTensors",
        "tensor",
        "*",
    ),
    (r"_size|(?:list|List|Sequence|Tuple|tuple|Iterable)\[[^\[\]]*\b(?:int|SymInt)\b|Size\b", "shape", ""),
    (r"\b(?:Tensor|Var|ArrayLike)\b", "tensor", ""),
    (r"\bbool\b", "bool", ""),
    (r"\bdtype\b|_dtype\b", "dtype", ""),
    (r"\bint\b|\bSymInt\b", "int", ""),
    (r"\bfloat\b|\bNumber\b", "float", ""),
    (r"\bstr\b|\bLiteral\b", "str", ""),
)
_PLAIN = {bool: "bool", int: "int", float: "float", str: "str"}
_FUNCTIONS = {"f", "fn", "fun", "func", "function", "callback", "map_fn", "closure"}
_INSTANCE = ("self", "cls")
# The methods that a layer defines and its call calls.
_CALLED = ("forward", "execute", "call")


def python_signatures(entry: Listed, then: str = "", instance: str = "tensor") -> list[ApiSignature]:
    """Return the signature of a function, method or class; an empty list for a class that Python knows none of.

    A function without a known signature gets up to three arguments of unknown types.

    Args:
        then: the method that is called on the instance that a class makes; empty for none.
        instance: the kind of the first argument of a method.
    """
    own = _parameters(entry.found)
    if own is None and isinstance(entry.found, type):
        return []
    if own is None:
        own = [SignatureParameter(name, positional=True) for name in entry.api.params] or _operands(entry.api.name)
        if not own and entry.api.kind != "method":
            own = [
                SignatureParameter(f"arg{place}", required=False, positional=True, group=LOOSE) for place in range(3)
            ]
    if entry.api.kind == "method":
        own = [SignatureParameter("self", instance, positional=True), *own[_has_own_name(entry.found) :]]
    further: list[SignatureParameter] = []
    if then and isinstance(entry.found, type):
        method = next(found for name in (*_CALLED, then) if (found := getattr(entry.found, name, None)))
        further = [each for each in _parameters(method) or [] if each.name not in _INSTANCE]
        # A call of a layer gets tensors, whatever else it may get.
        further = [each._replace(kind="tensor") if each.kind == "any" and each.required else each for each in further]
    return [ApiSignature(entry.api.name, tuple(own), then, tuple(further))]


def needs_arguments(method: Callable[..., Any]) -> bool:
    """Return whether a method of a class cannot be called on an instance alone, as far as Python knows."""
    required = _parameters(method)
    return required is None or any(each.required for each in required)


def _has_own_name(found: Any) -> bool:
    """Return whether a method is a function whose first parameter, the instance, is not called `self`."""
    if not isinstance(found, FunctionType):
        return False
    first = next(iter(inspect.signature(found, follow_wrapped=False).parameters.values()), None)
    return first is not None and first.name not in _INSTANCE and first.kind is first.POSITIONAL_OR_KEYWORD


# C++ types of parameters. The first pattern that matches decides.
_DECLARED: tuple[tuple[str, str, str], ...] = (
    (r"vector<VarHolder", "tensor", "*"),
    (r"VarHolder", "tensor", ""),
    (r"NanoVector|vector<int", "shape", ""),
    (r"vector<string", "str", "*"),
    (r"NanoString", "dtype", ""),
    (r"\bbool\b", "bool", ""),
    (r"\b(?:u?int\w*|size_t)\b", "int", ""),
    (r"\b(?:float\w*|double)\b", "float", ""),
    (r"string|char", "str", ""),
)


_DECLARATION = re.compile(r"^Declaration:\n[^\n(]+\(([^\n]*)\)$", re.MULTILINE)


def declared_signatures(api: str, doc: str) -> list[ApiSignature]:
    """Return the signatures that a docstring declares in C++, whatever name of the api each declaration has.

    A declaration is a line such as `VarHolder* argsort(VarHolder* x,  int dim=-1)` behind a line `Declaration:`.
    """
    return [ApiSignature(api, tuple(map(_declared, _split(inside)))) for inside in _DECLARATION.findall(doc)]


def _split(inside: str) -> list[str]:
    """Split parameters at the commas that stand outside of brackets."""
    parts, depth = [""], 0
    for character in inside:
        depth += (character in "<({[") - (character in ">)}]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _declared(text: str) -> SignatureParameter:
    left, has_default, _ = text.partition("=")
    words = left.replace("&", " ").replace("*", "* ").split()
    kind, many = next(((k, m) for pattern, k, m in _DECLARED if re.search(pattern, left)), ("any", ""))
    if kind == "dtype" and "dtype" not in words[-1]:
        kind = "str"
    required = not has_default
    return SignatureParameter(words[-1], kind, required, required, many, LOOSE if kind == "tensor" else "")


def _operands(name: str) -> list[SignatureParameter]:
    """Return the arguments of a method behind the instance, if it is an operator of Python."""
    function = getattr(operator, name.rpartition(".")[2], None)
    count = 0 if function is None else len(inspect.signature(function).parameters)
    return [SignatureParameter("other", positional=True, group=LOOSE)] * (count - 1)


def _parameters(found: Any) -> list[SignatureParameter] | None:
    try:
        signature = inspect.signature(found)
    except Exception:  # noqa: BLE001 - a library's own `__signature__` or annotations may raise anything
        return None
    made = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD or parameter.name in _INSTANCE:
            continue
        required = parameter.default is parameter.empty
        several = parameter.kind is parameter.VAR_POSITIONAL
        kind, many = _kind(parameter)
        positional = parameter.kind is not parameter.KEYWORD_ONLY and (required or several)
        group = LOOSE if kind in ("tensor", "any") else ""
        made.append(SignatureParameter(parameter.name, kind, required, positional, many, group))
    return made


def _kind(parameter: inspect.Parameter) -> tuple[str, str]:
    annotation = "" if parameter.annotation is parameter.empty else _text(parameter.annotation)
    default = parameter.default
    if type(default) in _PLAIN:
        return _PLAIN[type(default)], ""
    if isinstance(default, tuple | list) and default and all(type(each) is int for each in default):
        return "shape", ""
    for pattern, kind, many in _ANNOTATED:
        if re.search(pattern, annotation):
            return kind, many
    return ("function" if parameter.name in _FUNCTIONS else "any"), ""


def _text(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return getattr(annotation, "__name__", "") if isinstance(annotation, type) else str(annotation)
