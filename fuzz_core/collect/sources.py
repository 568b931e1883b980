"""Seeds, pieces of code that exercise a library; their sources, and collection from several of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Protocol

from fuzz_core.adapters.dialect import load_plugin
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.signatures import SEARCH

SourceName = Literal["docs", "tests", "models"]
Kind = Literal["snippet", "script", "tests", "database"]


@dataclass(frozen=True, slots=True)
class Seed:
    """A piece of code that exercises the library."""

    source: SourceName
    name: str  # provenance, for a person
    code: str
    # How a runner executes it. `snippet`: statement by statement in one namespace; a failing statement is counted and
    # the next one runs. `script`: as `__main__`. `tests`: as a pytest or unittest file at `path`. `database`: as code
    # generated for a test database inside the wheel.
    kind: Kind
    path: str = ""  # the file, if there is one
    relative: str = ""  # the file's path below the root it was found under, part of its identity
    needs: str = ""  # digest of the helper files that it needs, part of its identity too; empty if there are none

    @property
    def digest(self) -> str:
        """The identity: 128 bits of BLAKE2b in hex.

        The name and the place of the root on this machine do not count.
        """
        state = blake2b(digest_size=16)
        for part in (self.source, self.kind, self.relative, self.code, *filter(None, [self.needs])):
            data = part.encode("utf-8", "surrogatepass")
            state.update(len(data).to_bytes(8, "big") + data)
        return state.hexdigest()


@dataclass(frozen=True, slots=True)
class Request:
    """The order for seeds of a target."""

    library: str
    apis: Sequence[Api] = ()  # the target's public apis with their docstrings
    # The folder of each installed package (`.../site-packages/keras`), by import name.
    packages: Mapping[str, Path] = field(default_factory=dict)
    docs_dirs: Sequence[Path] = ()  # directories of documentation that the user names
    tests_dirs: Sequence[Path] = ()  # directories of tests that the user names
    models_dirs: Sequence[Path] = ()  # directories of model programs that the user names
    # Name and code of entries generated for the test databases inside the wheel.
    database: Sequence[tuple[str, str]] = ()
    # Collecting adds (path or name, reason) for each unusable file or text.
    problems: list[tuple[str, str]] = field(default_factory=list)


class SeedSource(Protocol):
    """A source of seeds.

    It is deterministic: the same request gives the same seeds in the same order.
    """

    def own(self, request: Request) -> Iterator[Seed]:
        """Yield the seeds of the directories that the user names.

        Raises:
            UserError: a directory that does not exist.
        """

    def shipped(self, request: Request) -> Iterator[Seed]:
        """Yield the seeds that come with the library, its packages or nightfuzz."""


SOURCES: dict[str, str] = {
    "docs": "fuzz_core.collect.docs:DocsSource",
    "tests": "fuzz_core.collect.programs:TestsSource",
    "models": "fuzz_core.collect.programs:ModelsSource",
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
    yield from first_of_each((*collect_own(request, names), *collect_shipped(request, names)))


def collect_own(request: Request, names: Sequence[str] = NAMES) -> Iterator[Seed]:
    """Yield the seeds of the user's directories.

    Raises:
        UserError: as `collect`.
    """
    yield from first_of_each(seed for source in _sources(names) for seed in source.own(request))


def collect_shipped(request: Request, names: Sequence[str] = NAMES) -> Iterator[Seed]:
    """Yield the seeds that come with the library, its packages or nightfuzz.

    Raises:
        UserError: as `source_of`.
    """
    yield from first_of_each(seed for source in _sources(names) for seed in source.shipped(request))


def _sources(names: Sequence[str]) -> list[SeedSource]:
    return [source_of(name) for name in names if name != SEARCH]


def first_of_each(seeds: Iterable[Seed], attribute: str = "digest") -> Iterator[Seed]:
    """Yield the first seed with each value of an attribute."""
    seen: set[str] = set()
    for seed in seeds:
        value = getattr(seed, attribute)
        if value not in seen:
            seen.add(value)
            yield seed
