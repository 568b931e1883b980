"""Fixtures: a library of a few lines, wrapped anew for each test, and seeds that run under the recorder."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from nightfuzz_fakelib.adapter import Adapter

from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import decode_invocation, encode
from fuzz_core.ir.values import Invocation
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.tracing.runner import run_seed

LIBRARY = '''
def add(a, b=0):
    """a + b"""
    return a + b

def take(items, count=3):
    """The first items."""
    iterator = iter(items)
    return [item for item, _ in zip(iterator, range(count))]

def first(iterator):
    """The next item."""
    return next(iterator)

def apply(function, x):
    """function(x)"""
    return function(x)

def outer(x):
    """Calls another api."""
    return add(x, 1)

def fill(array):
    """Changes its argument."""
    array[:] = [9] * len(array)

def fail(x):
    """Refuses everything."""
    raise ValueError(f"no {x}")

class Scale:
    """Times a number."""
    def __init__(self, by=1):
        if by == 0:
            raise ValueError("zero")
        self.by = by
    def __call__(self, x):
        return x * self.by

class Chain:
    """One after the other."""
    def __init__(self, *parts):
        self.parts = parts
    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x
'''


class TinyAdapter(Adapter):
    """The adapter of the tiny library."""

    library = "tinylib"
    prefixes = ("tinylib",)

    def load(self) -> types.ModuleType:
        self.tiny = types.ModuleType("tinylib")
        sys.modules["tinylib"] = self.tiny
        exec(compile(LIBRARY, "tinylib.py", "exec", dont_inherit=True), vars(self.tiny))
        return self.tiny

    def listed(self) -> list[Listed]:
        kinds = {types.FunctionType: "function", type: "class"}
        named = [(name, found) for name, found in vars(self.tiny).items() if type(found) in kinds]
        return [Listed(Api(f"tinylib.{name}", kinds[type(found)]), found, self.tiny) for name, found in named]


@dataclass
class Traced:
    """The calls and the final message of a traced seed."""

    calls: list[tuple[Invocation, bool]] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)

    def write(self, line: str) -> None:
        message = json.loads(line)
        if "call" in message:
            self.calls.append((decode_invocation(message["call"]), message["ok"]))
        else:
            self.end = message

    @property
    def good(self) -> list[str]:
        """Returns the calls that returned, as compact text."""
        return [json.dumps(encode(call)[1:], separators=(",", ":")) for call, ok in self.calls if ok]

    @property
    def undescribed(self) -> dict[tuple[str, str], int]:
        return {(api, reason): count for api, reason, count in self.end["undescribed"]}


Trace = Callable[..., Traced]


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trace]:
    """Yields a function that runs a seed in this process; the process is restored afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = dict(sys.modules)
    adapter = TinyAdapter()
    adapter.load()
    listed, hooks = adapter.listed(), Hooks(adapter)
    assert hooks.install(listed) == []

    def run(code: str, kind: str = "snippet", path: str = "") -> Traced:
        traced = Traced()
        run_seed(adapter, listed, hooks, {"kind": kind, "code": code, "path": path}, traced.write)
        return traced

    yield run
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]
    sys.modules.update(modules)
