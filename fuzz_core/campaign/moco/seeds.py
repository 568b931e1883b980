"""The seed programs of a target's library: those that are shipped, and any directory of yours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.session import Session
from fuzz_core.collect.files import provenance
from fuzz_core.collect.models import programs_in
from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.disassembly import disassemble
from fuzz_core.modelgen.moco.fit import opened
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.program import Program
from fuzz_core.modelgen.moco.styles.layers import is_sequence
from fuzz_core.programs.texts import grown_programs, traced_programs

# The share of time of a program that is written for tracing is smaller by this factor.
TRACED = 4


class SeedProgram(NamedTuple):
    """A program taken apart."""

    program: Program
    digest: str  # identity of its text
    weight: int = 1  # factor of its cost
    beside: frozenset[str] = frozenset()  # apis that it calls, or derives classes from, in any blocks


class RefusedProgram(NamedTuple):
    """A program that cannot be taken apart, and why."""

    name: str
    reason: str


def seeds(session: Session, models: Sequence[Path] = ()) -> Iterator[SeedProgram | RefusedProgram]:
    """Yields every seed program: those shipped for growing, those for tracing as far as they come apart, the user's.

    Raises:
        UserError: a directory does not exist.
    """
    library = session.target.library
    known = {alias: api.name for api in session.store.apis(session.target.key) for alias in api.aliases}
    problems: list[tuple[str, str]] = []
    own = [(provenance(root, each.relative), each.code) for root in models for each in programs_in(root, problems)]
    yield from (RefusedProgram(*problem) for problem in problems)
    yield from (_seed(name, source, library, known) for name, source in grown_programs(library))
    for name, source in traced_programs(library):
        found = _seed(name, source, library, known)
        if isinstance(found, SeedProgram):
            yield found._replace(weight=TRACED)
    yield from (_seed(name, source, library, known) for name, source in own)


def _seed(name: str, source: str, library: str, known: Mapping[str, str]) -> SeedProgram | RefusedProgram:
    try:
        # A sequence of layers is known by its canonical name, not by its aliases.
        others = {alias: api for alias, api in known.items() if not is_sequence(alias)}
        program = opened(disassemble(name, source, library, others))
    except UserError as error:
        return RefusedProgram(name, error.problem)
    beside = frozenset(known.get(path, path) for path in ModuleNames.of(program).beside(program))
    return SeedProgram(program, blake2b(source.encode("utf-8", "replace"), digest_size=16).hexdigest(), beside=beside)
