"""Wrapping every public api in place, wherever the library itself keeps a reference to it (FreeFuzz, section 4.1)."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from fuzz_core.adapters.base import Adapter, Listed
from fuzz_core.ir.values import Invocation, Then
from fuzz_core.tracing.describe import materialised
from fuzz_core.tracing.recorder import Recorder


class Hooks:
    """Installed once, before seeds' processes are forked; each of those sets its own recorder."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.recorder: Recorder | None = None

    def install(self, listed: list[Listed]) -> list[str]:
        """Wraps all that can be wrapped; returns the names of what could not be (immutable extension types)."""
        functions: dict[int, Any] = {}
        failed = []
        for entry in listed:
            if entry.api.kind == "function":
                functions[id(entry.found)] = self._function(entry.api.name, entry.found)
            elif not self._install_on_class(entry):
                failed.append(entry.api.name)
        _replace(functions, self.adapter.prefixes)
        self.adapter.observe(self._seen)
        return failed

    def _install_on_class(self, entry: Listed) -> bool:
        try:
            if entry.api.kind == "method":
                setattr(entry.owner, entry.api.name.rsplit(".", 1)[1], self._function(entry.api.name, entry.found))
                return True
            cls = entry.found
            cls.__init__ = self._constructor(entry.api.name, cls)
            for name in self.adapter.then_methods(cls):
                setattr(cls, name, self._method(cls, name))
        except (TypeError, AttributeError):
            return False
        return True

    def _seen(self, api: str, kwargs: dict[str, Any]) -> None:
        recorder = self.recorder
        if recorder is not None and recorder.wants(api):
            invocation = recorder.describe(api, (), kwargs)
            if invocation is not None:
                recorder.keep(invocation, ok=True)

    def _function(self, api: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def traced(*args: Any, **kwargs: Any) -> Any:
            recorder = self.recorder
            if recorder is None or not recorder.wants(api):
                return function(*args, **kwargs)
            args = tuple(map(materialised, args))
            return _watched(recorder, recorder.describe(api, args, kwargs), function, args, kwargs)

        return _like(traced, function)

    def _constructor(self, api: str, cls: Any) -> Callable[..., None]:
        original = cls.__init__ if cls.__init__ is not object.__init__ else _nothing

        def traced(instance: Any, *args: Any, **kwargs: Any) -> None:
            recorder = self.recorder
            if recorder is None or type(instance) is not cls or not recorder.wants(api):
                original(instance, *args, **kwargs)
                return
            args = tuple(map(materialised, args))
            invocation = recorder.describe(api, args, kwargs)
            _watched(recorder, invocation, original, (instance, *args), kwargs)
            if invocation is not None:
                recorder.describer.remember(instance, invocation)

        return _like(traced, original)

    def _method(self, cls: Any, name: str) -> Callable[..., Any]:
        original = getattr(cls, name)

        def traced(instance: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = self.recorder
            if recorder is None or type(instance) is not cls or recorder.busy:
                return original(instance, *args, **kwargs)
            made = recorder.describer.construction(instance)
            if made is None or not recorder.wants(made.api):
                return original(instance, *args, **kwargs)
            args = tuple(map(materialised, args))
            call = recorder.describe(made.api, args, kwargs)
            invocation = None if call is None else made._replace(then=Then(name, call.args, call.kwargs))
            return _watched(recorder, invocation, original, (instance, *args), kwargs)

        return _like(traced, original)


def _nothing(instance: Any, *args: Any, **kwargs: Any) -> None:
    """The constructor of a class that does its work in `__new__`: object's own would refuse the arguments."""


def _watched(
    recorder: Recorder,
    invocation: Invocation | None,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Calls the original and keeps the invocation with whether it returned."""
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
    """Gives the wrapper the original's name, document and signature: libraries introspect their own functions."""
    functools.update_wrapper(wrapper, original)
    with contextlib.suppress(ValueError, TypeError):
        wrapper.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return wrapper


def _replace(functions: dict[int, Any], prefixes: tuple[str, ...]) -> None:
    """Puts wrappers in place of originals in every module of the library, under whatever name they stand there."""
    for name, module in list(sys.modules.items()):
        if module is None or name.split(".")[0] not in prefixes:
            continue
        for attribute, value in list(vars(module).items()):
            wrapper = functions.get(id(value))
            if wrapper is not None:
                setattr(module, attribute, wrapper)
