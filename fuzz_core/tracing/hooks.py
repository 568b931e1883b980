"""Wrappers of every public api, wherever the library itself keeps a reference to it (FreeFuzz, section 4.1)."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.values import Invocation, Then
from fuzz_core.tracing.describe import shown_and_passed
from fuzz_core.tracing.recorder import Recorder


class Hooks:
    """The wrappers, installed once before the processes of seeds are forked; each process sets its own recorder."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.recorder: Recorder | None = None

    def install(self, listed: list[Listed]) -> list[str]:
        """Wrap every api that can be wrapped; return the names of apis that cannot be (immutable extension types)."""
        functions: dict[int, Any] = {}
        failed = []
        for entry in listed:
            if entry.api.kind == "function":
                functions[id(entry.found)] = self._hook(entry.found, entry.api.name)
            elif not self._install_on_class(entry):
                failed.append(entry.api.name)
        _replace(functions, self.adapter.prefixes)
        self.adapter.observe(self._seen)
        return failed

    def _install_on_class(self, entry: Listed) -> bool:
        try:
            if entry.api.kind == "method":
                setattr(entry.owner, entry.api.name.rsplit(".", 1)[1], self._hook(entry.found, entry.api.name))
                return True
            cls = entry.found
            cls.__init__ = self._hook(_own_or_next(cls, "__init__"), entry.api.name, cls)
            for name in filter(functools.partial(_is_method, cls), self.adapter.then_methods(cls)):
                setattr(cls, name, self._hook(_own_or_next(cls, name), cls=cls, method=name))
        except (TypeError, AttributeError):
            return False
        return True

    def _seen(self, api: str, kwargs: dict[str, Any], results: Sequence[Any]) -> bool:
        recorder = self.recorder
        if recorder is None or not recorder.wants(api):
            return False
        invocation = recorder.describe(api, (), kwargs)
        if invocation is not None:
            recorder.keep(invocation, ok=True)
            self._remember(recorder, invocation, kwargs, results)
        return invocation is not None

    def _remember(self, recorder: Recorder, call: Invocation, kwargs: dict[str, Any], result: Any) -> None:
        # A hostile property must not change the traced program.
        with contextlib.suppress(Exception):
            for made, construction in self.adapter.constructions(call, kwargs, result):
                recorder.describer.remember(made, construction)

    def _hook(self, original: Callable[..., Any], api: str = "", cls: Any = None, method: str = "") -> Any:
        """Return a traced function, constructor or method of one class.

        The call that made an instance describes it.
        """

        def traced(*args: Any, **kwargs: Any) -> Any:
            recorder, owner = self.recorder, args[: cls is not None]
            if recorder is None or (cls is not None and tuple(map(type, owner)) != (cls,)):
                return original(*args, **kwargs)
            describer = recorder.describer
            made = describer.construction(owner[0]) if method else Invocation(api)
            if made is None or not recorder.wants(made.api):
                return original(*args, **kwargs)
            shown, passed, named = _spared(args[len(owner) :], kwargs)
            call = recorder.describe(made.api, *shown)
            if method and call is not None:
                call = made._replace(then=Then(method, call.args, call.kwargs))
            result = _watched(recorder, call, original, (*owner, *passed), named)
            if owner and not method and call is not None:
                describer.remember(owner[0], call)
                self._remember(recorder, call, kwargs, owner[0])
            return result

        return _like(traced, original)


def _is_method(cls: type, name: str) -> bool:
    """Return whether a method takes the instance: no static or class method, no property, no callable object."""
    found = inspect.getattr_static(cls, name, None)
    return inspect.isroutine(found) and not isinstance(found, staticmethod | classmethod)


def _own_or_next(cls: Any, name: str) -> Callable[..., Any]:
    """Return the class's own method, or a function that looks up the next method for the instance at hand.

    If the instance has several bases, the next method may belong to none of this class's bases. A class that does its
    work in `__new__` has the constructor of `object`, which would refuse the arguments, so it is not called.
    """
    if name in vars(cls):
        own: Callable[..., Any] = getattr(cls, name)
        return own

    def following(instance: Any, *args: Any, **kwargs: Any) -> Any:
        method = getattr(super(cls, instance), name)
        return None if getattr(method, "__objclass__", None) is object else method(*args, **kwargs)

    functools.update_wrapper(following, getattr(cls, name))
    return following


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _spared(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Arguments, tuple[Any, ...], dict[str, Any]]:
    """Return arguments to describe, and arguments to pass on: describing must not use up the library's iterators."""
    pairs = list(map(shown_and_passed, args))
    named = {name: shown_and_passed(value) for name, value in kwargs.items()}
    shown = tuple(pair[0] for pair in pairs), {name: pair[0] for name, pair in named.items()}
    return shown, tuple(pair[1] for pair in pairs), {name: pair[1] for name, pair in named.items()}


def _watched(
    recorder: Recorder,
    invocation: Invocation | None,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call the original and keep the invocation with whether it returned."""
    if invocation is None:
        return function(*args, **kwargs)
    try:
        result = function(*args, **kwargs)
    except Exception:
        recorder.keep(invocation, ok=False)
        raise
    recorder.keep(invocation, ok=True)
    return result


def _like(wrapper: Callable[..., Any], original: Any) -> Callable[..., Any]:
    """Give the wrapper the original's name, document and signature: libraries introspect their own functions."""
    functools.update_wrapper(wrapper, original)
    if not inspect.isfunction(original):
        # Code that follows `__wrapped__` looks for source code, and a native function has none.
        del wrapper.__wrapped__  # type: ignore[attr-defined]
    with contextlib.suppress(ValueError, TypeError):
        wrapper.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return wrapper


def _replace(functions: dict[int, Any], prefixes: tuple[str, ...]) -> None:
    """Put wrappers in place of originals in every module of the library, under all names of the originals there."""
    for name, module in list(sys.modules.items()):
        if module is None or name.split(".")[0] not in prefixes:
            continue
        for attribute, value in list(vars(module).items()):
            wrapper = functions.get(id(value))
            if wrapper is not None:
                setattr(module, attribute, wrapper)
            elif type(value) in (dict, set):
                _register(value, functions)


def _register(table: Any, functions: dict[int, Any]) -> None:
    """Put wrappers into a library's own tables: of functions by name, of names by function or by a function's id."""
    if isinstance(table, set):
        table.update([functions[id(item)] for item in table if id(item) in functions])
        return
    for key, item in list(table.items()):
        if id(item) in functions:
            table[key] = functions[id(item)]
        if id(key) in functions:
            table[functions[id(key)]] = table[key]
        if type(key) is int and key in functions:
            table[id(functions[key])] = item
