"""Evidence of a difference: the results, and more executions of the test case on demand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import DOUBLE, GAPS, NUDGED, REDZONE
from fuzz_core.adapters.modes import Mode
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.worker.observers import GARBAGE, garbage

NUMERICAL = "grad-numerical"
REPEATS = 3
# Repetitions for results of few elements: three tosses of a coin are equal in one case of four.
REPEATS_OF_FEW, FEW = 16, 8
# The distance of the seeds of repetitions. Modes choose layouts by the lowest bits of a seed, which must stay.
SEED_STEP = 1 << 16

# Relations of modes, see `adapters.dialect.ModeSpec`.
SHAPE = "shape"
METADATA = ("metadata", SHAPE, "strides")
VALUES = ("values", "behaviour")
GRADIENT = "gradient"
FINITE = "finite"
MEMORY = "memory"
MODES = (*METADATA, *VALUES, GRADIENT, FINITE)
# The relation of two modes of which one refuses a call and one accepts it.
REFUSAL = "refusal"
# Relations of two builds of a library that differ: in numbers, in the time of the call, or in another way.
BUILD_VALUES, BUILD_SPEED, BUILD_OTHER = BUILDS = ("build values", "build speed", "build other")


class Evidence(Protocol):
    """The facts that the checks know about every difference.

    `relation` says which excuses apply.
    """

    relation: str
    case: TestCase

    @property
    def is_random(self) -> bool:
        """Whether a mode behaves differently when the test case is executed again."""


class Executor(Protocol):
    """The parts of the execution that the evidence needs."""

    adapter: Adapter

    def mode(self, name: str) -> Mode:
        """Return the mode of a name."""

    def run(self, test: TestCase, mode: str) -> tuple[Outcome, Any]:
        """Return outcome and live result of one execution."""

    def reads_out_of_bounds(self, test: TestCase) -> bool:
        """Return whether the mode REDZONE differs, and no excuse applies."""


class Difference:
    """Evidence of two modes whose results differ.

    Executions that several checks ask for are done once.
    """

    def __init__(self, executor: Executor, case: TestCase, mode: str, reference: Any, result: Any) -> None:
        self.executor = executor
        self.adapter = executor.adapter
        self.case = case
        self.mode = mode
        self.way = executor.mode(mode).spec
        self.relation = self.way.relation
        self.reference = reference
        self.result = result

    @cached_property
    def is_random(self) -> bool:
        """See `Evidence`.

        Repetitions have other random streams, other garbage in memory, and other addresses on a device.
        """
        relation = self.relation if self.relation in METADATA else "values"
        results = {self.way.against: self.reference, self.mode: self.result}
        sizes = [array.size for array in self.adapter.comparer.arrays(self.reference) if array is not None]
        repeats = REPEATS if self.way.dear or sum(sizes) > FEW else REPEATS_OF_FEW
        held = []
        for seed, (name, result) in itertools.product(range(repeats), results.items()):
            held.append(self.executor.mode(name).hold())
            with garbage(GARBAGE[seed % len(GARBAGE)]):
                outcome, again = self.executor.run(self.case._replace(seed=self.case.seed + seed * SEED_STEP), name)
            if outcome.kind != "ok" or self.adapter.differences(result, again, relation):
                return True
        return False

    @cached_property
    def reads_out_of_bounds(self) -> bool:
        """Whether memory beside the arguments changes the result of the call."""
        return REDZONE in self.adapter.ways and self.executor.reads_out_of_bounds(self.case)

    def reads_gaps(self, case: TestCase) -> bool:
        """Return whether memory behind the rows of an argument changes the result of a call."""
        if not all(mode in self.adapter.ways and self.executor.mode(mode).applies(case) for mode in GAPS):
            return False
        results = [self.run(case, mode) for mode in GAPS]
        first, second = results
        return bool(first and second and self.adapter.differences(first[0], second[0], MEMORY))

    @cached_property
    def draws(self) -> bool:
        """Whether the call draws random numbers, even if its result does not depend on them."""
        self.adapter.reset(self.case.seed)
        before = self.adapter.drawn()
        self.executor.run(self.case, self.plain)
        return self.adapter.drawn() != before

    @property
    def plain(self) -> str:
        """The mode that executes the call as it is."""
        return self.adapter.device_modes()[0]

    @property
    def is_whole(self) -> bool:
        """Whether the result contains integers."""
        return self.adapter.has_whole_numbers(self.reference)

    @property
    def is_single(self) -> bool:
        """Whether the result is of single precision or less."""
        return self.adapter.single(self.reference)

    def agree(self, case: TestCase) -> bool | None:
        """Return whether both modes return the same for another test case; None if a mode does not return."""
        first, second = self.run(case, self.way.against), self.run(case, self.mode)
        if first is None or second is None:
            return None
        return not self.adapter.differences(first[0], second[0], self.relation)

    def run(self, case: TestCase, mode: str) -> tuple[Any] | None:
        """Return the result of a mode; None if it does not return."""
        outcome, result = self.executor.run(case, mode)
        return (result,) if outcome.kind == "ok" else None

    @cached_property
    def has_reference(self) -> bool:
        """Whether the library has a mode of higher precision."""
        return DOUBLE in self.adapter.ways

    @property
    def is_widened(self) -> bool:
        """Whether the precise result exists, and is that of a call in higher precision."""
        return self.has_reference and self.executor.mode(DOUBLE).applies(self.case) and self.precise is not None

    @cached_property
    def precise(self) -> tuple[Any] | None:
        """The result in higher precision; the plain result if the mode does not apply."""
        if self.executor.mode(DOUBLE).applies(self.case):
            return self.run(self.case, DOUBLE)
        return (self.reference,)

    @cached_property
    def errors(self) -> tuple[float, float]:
        """The errors of the mode and of the reference mode, by the precise result."""
        assert self.precise is not None
        far, near = (self.adapter.error(self.precise[0], result) for result in (self.result, self.reference))
        return far, near

    def nudged(self) -> Iterator[tuple[Any] | None]:
        """Return the results of double precision for a few roundings of the input, in both directions."""
        return (self.run(self.case, mode) for mode in NUDGED if mode in self.adapter.ways)

    @cached_property
    def has_quotients(self) -> bool:
        """Whether the library has difference quotients, which say which of two derivatives is wrong."""
        return NUMERICAL in self.adapter.ways

    @property
    def is_numerical(self) -> bool:
        """Whether the mode itself is the difference quotients."""
        return self.mode == NUMERICAL

    @property
    def derivative_mode(self) -> str:
        """The mode that difference quotients are compared with: the first derivative."""
        return self.executor.mode(NUMERICAL).spec.against

    @cached_property
    def quotient(self) -> tuple[Any] | None:
        """The difference quotient, which exists only if the function is smooth at the input."""
        return self.run(self.case, NUMERICAL)

    @cached_property
    def derivative(self) -> tuple[Any] | None:
        """The first derivative."""
        return self.run(self.case, self.derivative_mode)


class Refusal:
    """Evidence of two modes, one of which refuses a call that the second one accepts; outcomes by mode."""

    relation = REFUSAL

    def __init__(self, executor: Executor, case: TestCase, outcomes: Mapping[str, Outcome]) -> None:
        self.executor = executor
        self.case = case
        self.outcomes = outcomes
        self.accepting = next(mode for mode, outcome in outcomes.items() if outcome.kind == "ok")
        self.refusing = next(mode for mode in outcomes if mode != self.accepting)

    @property
    def is_random(self) -> bool:
        """See `Evidence`."""
        return self.repetition == "random"

    @cached_property
    def repetition(self) -> str:
        """Return what repetitions show: `random`, `empty` (a mode computes no element or number) or empty text."""
        for seed, (mode, outcome) in itertools.product(range(1, REPEATS), self.outcomes.items()):
            again, result = self.executor.run(self.case._replace(seed=self.case.seed + seed * SEED_STEP), mode)
            if again.kind != outcome.kind or (again.kind == "exception" and again.name != outcome.name):
                return "random"
            if again.kind == "ok" and not _is_computed(result):
                return "empty"
        return ""


def _is_computed(result: Any) -> bool:
    """Return whether there are elements or numbers in a result."""
    if isinstance(result, dict | list | tuple):
        return any(map(_is_computed, result.values() if isinstance(result, dict) else result))
    return hasattr(result, "dtype") or isinstance(result, bool | int | float | complex | str)
