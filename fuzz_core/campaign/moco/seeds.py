"""The seed programs of a target's library: those that are shipped, and any directory of yours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.session import Session
from fuzz_core.collect.files import provenance
from fuzz_core.collect.programs import programs_in
from fuzz_core.programs.texts import grown_programs, traced_programs

# The share of time of a program that is written for tracing is smaller by this factor.
TRACED = 4


class SeedProgram(NamedTuple):
    """A program to take apart."""

    name: str
    source: str
    weight: int = 1  # factor of its cost

    @property
    def digest(self) -> str:
        """The identity of its text."""
        return blake2b(self.source.encode("utf-8", "replace"), digest_size=16).hexdigest()


class RefusedProgram(NamedTuple):
    """A file that is no program, or a program that cannot be taken apart, and why."""

    name: str
    reason: str


def seeds(session: Session, models: Sequence[Path] = ()) -> Iterator[SeedProgram | RefusedProgram]:
    """Yield every seed program: those shipped for growing, those for tracing, and the user's.

    Raises:
        UserError: a directory does not exist.
    """
    library = session.target.library
    problems: list[tuple[str, str]] = []
    own = [(provenance(root, each.relative), each.code) for root in models for each in programs_in(root, problems)]
    yield from (RefusedProgram(*problem) for problem in problems)
    yield from (SeedProgram(*each) for each in grown_programs(library))
    yield from (SeedProgram(*each, weight=TRACED) for each in traced_programs(library))
    yield from (SeedProgram(*each) for each in own)


def aliases_of(session: Session) -> dict[str, str]:
    """Return further names of the target's apis, each with the canonical one."""
    return {alias: api.name for api in session.store.apis(session.target.key) for alias in api.aliases}
