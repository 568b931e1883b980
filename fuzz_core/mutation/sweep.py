"""The sweep of singles: every argument of an api takes every boundary class of its type once, one at a time.

A boundary class is one choice of a rule that is marked `boundary`. So the sweep and the random mutants share one set of
classes: a random mutant draws the choices of a rule, and the sweep takes them in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.ir.tree import Path, argument_names, children, exchanged, fuzz_type
from fuzz_core.ir.values import Invocation, Map, Seq, Tensor, TestCase, Value
from fuzz_core.mutation.contract import Context, Mutator
from fuzz_core.mutation.registry import RuleBook, identity
from fuzz_core.mutation.space import ArgumentSpace

# The number of the whole call among the paths of its arguments.
WHOLE = ""
# Of draws with more options, ranges take their ends, and places take the first.
MAX_OPTIONS = 20
# A draw of more options counts as wide; a class has at most one wide draw that does not take the first option.
NARROW = 2
MAX_DRAWS = 12
# Items at each end of a sequence, and objects inside objects, that have cells of their own.
ENDS = 4
MAX_DEPTH = 3
T = TypeVar("T")


class Cell(NamedTuple):
    """A boundary class of one argument of an api, with the call that it is tried on.

    Attributes:
        argument: name of the argument, with its place in a compound value: `size[1]`; empty for the whole call.
        name: name of the class: the rule and its choices.
        origin: id of the traced invocation.
    """

    argument: str
    name: str
    rule: str
    origin: int
    invocation: Invocation
    path: Path
    value: Value

    @property
    def test(self) -> TestCase:
        """The test case of the cell; its random streams depend on the cell alone."""
        made = exchanged(self.invocation, self.path, self.value)
        return TestCase(made, derive(made.api, self.argument, self.name), self.origin, (self.rule,))


class _TooLongError(Exception):
    """A rule has drawn more often than any class needs."""


class Script(Rng):
    """A random stream that takes given options: the places of `script`, then the first option of each draw.

    Attributes:
        sizes: the number of options of each draw so far.
        words: the options that were taken, as text; without draws of two options.
    """

    __slots__ = ("script", "sizes", "words")

    def __init__(self, script: Sequence[int]) -> None:
        self.random = self._number
        self.script = script
        self.sizes: list[int] = []
        self.words: list[str] = []

    def _take(self, options: Sequence[T]) -> T:
        place = len(self.sizes)
        if place >= MAX_DRAWS:
            raise _TooLongError
        self.sizes.append(len(options))
        taken = self.script[place] if place < len(self.script) else 0
        if len(options) > 1 and not isinstance(options[taken], bool):
            self.words.append(str(options[taken]) if isinstance(options[taken], int | float | str) else str(taken))
        return options[taken]

    def _number(self) -> float:
        return self._take((0.0, 0.5, 1.0 - 2.0**-53))

    def below(self, limit: int) -> int:
        """See `Rng`."""
        return self._take(range(limit if limit <= MAX_OPTIONS else 1))

    def between(self, low: int, high: int) -> int:
        """See `Rng`."""
        return self._take(range(low, high + 1) if high - low < MAX_OPTIONS else (low, high))

    def uniform(self, low: float, high: float) -> float:
        """See `Rng`."""
        return self._take((low, high))

    def chance(self, probability: float) -> bool:
        """See `Rng`."""
        return self._take((True, False))

    def choice(self, items: Sequence[T]) -> T:
        """See `Rng`."""
        return self._take(items)


def boundary_classes(rule: Mutator, value: Value, book: RuleBook, call: Invocation) -> Iterator[tuple[str, Value]]:
    """Yield the name and the value of each boundary class that a rule has for a value in a call."""
    waiting: list[tuple[int, ...]] = [()]
    names: Counter[str] = Counter()
    while waiting:
        script = waiting.pop(0)
        rng = Script(script)
        try:
            made = rule.mutate(value, Context(rng, call.api, "", _NO_SPACE, book, call))
        except (_TooLongError, IndexError):
            made = None
        wide = any(taken and rng.sizes[place] > NARROW for place, taken in enumerate(script))
        for place in range(len(script), len(rng.sizes)):
            if rng.sizes[place] <= NARROW or not wide:
                zeros = (0,) * (place - len(script))
                waiting.extend((*script, *zeros, option) for option in range(1, rng.sizes[place]))
        name = " ".join((rule.name, *rng.words))
        names[name] += 1
        if made is not None:
            yield name if names[name] == 1 else f"{name} #{names[name]}", made


_NO_SPACE = ArgumentSpace({}, (), {}, {})


class Sweep:
    """Makes the cells of an api from its traced invocations.

    Args:
        book: the rules, of which the sweep takes those with boundary classes.
    """

    def __init__(self, book: RuleBook) -> None:
        self._book = book

    def cells(self, calls: Iterable[tuple[int, Invocation]]) -> list[Cell]:
        """Return the cells of an api: each boundary class of each argument once, on the first call that has it.

        Args:
            calls: ids and invocations of one api, in the order of preference.
        """
        found: dict[tuple[str, str], Cell] = {}
        seen: set[tuple[str, str]] = set()
        for origin, invocation in calls:
            for argument, path, value in self._arguments(invocation, WHOLE, (), 0):
                kind = _family(value)
                if (argument, kind) not in seen:
                    seen.add((argument, kind))
                    for cell in self._of(argument, path, value, origin, invocation):
                        found.setdefault((cell.argument, cell.name), cell)
        return list(found.values())

    def _of(self, argument: str, path: Path, value: Value, origin: int, invocation: Invocation) -> Iterator[Cell]:
        seen = {identity(value)}
        for rule in self._book.boundaries:
            if (rule.domain.scope == "call") == bool(path) or not rule.domain.applies(value):
                continue
            for name, made in boundary_classes(rule, value, self._book, invocation):
                key = identity(made)
                if key not in seen:
                    seen.add(key)
                    yield Cell(argument, name, rule.name, origin, invocation, path, made)

    def _arguments(self, value: Value, name: str, path: Path, depth: int) -> Iterator[tuple[str, Path, Value]]:
        """Yield name, path and value of the call, of its arguments, and of the values inside them."""
        yield name, path, value
        parts = children(value)
        names: Sequence[str] = ()
        if isinstance(value, Invocation) and depth < MAX_DEPTH:
            names = [f"{name}.{each}" if name else each for each in argument_names(value, self._book.params)]
        elif isinstance(value, Map):
            names = [f"{name}[{key}]" for key, _ in value.entries]
        elif isinstance(value, Seq):
            names = [f"{name}[{place}]" for place in range(len(parts))]
        for place, each in enumerate(names):
            if not isinstance(value, Seq) or place < ENDS or place >= len(parts) - ENDS:
                yield from self._arguments(parts[place], each, (*path, place), depth + isinstance(value, Invocation))


def _family(value: Value) -> str:
    """Return the FuzzType; for tensors the rank and the kind of dtype, which have all but a few classes in common."""
    return f"{len(value.shape)} {DTYPES[value.dtype].kind}" if isinstance(value, Tensor) else fuzz_type(value)
