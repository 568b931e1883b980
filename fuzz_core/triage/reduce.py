"""Smaller test cases that still reproduce: greedy, deterministic, down to a fixed point of all passes.

A pass proposes candidates that are simpler in one respect. A candidate is executed only if the total order of `cost.py`
puts it before the best test case, and never twice. A candidate that shows the bug becomes the best test case. So the
cost falls with every accepted candidate, and the search ends. The order of the passes follows the order of the cost:
first fewer values, then smaller sizes, then plainer contents. An early pass so saves the later passes work on values
that are dropped anyway. All passes run again until a whole round accepts no candidate, because a plain value may allow
a smaller size. The same test case and the same answers give the same result.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from fuzz_core.ir.codec import dumps
from fuzz_core.ir.tree import Path, exchanged, positions, rewritten, tensors_of, walk, with_tensors
from fuzz_core.ir.values import Invocation, Prim, Ref, Tensor, TestCase, Value
from fuzz_core.triage import simplify
from fuzz_core.triage.cost import cost
from fuzz_core.triage.script import parsed
from fuzz_core.triage.simplify import Simplifier

_IMPORTS = ast.Import | ast.ImportFrom


class Reducer:
    """The best test case so far; a candidate is executed once at most, and only if it costs less."""

    def __init__(self, test: TestCase, reproduces: Callable[[TestCase], bool], deadline: Callable[[], bool]) -> None:
        self.best = test
        self.cost = cost(test)
        self.reproduces = reproduces
        self.deadline = deadline
        self.tried: set[tuple[str, int]] = set()

    def attempt(self, candidate: TestCase) -> bool:
        """Return whether the candidate is the new best one."""
        key = (dumps(candidate.invocation), candidate.seed)
        if key in self.tried or self.deadline() or (price := cost(candidate)) >= self.cost:
            return False
        self.tried.add(key)
        if reproduced := self.reproduces(candidate):
            self.best, self.cost = candidate, price
        return reproduced

    def attempt_tree(self, tree: Value) -> bool:
        """Like `attempt`, with another invocation in the best test case."""
        return isinstance(tree, Invocation) and self.attempt(self.best._replace(invocation=tree))

    def attempt_at(self, path: Path, value: Value) -> bool:
        """Like `attempt`, with another value at a path of the best one."""
        return self.attempt_tree(exchanged(self.best.invocation, path, value))


Pass = Callable[[Reducer], None]


def minimise(test: TestCase, reproduces: Callable[[TestCase], bool], deadline: Callable[[], bool]) -> TestCase:
    """Return the simplest test case that greedy passes reach.

    It reproduces if `test` does, and never costs more.

    A program loses statements. If the call that the program is about suffices, the whole program goes.

    Args:
        reproduces: executes a candidate and returns whether it shows the bug.
        deadline: returns whether to stop with the best test case so far.
    """
    if test.program:
        alone = test._replace(program="")
        return minimise(alone, reproduces, deadline) if reproduces(alone) else shortened(test, reproduces, deadline)
    search = Reducer(test, reproduces, deadline)
    before: tuple[Any, ...] = ()
    while before != search.cost and not deadline():
        before = search.cost
        for run in PASSES:
            run(search)
    return search.best


def at_each(simplify: Simplifier) -> Pass:
    """Return a pass that offers simpler values at every place, again and again while one is accepted."""

    def run(search: Reducer) -> None:
        index = 0
        while index < len(places := list(positions(search.best.invocation))):
            path, value = places[index]
            if not _drive(simplify(value), partial(search.attempt_at, path)):
                index += 1

    return run


def _drive(proposals: Generator[Value, bool, object], accept: Callable[[Value], bool]) -> bool:
    """Feed a generator with the results of its candidates; return whether any was accepted."""
    progress, accepted = False, None
    with suppress(StopIteration):
        while True:
            accepted = accept(proposals.send(accepted))  # type: ignore[arg-type] # None starts it
            progress |= accepted
    return progress


def shrink_equal_sizes(search: Reducer) -> None:
    """Shrink dimensions and integers that are equal together: channels of a tensor and of its layer, two operands."""
    done: set[int] = set()
    while sizes := [n for n in _sizes(search.best.invocation) if n not in done]:
        done.add(sizes[0])
        _shrink_together(search, sizes[0], partial(_with_size, sizes[0]))


def _sizes(tree: Value) -> list[int]:
    """Return positive numbers that occur twice among dimensions and integers, the largest first."""
    found: Counter[int] = Counter()
    for value in walk(tree):
        if isinstance(value, Tensor):
            found.update(value.shape)
        elif isinstance(value, Prim) and type(value.value) is int:
            found.update([value.value])
    return sorted((n for n, times in found.items() if n > 0 and times > 1), reverse=True)


def _shrink_together(search: Reducer, size: int, change: Callable[[Value, int], Value]) -> None:
    """Shrink all dimensions and integers of one size to 1, 0 or the least that works; `change` sets another size."""
    start = search.best.invocation

    def make(number: int) -> Value:
        return rewritten(start, lambda value: change(value, number))

    if not any(search.attempt_tree(make(simple)) for simple in (1, 0) if simple < size):
        _drive(simplify.lowered(size, make), search.attempt_tree)


def _with_size(size: int, value: Value, number: int) -> Value:
    if isinstance(value, Tensor) and size in value.shape:
        return simplify.resized(value, tuple(number if n == size else n for n in value.shape))
    return Prim("int", number) if value == Prim("int", size) else value


def shrink_equal_axes(search: Reducer) -> None:
    """Shrink the same axis of all tensors of one rank together if it is equally long: a batch, its channels."""
    shapes = [tensor.shape for tensor in tensors_of(search.best.invocation)]
    found = Counter((size, -len(shape), -axis) for shape in shapes for axis, size in enumerate(shape) if size > 1)
    for size, rank, axis in sorted((key for key, times in found.items() if times > 1), reverse=True):
        _shrink_together(search, size, partial(_with_axis, -rank, -axis, size))


def _with_axis(rank: int, axis: int, size: int, value: Value, number: int) -> Value:
    if isinstance(value, Tensor) and len(value.shape) == rank and value.shape[axis] == size:
        return simplify.along(value, axis, number)
    return value


def drop_equal_dimensions(search: Reducer) -> None:
    """Remove the same dimension from all tensors of equal shape together."""
    tree = search.best.invocation

    def without(shape: tuple[int, ...], axis: int) -> Value:
        return with_tensors(tree, lambda each: simplify.without_axis(each, axis) if each.shape == shape else each)

    shapes = sorted({tensor.shape for tensor in tensors_of(tree)})
    if any(search.attempt_tree(without(shape, axis)) for shape in shapes for axis in range(len(shape))):
        drop_equal_dimensions(search)


def cast_equal_dtypes(search: Reducer) -> None:
    """Change the dtype of all tensors and dtype arguments of one dtype together."""
    for old in sorted({tensor.dtype for tensor in tensors_of(search.best.invocation)}):
        for new in simplify.simpler_dtypes(old):

            def convert(value: Value, old: str = old, new: str = new) -> Value:
                if isinstance(value, Tensor) and value.dtype == old:
                    return simplify.cast(value, new)
                return Ref("dtype", new) if value == Ref("dtype", old) else value

            if search.attempt_tree(rewritten(search.best.invocation, convert)):
                break


def zero_seed(search: Reducer) -> None:
    """Set the seed of the random streams to 0."""
    search.attempt(search.best._replace(seed=0))


PASSES: tuple[Pass, ...] = (
    *map(at_each, simplify.FEWER),
    drop_equal_dimensions,
    shrink_equal_sizes,
    shrink_equal_axes,
    *map(at_each, simplify.SMALLER),
    cast_equal_dtypes,
    *map(at_each, simplify.PLAINER),
    zero_seed,
)


def shortened(test: TestCase, reproduces: Callable[[TestCase], bool], deadline: Callable[[], bool]) -> TestCase:
    """Return the test case with a program from which no single statement can be removed; its further text is unchanged.

    A program that names the api of the bug keeps that name: a failure without the api is another bug.

    Args:
        reproduces: executes a candidate and returns whether it shows the bug.
        deadline: returns whether to stop with the best test case so far.
    """
    best, tried = test, {test.program}
    about = test.invocation.api.rpartition(".")[2]
    named = about in _mentioned(test.program)
    while True:
        for program in _shorter(best.program):
            if deadline():
                return best
            new = program not in tried and (not named or about in _mentioned(program))
            tried.add(program)
            if new and reproduces(best._replace(program=program)):
                best = best._replace(program=program)
                break
        else:
            return best


def _mentioned(program: str) -> set[str]:
    """Return the names and attributes in a program."""
    return {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(parsed(program))}


def _shorter(program: str) -> Iterator[str]:
    """Yield the part that the program's end depends on, then the program without each of its statements in turn.

    Statements of most lines come first; of equal ones, the last. A body that would be empty gets `pass`.
    """
    tree = parsed(program)
    yield sliced(program).lstrip("\n")
    lines = program.splitlines(keepends=True)
    bodies = [getattr(node, name, None) for node in ast.walk(tree) for name in ("body", "orelse", "finalbody")]
    every = [
        (_lines(statement), statement, len(body) == 1 and body is not tree.body)
        for body in bodies
        if isinstance(body, list)
        for statement in body
    ]
    for place, statement, alone in sorted(every, key=lambda each: (-len(each[0]), -each[0].start)):
        instead = [" " * statement.col_offset + "pass\n"] if alone else []
        if not (alone and isinstance(statement, ast.Pass)):
            yield "".join([*lines[: place.start - 1], *instead, *lines[place.stop - 1 :]]).lstrip("\n")


def slice_of(program: str) -> tuple[str, ...]:
    """Return the statements that the last one depends on, itself among them, in order and without their layout.

    The result is the static backward slice (Weiser 1981, Program slicing) of the top level, by names alone. A statement
    that uses an object counts as a change of the object, unless it binds the result to a name. No statement counts as a
    change of a module. The result is () if the text is no program.
    """
    return tuple(ast.unparse(each) for each in _needed(parsed(program).body))


def sliced(program: str) -> str:
    """Return the program without the statements that its last one does not need; import and layout stay."""
    statements = parsed(program).body
    needed = [*_needed(statements), *(each for each in statements if isinstance(each, _IMPORTS))]
    kept, every = ({line for each in some for line in _lines(each)} for some in (needed, statements))
    lines = enumerate(program.splitlines(keepends=True), 1)
    return "".join(line for number, line in lines if number in kept or number not in every)


def _lines(statement: ast.stmt) -> range:
    """Return the lines of a statement, decorators and all, counted from 1."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return range(first, (statement.end_lineno or 0) + 1)


def _needed(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    modules = {
        alias.asname or alias.name.partition(".")[0]
        for each in statements
        if isinstance(each, _IMPORTS)
        for alias in each.names
    }
    needed: set[str] = set()
    kept: list[ast.stmt] = []
    for statement in reversed(statements):
        bound = _bound(statement)
        if kept and not needed & (bound or _names(statement)):
            continue
        kept.append(statement)
        needed = ((needed - bound) | _names(statement, ast.Load)) - modules
    return kept[::-1]


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds; an empty set if it also changes an object that it names."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    places = [each for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
    names = [each.id for each in places if isinstance(each, ast.Name)]
    return set(names) if len(names) == len(places) else set()


def _names(statement: ast.stmt, how: type[ast.expr_context] = ast.expr_context) -> set[str]:
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, how)}
