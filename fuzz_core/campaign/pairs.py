"""Pairs of boundary classes: covering arrays over an api's arguments with the most outcome classes in the sweep."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import covertable

from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.tree import Path
from fuzz_core.store import cells as results
from fuzz_core.store.cells import CellRow
from fuzz_core.worker.plan import PAIRED, Plan

if TYPE_CHECKING:
    from fuzz_core.campaign.sweep import CellLog
    from fuzz_core.mutation.sweep import Cell

# Arguments of an api that have pairs, and classes of one of them. A further class adds about 20 tests.
MOST_ARGUMENTS = 5
MOST_CLASSES = 8


@lru_cache(64)
def covering(sizes: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    """Return rows such that each pair of levels of two factors is in one of them.

    Args:
        sizes: the number of levels of each factor; a level is a number below it.
    """
    factors = [[(factor, level) for level in range(size)] for factor, size in enumerate(sizes)]
    return [tuple(level for _, level in row) for row in covertable.make(factors, strength=2)]


def paired_classes(cells: Sequence[Cell], known: Iterable[CellRow]) -> list[list[int]]:
    """Return the classes to pair, as places in `cells`, for each of the arguments that have shown most outcome classes.

    A class is paired if its call returned: a class that is refused alone is mostly refused with others, which hides
    them. One class for each outcome class of an argument comes first. The arguments inside an argument that is taken
    are left out.

    Args:
        known: the results of the cells.
    """
    found = {(row.argument, row.name): row for row in known if row.result in (results.VALID, results.REFUSED)}
    shown: defaultdict[tuple[int, Path], set[int]] = defaultdict(set)
    valid: defaultdict[tuple[int, Path], dict[int, int]] = defaultdict(dict)  # outcome classes by place
    for place, cell in enumerate(cells):
        row = found.get((cell.argument, cell.name))
        if row is not None and cell.path:
            shown[cell.origin, cell.path].add(row.shown)
            if row.result == results.VALID:
                valid[cell.origin, cell.path][place] = row.shown
    taken: list[tuple[int, Path]] = []
    for origin, path in sorted(valid, key=lambda key: (-len(shown[key]), key[1])):
        apart = all(path[: len(other)] != other[: len(path)] for _, other in taken)
        if len(taken) < MOST_ARGUMENTS and apart and origin == (taken[0][0] if taken else origin):
            taken.append((origin, path))
    return [_classes(valid[key]) for key in taken]


def _classes(valid: dict[int, int]) -> list[int]:
    """Return places of classes, the first of each outcome class before all others."""
    first = {shown: place for place, shown in reversed(valid.items())}
    return list(dict.fromkeys((*sorted(first.values()), *valid)))[:MOST_CLASSES]


class PairSchedule:
    """The maker of leases of pairs, for apis whose cells all have a result. A lease that has ended is not made again.

    Args:
        apis: the order of the apis.
    """

    def __init__(self, session: Session, plan: Plan, log: CellLog, apis: Iterable[str]) -> None:
        self.session = session
        self.plan = plan
        self.log = log
        efforts = {each.api: each for each in session.store.efforts(session.target.key)}
        self.done = {api: each.paired for api, each in efforts.items()}
        self.waiting = deque(api for api in apis)
        self.rows = lru_cache(64)(self._rows)

    def _rows(self, api: str) -> Sequence[Sequence[int]]:
        """Return the cells of each test of pairs."""
        self.log.save(at_once=True)
        classes = paired_classes(self.plan.cells(api), self.session.store.cells(self.session.target.key, api))
        if len(classes) < 2:
            return ()
        # Arrays of equal sizes are made once.
        classes.sort(key=len, reverse=True)
        rows = covering(tuple(map(len, classes)))
        return [[classes[factor][level] for factor, level in enumerate(row)] for row in rows]

    def next(self, most: int) -> Lease | None:
        """Return the next lease of at most so many tests; None if no test is left."""
        while self.waiting:
            api = self.waiting.popleft()
            rows, first = self.rows(api), self.done.get(api, 0)
            part: Mapping[int, Sequence[int]] = {
                PAIRED + n: rows[n] for n in range(first, min(first + most, len(rows)))
            }
            if part:
                return Lease(0, api, min(part), max(part) + 1, sweep=True, rows=part)
        return None

    def ended(self, lease: Lease, following: int) -> None:
        """Take a lease back; `following` is the first test that was not run."""
        done, every = following - PAIRED, len(self.rows(lease.api))
        self.done[lease.api] = done
        self.log.pairs[lease.api] = every, done
        if done < every:
            self.waiting.append(lease.api)
