"""The table of seed sources, and collecting from several of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzz_core.adapters.dialect import load_plugin
from fuzz_core.collect.seed import Request, Seed, SeedSource

SOURCES: dict[str, str] = {
    "docs": "fuzz_core.collect.docs:DocsSource",
    "tests": "fuzz_core.collect.tests:TestsSource",
    "models": "fuzz_core.collect.models:ModelsSource",
}


def source_of(name: str) -> SeedSource:
    """The seed source of this name. Raises UserError for an unknown one, naming what there is."""
    made: SeedSource = load_plugin(SOURCES, name, "seed source")()
    return made


def collect(request: Request, names: Sequence[str] = tuple(SOURCES)) -> Iterator[Seed]:
    """Seeds of the named sources, source by source, each digest once.

    Raises UserError for an unknown source before anything is collected, and for a missing directory.
    """
    seen: set[str] = set()
    for source in [source_of(name) for name in names]:
        for seed in source.collect(request):
            if seed.digest not in seen:
                seen.add(seed.digest)
                yield seed
