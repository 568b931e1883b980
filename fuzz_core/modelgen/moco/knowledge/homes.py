"""The namespaces of the apis that models are made of, found by recorded calls and not by name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from fuzz_core.ir.catalogue import Api


class Homes(NamedTuple):
    """The namespace of layers and the namespace of equivalent functions; empty if there is none."""

    layers: str
    functions: str


def homes(apis: Sequence[Api], applied: Collection[str]) -> Homes:
    """Find the namespaces of layers and of functions.

    The layers' namespace is the one with most classes of which an instance was applied to a tensor. The functions'
    namespace shares most names with it. Names are compared without case and underscores, and the score is the harmonic
    mean of both shares.

    Args:
        applied: the names of the classes of which an instance was applied to a tensor.
    """
    counts = Counter(_space(api.name) for api in apis if api.kind == "class" and api.name in applied)
    layers = max(sorted(counts), key=lambda space: counts[space], default="")
    named = {_folded(name) for api in apis if api.kind == "class" for name in _names_in(api, layers)}
    functions: defaultdict[str, set[str]] = defaultdict(set)
    for api in apis:
        for name in (api.name, *api.aliases) if api.kind == "function" else ():
            functions[_space(name)].add(_folded(name))
    alike = {space: names for space, names in functions.items() if names & named}
    shared = {space: 2 * len(names & named) / (len(names) + len(named)) for space, names in alike.items()}
    return Homes(layers, max(sorted(shared), key=lambda space: shared[space], default=""))


def of_homes(apis: Iterable[Api], found: Homes) -> Iterator[Api]:
    """Yield the classes and functions that have a name in these namespaces."""
    for api in apis:
        spaces = [found.layers] if api.kind == "class" else [found.layers, found.functions]
        if api.kind in ("class", "function") and any(space and _names_in(api, space) for space in spaces):
            yield api


def _names_in(api: Api, space: str) -> list[str]:
    return [name for name in (api.name, *api.aliases) if _space(name) == space]


def _space(name: str) -> str:
    return name.rpartition(".")[0]


def _folded(name: str) -> str:
    return name.rpartition(".")[2].replace("_", "").lower()
