"""What is known of a library as text alone: how values are spelled, what its errors look like.

A dialect imports nothing of the library, so that the controller can write scripts and judge outcomes with it.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from fuzz_core.adapters.library import KNOWN_LIBRARIES, Profile, library_of
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.values import Invocation, Ref, Tensor


def as_it_is(source: str, tensor: Tensor, seed: int) -> str:
    """The tensor of the plain call."""
    return source


class Way(NamedTuple):
    """A mode as text: how the plain call becomes the mode's own, and what must hold of the two results.

    check: statements that raise AssertionError where it does not hold, with `{actual}` and `{expected}`. tensor: an
    expression for the changed tensor, from that of the plain one and the test case's seed. actual: the mode's call of a
    function `f` of the tensors, with `{x}` for the changed tensors. instance: an object with state, from its
    construction `{m}` and the name `{x}` of the first tensor, in both calls; `owner` begins the names of the apis
    that this is for. more: a further parameter of `f`, that it hands on. shared: whether both calls use one object with
    state, made before. call: the mode's own call where it is another one, written as a second function `g`. imports:
    statements that these texts need beyond the dialect's own.
    """

    check: str
    tensor: Callable[[str, Tensor, int], str] = as_it_is
    actual: str = "f({x})"
    instance: str = "{m}"
    owner: str = ""
    more: str = ""
    shared: bool = False
    call: Callable[[Invocation], Invocation | None] | None = None
    imports: tuple[str, ...] = ()


class Around(NamedTuple):
    """A mode of whole model programs as text: statements in front of a program and behind it, which raise
    AssertionError where what the mode says does not hold."""

    before: str
    after: str = ""


# A program that asserts by itself what other libraries make of the same (Gandalf): nothing stands around it.
LIBRARIES = "libraries"
BARE = {LIBRARIES: Around("")}
NEVER = re.compile(r"(?!)")


class Dialect(Protocol):
    """The textual half of a library's adapter. `strided`: whether its tensors have strides and requires_grad.

    ways: the modes that a script can show, by name; programs: those of model programs. poisons: errors of a device
    after which no call of the same process can be judged. lazy: results are computed when they are looked at.
    environment: variables that its processes need.
    verbose: variables that make it say all that its maintainers ask for.
    compiled: the variable that names a folder for what it compiles while it runs; empty where it compiles nothing.
    caught: what a process says that catches a signal itself, `number` which one (SIGSEGV without). miscompiled:
    what an error says when a compiler has refused what the library has written. chatter: what it writes while it works,
    which says nothing of how it ends.
    """

    library: str
    distributions: tuple[str, ...]
    imports: tuple[str, ...]
    internal_error: re.Pattern[str]
    out_of_memory: re.Pattern[str]
    poisons: re.Pattern[str]
    native_modules: re.Pattern[str]
    strided: bool
    lazy: bool
    environment: Mapping[str, str]
    verbose: Mapping[str, str]
    compiled: str
    caught: re.Pattern[str]
    miscompiled: re.Pattern[str]
    chatter: re.Pattern[str]
    ways: Mapping[str, Way]
    programs: Mapping[str, Around]

    def tensor(self, tensor: Tensor) -> str:
        """A Python expression that makes the tensor, with public names of the library (and numpy) alone."""

    def ref(self, ref: Ref) -> str:
        """A Python expression for a dtype, device or name."""

    def seed(self, seed: int) -> str:
        """A statement that seeds the library's global random streams."""


class Eager:
    """The part of a dialect that says nothing special: calls are executed when they are made, by what was compiled."""

    lazy = False
    environment: Mapping[str, str] = {}
    verbose: Mapping[str, str] = {}
    compiled = ""
    caught = NEVER
    miscompiled = NEVER
    chatter = NEVER
    programs: Mapping[str, Around] = BARE


DIALECTS: dict[str, str] = {each.name: each.dialect for each in KNOWN_LIBRARIES.values()}


def load_plugin(table: dict[str, str], name: str, what: str) -> Any:
    """Resolves `module:attr` from a plug-in table. Raises UserError naming what there is."""
    if name not in table:
        raise UserError(f"unknown {what} {name!r}", f"choose one of: {', '.join(sorted(table))}")
    module, attribute = table[name].split(":")
    return getattr(importlib.import_module(module), attribute)


def load_half(table: dict[str, str], library: str, attribute: str) -> Any:
    """The `Adapter` or `Dialect` of a library: from the table, or from a module `nightfuzz_LIBRARY` of its own.

    So a library can be added from outside: such a module on the path (and on NIGHTFUZZ_PATH, for the processes of the
    target) is all it takes. Raises UserError for an unknown library.
    """
    outside = f"nightfuzz_{library}"
    if library not in table and importlib.util.find_spec(outside) is not None:
        table = {**table, library: f"{outside}:{attribute}"}
    return load_plugin(table, library, "library")


def dialect_of(library: str) -> Dialect:
    """The dialect of a library by name. Raises UserError for an unknown one."""
    made: Dialect = load_half(DIALECTS, library, "Dialect")()
    return made


def profile_of(library: str) -> Profile | None:
    """What examples of a library take for granted; None where nothing is known of them."""
    place = library_of(library).profile
    found: Profile | None = load_plugin({library: place}, library, "library") if place else None
    return found
