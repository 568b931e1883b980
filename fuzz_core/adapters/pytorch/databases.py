"""Seeds from PyTorch's own test databases in its wheel: OpInfo and ModuleInfo samples, error inputs too."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from operator import attrgetter, itemgetter
from types import CodeType, FunctionType, MethodType
from typing import Any

_PACKAGE = "torch.testing"
_PLAIN = (bool, int, float, complex, str, type(None))


class Contents:
    """Digests of functions by their code.

    Their place in the file, and their comments, do not count.
    """

    def __init__(self) -> None:
        # Each entry keeps its object alive, so that no other object gets the identity of a deleted one.
        self._parts: dict[int, tuple[bytes, list[Any], Any]] = {}

    def digest(self, roots: Iterable[Any]) -> str:
        """Return 128 bits in hex over these objects and all that their code reaches in the test package."""
        found: dict[int, bytes] = {}
        waiting = list(roots)
        while waiting:
            thing = waiting.pop()
            if id(thing) not in found:
                found[id(thing)], further, _ = self._part(thing)
                waiting += further
        return blake2b(b"".join(sorted(found.values())), digest_size=16).hexdigest()

    def _part(self, thing: Any) -> tuple[bytes, list[Any], Any]:
        if id(thing) not in self._parts:
            texts: list[str] = []
            further = list(_taken_apart(thing, texts))
            self._parts[id(thing)] = blake2b("\x1f".join(texts).encode(), digest_size=16).digest(), further, thing
        return self._parts[id(thing)]


def _taken_apart(thing: Any, texts: list[str]) -> Iterator[Any]:
    """Add what identifies one object to the texts; yield the objects it needs."""
    if isinstance(thing, MethodType):
        yield thing.__func__
        yield thing.__self__
    elif isinstance(thing, functools.partial):
        yield from (thing.func, *thing.args, *(thing.keywords[name] for name in sorted(thing.keywords)))
    elif isinstance(thing, FunctionType):
        if thing.__module__ and thing.__module__.startswith(_PACKAGE):
            yield from _function(thing, texts)
    elif isinstance(thing, type):
        if thing.__module__.startswith(_PACKAGE):
            texts.append(thing.__qualname__)
            yield from (
                vars(thing)[name] for name in sorted(vars(thing)) if isinstance(vars(thing)[name], FunctionType)
            )
    elif isinstance(thing, _PLAIN):
        texts.append(repr(thing))
    elif isinstance(thing, tuple | list):
        yield from thing
    elif type(thing).__module__.startswith(_PACKAGE) and callable(thing):
        yield type(thing)


def _function(function: FunctionType, texts: list[str]) -> Iterator[Any]:
    texts.append(function.__qualname__)
    names = set(_code(function.__code__, texts))
    # Texts are left out: a module's texts are often paths of this machine.
    looked_up = (function.__globals__.get(name) for name in sorted(names))
    yield from (found for found in looked_up if not isinstance(found, str))
    yield from function.__defaults__ or ()
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            yield cell.cell_contents


def _code(code: CodeType, texts: list[str]) -> Iterator[str]:
    """Add what the code does to the texts; yield the names it looks up."""
    texts.append(code.co_code.hex())
    texts.extend(map(repr, (code.co_names, code.co_varnames)))
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant, texts)
        else:
            texts.append(repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant))


_OPINFO = """
import itertools
import torch
from torch.testing._internal.common_methods_invocations import op_db

WANTED = {dtypes}
for op in [o for o in op_db if (o.name, o.variant_test_name) == {key!r}]:
    variants = [op.op, op.method_variant, op.inplace_variant, op.operator_variant, *(a.op for a in op.aliases)]
    supported = op.supported_dtypes("cpu")
    for dtype in [d for d in WANTED if d in supported]:
        differentiable = dtype.is_floating_point and op.supports_autograd
        samples = op.sample_inputs("cpu", dtype, requires_grad=differentiable)
        for sample in itertools.islice(samples, WANTED[dtype]):
            for variant in filter(None, variants):
                try:
                    variant(sample.input, *sample.args, **sample.kwargs)
                except Exception:
                    pass
    if op.error_inputs_func is not None:
        for error in op.error_inputs("cpu"):
            sample = error.sample_input
            try:
                op.op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                pass
"""

_MODULEINFO = """
import torch
from torch.testing._internal.common_modules import module_db

for info in [m for m in module_db if m.name == {name!r}]:
    for training in (True, False):
        for sample in info.module_inputs_func(info, "cpu", torch.float32, True, training):
            build, forward = sample.constructor_input, sample.forward_input
            try:
                module = info.module_cls(*build.args, **build.kwargs)
                if forward is not None:
                    module(*forward.args, **forward.kwargs)
            except Exception:
                pass
"""
# The digest of the entry that a program runs. A seed is identified by its text, so the text has to name the content.
_CONTENT = "# made from {content}\n"
# Samples per dtype: further ones of another dtype repeat shapes that mutation reaches by itself.
_DTYPES = "{torch.float32: 64, torch.complex64: 16, torch.int64: 16, torch.bool: 16, torch.bfloat16: 16}"


def programs() -> list[tuple[str, str]]:
    """Return (name, code) per database entry; empty if the wheel's test package or its needs are missing."""
    try:
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.common_modules import module_db
    except ImportError:
        return []
    entries: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for key, op in sorted((((op.name, op.variant_test_name), op) for op in op_db), key=itemgetter(0)):
        code = _OPINFO.format(key=key, dtypes=_DTYPES)
        made_of = op.sample_inputs_func, op.error_inputs_func, *sorted(map(str, op.dtypes))
        entries[f"OpInfo {'.'.join(filter(None, key))}", code] += made_of
    for info in sorted(module_db, key=attrgetter("name")):
        entries[f"ModuleInfo {info.name}", _MODULEINFO.format(name=info.name)].append(info.module_inputs_func)
    contents = Contents()
    return [(title, code + _CONTENT.format(content=contents.digest(parts))) for (title, code), parts in entries.items()]
