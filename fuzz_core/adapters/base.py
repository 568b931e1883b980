"""The living half of a library's adapter: runs in the target's environment, next to the imported library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from fuzz_core.adapters.dialect import ModeSpec, load_half
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.adapters.models import Models
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Ref, Tensor, Value

MAX_ELEMENTS = 1 << 22
# What one process may have of each GPU: room for any test below the element cap, and for several workers beside it.
GPU_MEMORY_BYTES = 4 << 30

Describe = Callable[[Any], Value]


class Listed(NamedTuple):
    """A public api with its live object; `owner` is the class of a method, or the module it was found in."""

    api: Api
    found: Any
    owner: Any


class Examples(NamedTuple):
    """What generic tests try on a library, so that a new one is tested the moment that it exists.

    calls: invocations that succeed; each way applies to one of them at least. random: an expression that draws
    numbers. switch: one that changes something global of the library. Both use the dialect's imports, and are empty
    where the library has no such thing. least_rank: how few dimensions a tensor can have.
    """

    calls: tuple[Invocation, ...] = ()
    random: str = ""
    switch: str = ""
    least_rank: int = 0


class Adapter(Protocol):
    """What the engine needs of a library. Made without importing it; `load` imports it."""

    library: str
    prefixes: tuple[str, ...]
    # Modes beyond the devices, by name.
    ways: Mapping[str, ModeSpec]

    def load(self) -> ModuleType:
        """Imports the library, starting no threads, device or eager context, and returns its root module."""

    def listed(self) -> list[Listed]:
        """Every public api, aliases folded, in the order of names."""

    def describe(self, value: Any, describe: Describe) -> Value | None:
        """A value of the library's own types (tensor, dtype, device, enum); None for foreign ones.

        Raises Undescribable. `describe` describes parts (the indices of a sparse tensor).
        """

    def build(self, tensor: Tensor, device: str) -> Any:
        """A live tensor. Raises BuildError above MAX_ELEMENTS or for a dtype it does not have."""

    def ref(self, ref: Ref, device: str) -> Any:
        """The object behind a dtype, device or name. Raises BuildError for an unknown one."""

    def then_methods(self, cls: type) -> tuple[str, ...]:
        """The methods of an api class that are recorded as what is done with an instance."""

    def observe(self, seen: Callable[[str, dict[str, Any]], None]) -> None:
        """Installs what tells of api calls that wrapping cannot see: `seen(api, keyword arguments)` after a success."""

    def prepare(self) -> None:
        """Once in every forked process before the first test: one thread, quiet warnings, a bound on GPU memory."""

    def reset(self, seed: int) -> None:
        """Before each test: random streams from the seed."""

    def state(self) -> object:
        """The library's global switches, cheap to read: a test that leaves them changed ends its process."""

    def modes(self) -> tuple[str, ...]:
        """The devices this machine offers; `cpu` comes first."""

    def enter(self, mode: str) -> str:
        """Switches the library to a device's mode and returns the device name to build arguments on."""

    def finish(self, result: Any) -> None:
        """Has what a call has only promised computed, so that errors and costs belong to it. Raises what it raises."""

    def synchronise(self, mode: str) -> None:
        """Waits for a device's work, so that an error belongs to its call."""

    def differences(self, reference: Any, other: Any, relation: str = "values") -> str:
        """How two results differ; empty where they agree.

        relation: `values` beyond the library's default tolerances, `metadata`, or `finite`, see `ModeSpec`.
        """

    def error(self, reference: Any, other: Any) -> float:
        """The largest error of a result, by a reference of higher precision, in units of the default tolerance.

        Infinite where shapes, integers, or where NaN and infinity stand, differ.
        """

    def whole(self, result: Any) -> bool:
        """Whether a result has integers or booleans in it."""

    def operators(self, seen: Callable[[str], None]) -> AbstractContextManager[object]:
        """Within it, every operator that the library executes is told as `name dtype`."""

    def seed_programs(self) -> Iterable[tuple[str, str]]:
        """(name, code) of seeds from the library's own test databases in the wheel, if it has any."""

    def models(self) -> Models:
        """What running model programs needs, in a process that will run some."""

    def examples(self) -> Examples:
        """What generic tests try."""


ADAPTERS: dict[str, str] = {each.name: each.adapter for each in KNOWN_LIBRARIES.values()}


def adapter_of(library: str) -> Adapter:
    """The adapter of a library by name, not yet loaded. Raises UserError for an unknown one."""
    made: Adapter = load_half(ADAPTERS, library, "Adapter")()
    return made


def shortest(names: Sequence[str]) -> list[str]:
    """Public names of one object, the canonical one (fewest parts, then shortest, then first) in front."""
    return sorted(names, key=lambda name: (name.count("."), len(name), name))


def resolve(root: Any, dotted: str) -> Any:
    """The object of a dotted name that begins with the library's own. Raises BuildError where a part is missing."""
    found = root
    for part in dotted.split(".")[1:]:
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise BuildError(f"no {dotted} in this target") from error
    return found
