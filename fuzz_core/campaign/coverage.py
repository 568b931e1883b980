"""How much of the sweep of a target's apis is done, for people and documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzz_core.store.cells import CELL_RESULTS, POSTPONED, UNREACHABLE
from fuzz_core.store.store import Store


@dataclass
class SweepCoverage:
    """The results of the cells of an api, of one of its arguments, or of all apis."""

    api: str = ""
    argument: str | None = None  # None for all arguments
    cells: int = 0  # all cells, those without a result included; 0 if the sweep has not begun
    results: Counter[str] = field(default_factory=Counter)
    pairs: int = 0  # tests of pairs of cells; 0 while cells are left
    paired: int = 0  # how many of these tests have been run

    @property
    def untried(self) -> int:
        """Cells that neither have a result nor are postponed."""
        return max(self.cells - self.results.total(), 0)

    @property
    def tried(self) -> int:
        """Cells whose test has run."""
        return self.results.total() - self.results[POSTPONED] - self.results[UNREACHABLE]

    @property
    def summary(self) -> str:
        """The counts in a line."""
        parts = [f"{self.results[name]:,} {name}" for name in CELL_RESULTS if self.results[name]]
        cells = f"{self.tried:,} of {self.cells:,} cells tried ({', '.join([*parts, f'{self.untried:,} untried'])})"
        return f"{cells}; {self.paired:,} of {self.pairs:,} tests of pairs run" if self.pairs else cells


def coverage_by_api(store: Store, target: str) -> list[SweepCoverage]:
    """Return the coverage of each api whose sweep has begun, by name."""
    found = {
        each.api: SweepCoverage(each.api, cells=each.cells, pairs=each.pairs, paired=each.paired)
        for each in store.efforts(target)
        if each.cells
    }
    for count in store.cell_counts(target):
        if count.api in found:
            found[count.api].results[count.result] += count.cells
    return list(found.values())


def coverage_by_argument(store: Store, target: str) -> list[SweepCoverage]:
    """Return the coverage of each argument that has a cell with a result, by api and name."""
    found: dict[tuple[str, str], SweepCoverage] = {}
    for count in store.cell_counts(target):
        row = found.setdefault((count.api, count.argument), SweepCoverage(count.api, count.argument))
        row.cells += count.cells
        row.results[count.result] += count.cells
    return list(found.values())


def total(rows: list[SweepCoverage]) -> SweepCoverage:
    """Return the sum over apis."""
    return SweepCoverage(
        cells=sum(row.cells for row in rows),
        results=sum((row.results for row in rows), Counter[str]()),
        pairs=sum(row.pairs for row in rows),
        paired=sum(row.paired for row in rows),
    )


def coverage_line(store: Store, target: str) -> str:
    """Return the coverage of a target in a sentence; empty if no sweep has begun."""
    rows = coverage_by_api(store, target)
    return f"Sweep of boundary classes over {len(rows):,} apis: {total(rows).summary}." if rows else ""
