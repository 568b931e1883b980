"""The order of operators as model programs have it: those that are shipped for each library, and yours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fuzz_core.collect.files import provenance
from fuzz_core.collect.models import programs_in
from fuzz_core.modelgen.gandalf.order import Order, mined, reviewed
from fuzz_core.modelgen.gandalf.table import Library, Operator
from fuzz_core.programs.shipped import grown_programs, traced_programs


def order_of(table: Mapping[str, Operator], libraries: Iterable[Library], models: Sequence[Path] = ()) -> Order:
    """What programs of these libraries show, and what is reviewed. Raises UserError for a missing directory."""
    return Order(mined(programs(libraries, models), table), reviewed())


def programs(libraries: Iterable[Library], models: Sequence[Path] = ()) -> Iterator[tuple[str, str]]:
    """Name and text of each; files of yours that cannot be read are left out. Raises UserError as above."""
    for library in libraries:
        shipped = (*grown_programs(library), *traced_programs(library))
        yield from ((f"{library}/{name}", source) for name, source in shipped)
    problems: list[tuple[str, str]] = []
    for root in models:
        yield from ((provenance(root, each.relative), each.code) for each in programs_in(root, problems))
