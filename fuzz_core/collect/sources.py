"""The table of seed sources, and collection from several of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fuzz_core.adapters.dialect import load_plugin
from fuzz_core.collect.seed import Request, Seed, SeedSource

SOURCES: dict[str, str] = {
    "docs": "fuzz_core.collect.docs:DocsSource",
    "tests": "fuzz_core.collect.tests:TestsSource",
    "models": "fuzz_core.collect.models:ModelsSource",
}


def source_of(name: str) -> SeedSource:
    """Returns the seed source of this name. Raises UserError for an unknown one, with all names."""
    made: SeedSource = load_plugin(SOURCES, name, "seed source")()
    return made


def collect(request: Request, names: Sequence[str] = tuple(SOURCES)) -> Iterator[Seed]:
    """Yield the user's own seeds, then the library's, source by source, each digest once.

    Raises UserError for an unknown source, before any work, and for a missing directory.
    """
    yield from _once((*collect_own(request, names), *collect_shipped(request, names)))


def collect_own(request: Request, names: Sequence[str] = tuple(SOURCES)) -> Iterator[Seed]:
    """Yield the seeds of the user's directories. Raises as `collect` does."""
    yield from _once(seed for source in [source_of(name) for name in names] for seed in source.own(request))


def collect_shipped(request: Request, names: Sequence[str] = tuple(SOURCES)) -> Iterator[Seed]:
    """Yield the seeds that come with the library, its packages or nightfuzz. Raises as `source_of` does."""
    yield from _once(seed for source in [source_of(name) for name in names] for seed in source.shipped(request))


def _once(seeds: Iterable[Seed]) -> Iterator[Seed]:
    seen: set[str] = set()
    for seed in seeds:
        if seed.digest not in seen:
            seen.add(seed.digest)
            yield seed
