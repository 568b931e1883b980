"""The order of operators as model programs have it: what is recorded of each library, and your programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fuzz_core.collect.files import provenance
from fuzz_core.collect.programs import programs_in
from fuzz_core.modelgen.gandalf.order import Order, Pairs, mined, pairs_of, recorded, reviewed
from fuzz_core.modelgen.gandalf.table import Library, Operator


def order_of(table: Mapping[str, Operator], libraries: Iterable[Library], models: Sequence[Path] = ()) -> Order:
    """Return the order that programs of these libraries show, with the reviewed one.

    Raises:
        UserError: a directory of models does not exist.
    """
    return Order(mined((*recorded(libraries), *_own(models)), table), reviewed())


def _own(models: Sequence[Path]) -> Iterator[tuple[str, Pairs]]:
    """Yield the user's programs with their pairs; files that cannot be read are left out."""
    problems: list[tuple[str, str]] = []
    for root in models:
        yield from ((provenance(root, each.relative), pairs_of(each.code)) for each in programs_in(root, problems))
