"""The steps of a program: blocks that can be inserted alone, and blocks that belong together (MoCo 2024, III-B)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import takewhile, zip_longest
from typing import Any, NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.moco.program import Call, Program, Slot


class RunObservations(NamedTuple):
    """Observations from a run of a program."""

    same: Collection[int] = ()  # blocks whose result has the shape and dtype of their input
    # Known shape and dtype of the input of each block, inserted or not; a size of None means any size.
    arrived: Mapping[int, tuple[tuple[int | None, ...], str]] = {}

    def as_json(self) -> dict[str, Any]:
        """Return the observations in the form that `from_json` reads."""
        return {"same": sorted(self.same), "arrived": [[each, *kind] for each, kind in sorted(self.arrived.items())]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunObservations:
        """Read the dictionary that `as_json` returned."""
        return cls(data["same"], {each: (tuple(shape), dtype) for each, shape, dtype in data["arrived"]})

    def alike(self, other: RunObservations, number: int) -> bool:
        """Return whether a block gets the same input in another program."""
        here, there = self.arrived.get(number), other.arrived.get(number)
        if here is None or there is None:
            return here is there
        sizes = zip_longest(here[0], there[0], fillvalue=-1)
        return here[1] == there[1] and all(one == two or None in (one, two) for one, two in sizes)


Runs = Callable[[Mapping[int, Call]], RunObservations | None]


def steps(program: Program, runs: Runs) -> Program:
    """Verify a program: its original blocks are inserted in order, and each assembled program must run.

    Blocks without which the program does not run at all join the head. A block that does not run with only the blocks
    before it is joined with as few of the next blocks as it needs. A program that differs from a running one only in
    blocks that keep the shape is not executed. All its further parts get the same inputs.

    Args:
        runs: executes the program with the given calls inserted, which the caller may adapt. Returns its observations,
            or None if it does not run.

    Raises:
        UserError: the whole program does not run, or no block can be left out of it.
    """
    trial = _Trial(program, runs)
    every = {block.number for block in program.blocks}
    whole = trial.told(every)
    if whole is None:
        raise UserError(
            f"{program.name} does not run, even without any change",
            "run the program by itself to see why, and correct it",
        )
    head = set(program.template.head)
    # The blocks that an output layer needs are most often just before it.
    head |= trial.fewest(head, sorted(every - head, reverse=True))
    if head == every:
        raise UserError(
            f"{program.name} needs all of its hidden layers to run, so no layer can be changed",
            "give another program with --models",
        )
    template = program.template._replace(head=tuple(sorted(head)))
    step = {number: number for number in head} | trial.joined(head, every - head, whole.same)
    blocks = (block._replace(step=step[block.number]) for block in program.blocks)
    return program._replace(template=template, blocks=tuple(blocks))


class _Trial:
    """Runs of a program with some of its blocks; the same blocks never run twice."""

    def __init__(self, program: Program, runs: Runs) -> None:
        self._calls = program.calls
        self._once = {block.number for block in program.blocks if block.once}
        self._joins = {piece.joins for piece in program.template.pieces if isinstance(piece, Slot) and piece.joins}
        self._runs = runs
        self._known: dict[frozenset[int], RunObservations | None] = {}

    def told(self, numbers: Iterable[int]) -> RunObservations | None:
        """Return the observations from the program with these blocks; None if it does not run."""
        key = frozenset(numbers)
        if key not in self._known:
            self._known[key] = self._runs({number: self._calls[number] for number in sorted(key)})
        return self._known[key]

    def runs(self, numbers: Iterable[int]) -> bool:
        """Return whether the program runs with these blocks."""
        return self.told(numbers) is not None

    def fewest(self, always: set[int], others: Sequence[int]) -> set[int]:
        """Return as few of these blocks as let the program run, which runs with all of them.

        The last block of the shortest prefix that runs is needed; further needed blocks come before it.
        """
        needed, left = set[int](), list(others)
        while left and not self.runs(always | needed):
            enough = self._enough(always | needed, left)
            needed.add(left[enough - 1])
            left = left[: enough - 1]
        return needed

    def _enough(self, always: set[int], others: Sequence[int]) -> int:
        """Return how many of these blocks, from the front, let the program run: doubling, then bisection."""
        least, most = 0, 1
        while most < len(others) and not self.runs({*always, *others[:most]}):
            least, most = most, 2 * most
        most = min(most, len(others))
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (least, middle) if self.runs({*always, *others[:middle]}) else (middle, most)
        return most

    def joined(self, head: set[int], others: set[int], same: Collection[int]) -> dict[int, int]:
        """Return the step of each block: the number of the first block that is inserted with it.

        Args:
            same: blocks that seem to keep the shape.
        """
        inserted, waiting = set(head), sorted(others)
        found: dict[int, int] = {}
        while waiting:
            alone = self._alone(inserted, waiting, same)
            step = alone or [waiting[0], *self.fewest({*inserted, waiting[0]}, waiting[1:])]
            found |= {number: number if alone else waiting[0] for number in step}
            inserted |= set(step)
            waiting = [number for number in waiting if number not in inserted]
        return found

    def _alone(self, inserted: set[int], waiting: list[int], same: Collection[int]) -> list[int]:
        """Return the next blocks, if one execution shows that each runs with the blocks before it; otherwise empty."""
        quiet = list(takewhile(lambda number: number in same, waiting))
        once = self._once_of(inserted, quiet)
        if once and len(once) < len(waiting) and self._is_quiet(inserted, once, [waiting[len(once)]]):
            return waiting[: len(once) + 1]
        while len(quiet) > 1 and not self._is_quiet(inserted, quiet, []):
            quiet = quiet[: len(quiet) // 2]
        return quiet if len(quiet) > 1 else []

    def _once_of(self, inserted: set[int], quiet: Sequence[int]) -> list[int]:
        """Return the first of these blocks that are used in one place and that no join depends on."""
        found: list[int] = []
        for number in quiet:
            there = {*inserted, *found}
            if number not in self._once or any(number in join and there.isdisjoint(join) for join in self._joins):
                break
            found.append(number)
        return found

    def _is_quiet(self, inserted: set[int], quiet: Sequence[int], last: Sequence[int]) -> bool:
        """Return whether blocks change no input of any part of the program, by themselves or together.

        Args:
            last: the block that is inserted behind them. It may change its output, so inputs behind it are not
                compared.
        """
        before, after = self.told(inserted), self.told({*inserted, *quiet, *last})
        if before is None or after is None or any(number not in after.same for number in quiet):
            return False
        if any(number not in before.arrived for number in quiet):
            return False
        places = [*quiet, *last] if last else [*before.arrived, *after.arrived]
        return all(before.alike(after, number) for number in places)
