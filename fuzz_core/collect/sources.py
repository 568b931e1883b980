"""The table of seed sources, and collection from several of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fuzz_core.adapters.dialect import load_plugin
from fuzz_core.collect.seed import Request, Seed, SeedSource
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.signatures import SEARCH

SOURCES: dict[str, str] = {
    "docs": "fuzz_core.collect.docs:DocsSource",
    "tests": "fuzz_core.collect.tests:TestsSource",
    "models": "fuzz_core.collect.models:ModelsSource",
}
# A search begins where tracing has ended (`campaign.search`), so that no seed source stands for it.
NAMES = (*SOURCES, SEARCH)


def source_of(name: str) -> SeedSource:
    """Return the seed source of this name.

    Raises:
        UserError: the source is unknown; the message has all names.
    """
    made: SeedSource = load_plugin(SOURCES, name, "seed source")()
    return made


def check_source(name: str) -> None:
    """Check the name of a source.

    Raises:
        UserError: there is no such source; the message has all names.
    """
    if name not in NAMES:
        raise UserError(f"unknown seed source {name!r}", f"choose one of: {', '.join(sorted(NAMES))}")


def collect(request: Request, names: Sequence[str] = NAMES) -> Iterator[Seed]:
    """Yield the user's own seeds, then the library's, source by source, each digest once.

    Raises:
        UserError: a source is unknown (raised before any work), or a directory is missing.
    """
    yield from _once((*collect_own(request, names), *collect_shipped(request, names)))


def collect_own(request: Request, names: Sequence[str] = NAMES) -> Iterator[Seed]:
    """Yield the seeds of the user's directories.

    Raises:
        UserError: as `collect`.
    """
    yield from _once(seed for source in _sources(names) for seed in source.own(request))


def collect_shipped(request: Request, names: Sequence[str] = NAMES) -> Iterator[Seed]:
    """Yield the seeds that come with the library, its packages or nightfuzz.

    Raises:
        UserError: as `source_of`.
    """
    yield from _once(seed for source in _sources(names) for seed in source.shipped(request))


def _sources(names: Sequence[str]) -> list[SeedSource]:
    return [source_of(name) for name in names if name != SEARCH]


def _once(seeds: Iterable[Seed]) -> Iterator[Seed]:
    seen: set[str] = set()
    for seed in seeds:
        if seed.digest not in seen:
            seen.add(seed.digest)
            yield seed
