"""Smaller test cases that still reproduce: greedy, deterministic, down to a fixed point of all passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any

from fuzz_core.ir.codec import dumps
from fuzz_core.ir.tree import Path, exchanged, positions, rewritten, tensors_of, walk
from fuzz_core.ir.values import Invocation, Prim, Ref, Tensor, TestCase, Value
from fuzz_core.triage import simpler
from fuzz_core.triage.cost import cost
from fuzz_core.triage.shortening import shortened
from fuzz_core.triage.simpler import Proposals


class Search:
    """The best test case so far; a candidate is executed once at most, and only if it costs less."""

    def __init__(self, test: TestCase, reproduces: Callable[[TestCase], bool], deadline: Callable[[], bool]) -> None:
        self.best = test
        self.cost = cost(test)
        self.reproduces = reproduces
        self.deadline = deadline
        self.tried: set[tuple[str, int]] = set()

    def attempt(self, candidate: TestCase) -> bool:
        """Whether the candidate is the new best one."""
        key = (dumps(candidate.invocation), candidate.seed)
        if key in self.tried or self.deadline():
            return False
        price = cost(candidate)
        if price >= self.cost:
            return False
        self.tried.add(key)
        if not self.reproduces(candidate):
            return False
        self.best, self.cost = candidate, price
        return True

    def attempt_tree(self, tree: Value) -> bool:
        """Like `attempt`, with another invocation in the best test case."""
        return isinstance(tree, Invocation) and self.attempt(self.best._replace(invocation=tree))

    def attempt_at(self, path: Path, value: Value) -> bool:
        """Like `attempt`, with another value at a path of the best one."""
        return self.attempt_tree(exchanged(self.best.invocation, path, value))


Pass = Callable[[Search], None]


def minimise(test: TestCase, reproduces: Callable[[TestCase], bool], deadline: Callable[[], bool]) -> TestCase:
    """The simplest test case that greedy passes reach; it reproduces if `test` does, and never costs more.

    `reproduces` executes a candidate; `deadline` says when to stop with the best so far. Of a program, statements go;
    all of it goes where the call that it is about suffices.
    """
    if test.program:
        alone = test._replace(program="")
        return minimise(alone, reproduces, deadline) if reproduces(alone) else shortened(test, reproduces, deadline)
    search = Search(test, reproduces, deadline)
    before: tuple[Any, ...] = ()
    while before != search.cost and not deadline():
        before = search.cost
        for run in PASSES:
            run(search)
    return search.best


def at_each(simplify: Callable[[Value], Proposals]) -> Pass:
    """A pass that offers simpler values at every place, again and again where one is accepted."""

    def run(search: Search) -> None:
        index = 0
        while index < len(places := list(positions(search.best.invocation))):
            path, value = places[index]
            if not _drive(simplify(value), partial(search.attempt_at, path)):
                index += 1

    return run


def _drive(proposals: Generator[Value, bool, object], accept: Callable[[Value], bool]) -> bool:
    """Feeds a generator with what became of its candidates; whether any was accepted."""
    progress = False
    candidate = next(proposals, None)
    while candidate is not None:
        accepted = accept(candidate)
        progress = progress or accepted
        try:
            candidate = proposals.send(accepted)
        except StopIteration:
            break
    return progress


def shrink_equal_sizes(search: Search) -> None:
    """Dimensions and integers that are equal shrink together: channels of a tensor and of its layer, two operands."""
    done: set[int] = set()
    while sizes := [n for n in _sizes(search.best.invocation) if n not in done]:
        done.add(sizes[0])
        _shrink_size(search, sizes[0])


def _sizes(tree: Value) -> list[int]:
    """Positive numbers that occur twice among dimensions and integers, the largest first."""
    found: Counter[int] = Counter()
    for value in walk(tree):
        if isinstance(value, Tensor):
            found.update(value.shape)
        elif isinstance(value, Prim) and type(value.value) is int:
            found.update([value.value])
    return sorted((n for n, times in found.items() if n > 0 and times > 1), reverse=True)


def _shrink_size(search: Search, size: int, change: Callable[[Value, int, int], Value] | None = None) -> None:
    """Everything of one size becomes 1, 0 or as small as can be; `change` says what is of that size."""
    start = search.best.invocation

    def make(number: int) -> Value:
        return rewritten(start, lambda value: (change or _with_size)(value, size, number))

    if any(search.attempt_tree(make(simple)) for simple in (1, 0) if simple < size):
        return
    _drive(simpler.lowered(size, make), search.attempt_tree)


def _with_size(value: Value, size: int, number: int) -> Value:
    if isinstance(value, Tensor) and size in value.shape:
        return simpler.resized(value, tuple(number if n == size else n for n in value.shape))
    if isinstance(value, Prim) and type(value.value) is int and value.value == size:
        return Prim("int", number)
    return value


def shrink_equal_axes(search: Search) -> None:
    """The same axis of all tensors of one rank shrinks together where it is equally long: a batch, its channels."""
    for rank, axis, size in _axes(search.best.invocation):

        def change(value: Value, old: int, new: int, rank: int = rank, axis: int = axis) -> Value:
            if not isinstance(value, Tensor) or len(value.shape) != rank or value.shape[axis] != old:
                return value
            return simpler.resized(value, (*value.shape[:axis], new, *value.shape[axis + 1 :]))

        _shrink_size(search, size, change)


def _axes(tree: Value) -> list[tuple[int, int, int]]:
    """(rank, axis, size) that several tensors share, the largest sizes first."""
    found = Counter(
        (len(t.shape), axis, size) for t in tensors_of(tree) for axis, size in enumerate(t.shape) if size > 1
    )
    return sorted((key for key, times in found.items() if times > 1), key=lambda key: (-key[2], key))


def drop_equal_dimensions(search: Search) -> None:
    """Tensors of equal shape lose the same dimension together."""
    shapes = {tensor.shape for tensor in tensors_of(search.best.invocation)}
    for shape in sorted(shapes):
        for axis in range(len(shape)):

            def drop(value: Value, shape: tuple[int, ...] = shape, axis: int = axis) -> Value:
                equal = isinstance(value, Tensor) and value.shape == shape
                return simpler.without_axis(value, axis) if equal and isinstance(value, Tensor) else value

            if search.attempt_tree(rewritten(search.best.invocation, drop)):
                return drop_equal_dimensions(search)
    return None


def cast_equal_dtypes(search: Search) -> None:
    """Tensors and dtype arguments of one dtype change it together."""
    for old in sorted(_dtypes(search.best.invocation)):
        for new in simpler.simpler_dtypes(old):

            def convert(value: Value, old: str = old, new: str = new) -> Value:
                if isinstance(value, Tensor) and value.dtype == old:
                    return simpler.cast(value, new)
                return Ref("dtype", new) if value == Ref("dtype", old) else value

            if search.attempt_tree(rewritten(search.best.invocation, convert)):
                break


def _dtypes(tree: Value) -> Iterable[str]:
    return {tensor.dtype for tensor in tensors_of(tree)}


def zero_seed(search: Search) -> None:
    """Random streams that begin at 0."""
    search.attempt(search.best._replace(seed=0))


PASSES: tuple[Pass, ...] = (
    at_each(simpler.drop_then),
    at_each(simpler.drop_keywords),
    at_each(simpler.drop_trailing_arguments),
    at_each(simpler.replace_objects),
    at_each(simpler.shorten_sequences),
    drop_equal_dimensions,
    shrink_equal_sizes,
    shrink_equal_axes,
    at_each(simpler.shrink_tensors),
    at_each(simpler.simplify_scalars),
    cast_equal_dtypes,
    at_each(simpler.default_dtypes),
    at_each(simpler.plain_layout),
    at_each(simpler.simplify_fills),
    zero_seed,
)
