"""Public apis: from modules and classes to one entry an object, with its signature."""

from __future__ import annotations

import ast
import importlib
import inspect
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, NamedTuple

from fuzz_core.ir.catalogue import Api, ApiParameter, expression

MAX_DEFINITION = 512


class Listed(NamedTuple):
    """A public api with its live object; `owner` is the class of a method, or the module it was found in."""

    api: Api
    found: Any
    owner: Any


def shortest(names: Sequence[str]) -> list[str]:
    """Return public names of one object, the canonical one (fewest parts, then shortest, then first) in front."""
    return sorted(names, key=lambda name: (name.count("."), len(name), name))


def definition(name: str, found: Any) -> tuple[str, tuple[ApiParameter, ...]]:
    """Return `torch.nn.Conv2d(in_channels, …)` and the parameters, as far as they are known."""
    try:
        signature = inspect.signature(found)
    except (ValueError, TypeError):
        return _from_docstring(name, found)
    shown = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    text = ", ".join(str(p.replace(annotation=p.empty)) for p in shown)
    parameters = (
        ApiParameter(p.name, expression(repr(p.default)), p.default is p.empty, p.kind is not p.KEYWORD_ONLY)
        for p in shown
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )
    return f"{name}({text})"[:MAX_DEFINITION], tuple(parameters)


def _from_docstring(name: str, found: Any) -> tuple[str, tuple[ApiParameter, ...]]:
    match = re.match(r"[\w.]+\(((?:[^()]|\([^()]*\))*)\)", doc(found).lstrip())
    if match is None:
        return name, ()
    inside = " ".join(match.group(1).split())
    return f"{name}({inside})"[:MAX_DEFINITION], tuple(parameters_in(inside))


def parameters_in(inside: str) -> Iterator[ApiParameter]:
    """Yield the parameters of a signature as a docstring writes it, without its parentheses."""
    try:
        function = ast.parse(f"def f({inside}): pass").body[0]
    except SyntaxError:
        before, _, after = inside.partition("*")
        for part, is_positional in ((f",{before}", True), (after, False)):
            for name, value in re.findall(r",\s*([A-Za-z_]\w*)\s*(=[^,]*)?", part):
                yield ApiParameter(name, expression(value[1:].strip()), not value, is_positional)
        return
    assert isinstance(function, ast.FunctionDef)
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    defaults = [*[None] * (len(positional) - len(args.defaults)), *args.defaults, *args.kw_defaults]
    for place, (arg, default) in enumerate(zip([*positional, *args.kwonlyargs], defaults, strict=True)):
        if arg.arg != "self":
            text = None if default is None else expression(ast.unparse(default))
            yield ApiParameter(arg.arg, text, default is None, place < len(positional))


# A public name, its object, and the module that it stands in.
Named = tuple[str, Any, Any]
# A module by its name.
Module = tuple[str, ModuleType]


def public(module: ModuleType) -> list[str]:
    """Return the names of a module without an underscore, sorted."""
    return sorted(name for name in dir(module) if not name.startswith("_"))


def imported(names: Iterable[str]) -> Iterator[Module]:
    """Yield modules by name; without those that are missing."""
    for name in names:
        with suppress(ImportError):
            yield name, importlib.import_module(name)


def within(name: str, module: ModuleType, enters: Callable[[str, ModuleType], bool]) -> Iterator[Module]:
    """Yield a module and those that its public attributes reach, if `enters` allows them; none within itself."""
    yield name, module
    for attribute in public(module):
        path, child = f"{name}.{attribute}", getattr(module, attribute, None)
        if isinstance(child, ModuleType) and enters(path, child):
            yield from within(path, child, lambda path, inner: inner is not module and enters(path, inner))


def members(
    modules: Iterable[Module],
    wanted: Callable[[Any], bool],
    names: Callable[[ModuleType], list[str]] = public,
) -> Iterator[Named]:
    """Yield the public members of modules that `wanted` accepts, as (full name, object, module)."""
    for name, module in modules:
        for attribute in names(module):
            found = getattr(module, attribute, None)
            if wanted(found):
                yield f"{name}.{attribute}", found, module


def is_api(found: Any, homes: tuple[str, ...]) -> bool:
    """Return whether it is a class that is no exception, or a function or its stand-in, and defined in `homes`."""
    home = getattr(found, "__module__", None)
    if not callable(found) or not isinstance(home, str) or home.split(".")[0] not in homes:
        return False
    if isinstance(found, type):
        return not issubclass(found, BaseException)
    return hasattr(found, "__name__") and all(name.startswith("_") for name in dir(found))


def folded(
    named: Iterable[Named], ordered: Callable[[Any, list[str]], list[str]] = lambda found, names: shortest(names)
) -> list[Listed]:
    """Return an entry for each object, in the order of canonical names.

    Args:
        ordered: returns the names of an object with the canonical one in front.
    """
    names: dict[int, list[str]] = {}
    owners: dict[int, tuple[Any, Any]] = {}
    for name, found, owner in named:
        names.setdefault(id(found), []).append(name)
        owners.setdefault(id(found), (found, owner))
    entries = [entry(ordered(found, names[key]), found, owner) for key, (found, owner) in owners.items()]
    return sorted(entries, key=lambda each: each.api.name)


def entry(names: list[str], found: Any, owner: Any, method: bool = False) -> Listed:
    """Return a function, class or method by its names, the canonical one in front."""
    text, signature = definition(names[0], found)
    params = tuple(each.name for each in signature if each.positional)
    if method and params[:1] != ("self",):
        params = ("self", *params)
    kind = "method" if method else "class" if isinstance(found, type) else "function"
    return Listed(Api(names[0], kind, params, text, doc(found), tuple(names[1:]), signature), found, owner)


def methods(cls: type, name: str) -> list[Listed]:
    """Return the public methods and operators of a tensor class of this public name; the instance comes first."""
    operators = {each for each in dir(operator) if each.startswith("__")} | {"__rsub__", "__radd__", "__rmul__"}
    found = {each: getattr(cls, each) for each in dir(cls) if not each.startswith("_") or each in operators}
    return [
        entry([f"{name}.{each}"], method, cls, method=True)
        for each, method in found.items()
        if callable(method) and not isinstance(method, type) and hasattr(method, "__name__")
    ]


def doc(found: Any) -> str:
    """Return the docstring of an object, if it is text."""
    text = getattr(found, "__doc__", None)
    return text if isinstance(text, str) else ""
