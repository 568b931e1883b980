"""Seeds, pieces of code that exercise a library, and the contract of their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Protocol

from fuzz_core.ir.catalogue import Api

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

    def examples(self) -> Sequence[Request]:
        """Return requests that each give at least one seed, for the generic tests that every source passes."""
