"""Experiments on one api: a layer made and applied to a tensor, or a function applied, to see whether that works.

A trial that works leads to further ones, which show the api's result, ranks, and axes that bind numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.values import Fill, Invocation, Prim, Seq, Tensor, Then, Value, prim
from fuzz_core.ir.wire import ModeRun
from fuzz_core.modelgen.moco.facts import Facts, Parameter
from fuzz_core.modelgen.moco.knowledge.extraction import plainest_first
from fuzz_core.modelgen.moco.knowledge.seen import SeenCall

FLOAT, INTEGER = "float32", "int64"
# Every size is the same, so that a number agrees with any axis that it is bound to.
SIZE = 4
GENERIC = (
    *((FLOAT, (SIZE,) * rank) for rank in (4, 3, 2)),
    (FLOAT, (SIZE, SIZE, SIZE, 3)),
    (FLOAT, (SIZE,) * 5),
    (INTEGER, (SIZE, SIZE)),
    (FLOAT, (SIZE,)),
    (FLOAT, (SIZE,) * 6),
    (INTEGER, (SIZE,)),
)
PAIRED = (FLOAT, (SIZE, SIZE))
MAX_SEEN, MAX_MADE, MAX_CELLS = 3, 6, 200_000
Run = Callable[[Invocation], ModeRun]
Over = Callable[[], bool]


class Trial(NamedTuple):
    """A call of an api: arguments by name, and the tensors that it is applied to."""

    api: str
    kind: str
    arguments: Mapping[str, Value]
    inputs: tuple[Tensor, ...]
    axes: Mapping[str, int] = {}  # axes of the activation that parameters are bound to, by name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the activation."""
        return self.inputs[0].shape

    @property
    def invocation(self) -> Invocation:
        """As a worker executes it."""
        if self.kind == "function":
            return Invocation(self.api, self.inputs[:1], tuple(self.arguments.items()))
        return Invocation(self.api, (), tuple(self.arguments.items()), Then("__call__", self.inputs))

    def having(self, name: str, value: Value) -> Trial:
        """Return the trial with another value of a parameter, and with that size of the axis that it is bound to."""
        made = self._replace(arguments={**self.arguments, name: value})
        size = value.value if isinstance(value, Prim) and value.type == "int" else None
        if name not in self.axes or not isinstance(size, int) or size < 1:
            return made
        return made.shaped(resized(self.shape, self.axes[name], size))

    def shaped(self, shape: tuple[int, ...]) -> Trial:
        """Return the trial with another shape of the activation, and of all tensors that had the same shape."""
        made = tuple(plain(each.dtype, shape) if each.shape == self.shape else each for each in self.inputs)
        return self._replace(inputs=made)


def resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    """Return a shape with another size of one axis."""
    sizes = list(shape)
    sizes[axis] = size
    return tuple(sizes)


class Late(Exception):  # noqa: N818 - says what happened
    """No time is left for a further trial."""


class TrialBench:
    """Runs trials of one api; keeps those that worked, and the error messages of those that the library refused.

    Attributes:
        over: whether the time is up.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.over: Over = lambda: False
        self.done: dict[Invocation, ModeRun] = {}
        self.worked: list[Trial] = []
        self.messages: dict[str, None] = {}

    def tried(self, trial: Trial) -> ModeRun:
        """Return the result of a trial, which is executed once.

        Raises:
            Late: the deadline has passed.
        """
        call = trial.invocation
        if call not in self.done:
            if self.over():
                raise Late
            told = self.done[call] = self.run(call)
            if told.outcome.kind == "exception":
                self.messages[told.outcome.text] = None
            elif told.outcome.kind == "ok":
                self.worked.append(trial)
        return self.done[call]

    def works(self, trial: Trial) -> bool:
        """Return whether the trial gives a result.

        Raises:
            Late: the deadline has passed.
        """
        return self.tried(trial).outcome.kind == "ok"


def plain(dtype: str, shape: tuple[int, ...]) -> Tensor:
    """Return an activation: numbers in [0, 1); for integers, 0 and 1."""
    return Tensor(dtype, shape, Fill("uniform", 0.0, 1.0 if DTYPES[dtype].kind == "float" else 2.0))


def trials(facts: Facts, seen: Sequence[SeenCall], pool: Mapping[str, Value]) -> Iterator[Trial]:
    """Yield trials that may work, the likeliest first.

    The order is: calls that were seen to work, constructions without a call, calls that the signature allows.

    Args:
        pool: for each name of a parameter, a value that it had in calls of other apis.
    """

    def trial(arguments: Mapping[str, Value], inputs: Iterable[Tensor]) -> Trial:
        return Trial(facts.api, facts.kind, arguments, tuple(inputs))

    applied = [each for each in plainest_first(seen) if each.inputs][:MAX_SEEN]
    for each in applied:
        made = [plain(one.dtype, one.shape) for one in each.inputs]
        for inputs in dict.fromkeys((tuple(made[:1]), tuple(made), original(each))):
            if inputs and inputs[0].size <= MAX_CELLS:
                yield trial(with_constant_tensors(each.arguments), inputs)
                yield trial(each.arguments, inputs)
    made_only = [each.arguments for each in plainest_first(seen) if not each.inputs][:MAX_MADE]
    guessed = list(constructions(facts.parameters[1:] if facts.kind == "function" else facts.parameters, pool))
    # All arguments are tried on the likeliest shape first; a loss needs two tensors of one shape.
    for count, (dtype, shape) in (*((1, each) for each in GENERIC), (2, PAIRED)):
        for arguments in (*(each.arguments for each in applied), *made_only, *guessed):
            yield trial(arguments, [plain(dtype, shape)] * count)


def with_constant_tensors(arguments: Mapping[str, Value]) -> dict[str, Value]:
    """Return arguments whose tensors are constant, because the elements of recorded tensors are long to write."""
    made = dict(arguments)
    for name, each in arguments.items():
        if isinstance(each, Tensor):
            number = 0.5 if DTYPES[each.dtype].kind in ("float", "complex") else 1.0
            made[name] = Tensor(each.dtype, each.shape, Fill("constant", number, number))
    return made


def original(seen: SeenCall) -> tuple[Tensor, ...]:
    """Return the tensors of a recorded call as they were, if the call had no other arguments."""
    call = seen.call
    if call is None or not seen.plain:
        return ()
    given = call.args[:1] if call.then is None else (*call.then.args, *(value for _, value in call.then.kwargs))
    return tuple(value for value in given if isinstance(value, Tensor))


def constructions(parameters: Sequence[Parameter], pool: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """Yield arguments for the required parameters: small values of their type, equal numbers."""

    def filled(number: int, several: bool = False, known: Mapping[str, Value] = {}) -> dict[str, Value]:
        required = (each for each in parameters if each.required)
        return {each.name: known.get(each.name, _small(each, number, several)) for each in required}

    made = [filled(SIZE), filled(2), filled(1), filled(2, several=True), filled(2, known=pool)]
    # Some apis need one of several optional parameters.
    optional = [each for each in parameters if each.default == "None" and each.dtype in ("int", "float", "")]
    made += [{**filled(2), each.name: pool.get(each.name, _small(each, 2))} for each in optional[:MAX_MADE]]
    yield from map(dict, dict.fromkeys(tuple(each.items()) for each in made))


def _small(parameter: Parameter, number: int, several: bool = False) -> Value:
    """Return a small value for a parameter.

    Args:
        several: use a sequence if the parameter may be one; else only if it is never a number.
    """
    if parameter.structure in ("tuple", "list") and (several or parameter.dtype not in ("int", "float")):
        length = parameter.lengths[0] if parameter.lengths else 2
        return Seq(parameter.structure, (prim(number),) * length)
    match parameter.dtype:
        case "float":
            return prim(number / (2 * SIZE))
        case "bool":
            return prim(True)
        case "str":
            return prim(parameter.choices[0] if parameter.choices else "")
    return prim(number)


def pool_of(seen: Iterable[Sequence[SeenCall]]) -> dict[str, Value]:
    """Return the most frequent value of each name of a parameter, scalars and sequences of them alone."""
    counts: defaultdict[str, Counter[Value]] = defaultdict(Counter)
    for each in seen:
        for call in each:
            for name, value in call.arguments.items():
                if isinstance(value, Prim | Seq) and value != Prim("none", None):
                    counts[name][value] += 1
    return {name: values.most_common(1)[0][0] for name, values in counts.items()}


RANKS = range(1, 6)
ADDED = 2
# A growth that keeps what was divisible so, and one that is as small as can be.
GROWTHS: Sequence[Callable[[int], int]] = (lambda number: number + 1, lambda number: 2 * number)


def returned(value: Value | None) -> str:
    """Return `tensor` or `tuple` (several, the first of which is a tensor), else an empty text."""
    if isinstance(value, Tensor):
        return "tensor"
    several = isinstance(value, Seq) and value.kind in ("tuple", "list") and bool(value.items)
    return "tuple" if several and isinstance(value.items[0], Tensor) else ""  # type: ignore[union-attr]


def simplified(bench: TrialBench, trial: Trial, required: Collection[str]) -> Trial:
    """Return the trial with as few tensors and arguments as work, and with numbers in the place of sequences."""
    for count in range(1, len(trial.inputs)):
        fewer = trial._replace(inputs=trial.inputs[:count])
        if bench.works(fewer):
            trial = fewer
            break
    for name in [name for name in trial.arguments if name not in required]:
        without = trial._replace(arguments={key: value for key, value in trial.arguments.items() if key != name})
        trial = without if bench.works(without) else trial
    # A number can be bound to an axis.
    for name, value in trial.arguments.items():
        if isinstance(value, Seq) and value.items and isinstance(value.items[-1], Prim):
            simple = trial.having(name, value.items[-1])
            trial = simple if bench.works(simple) else trial
    return trial


def accepted_ranks(bench: TrialBench, trial: Trial) -> dict[int, tuple[int, ...]]:
    """Return the ranks that its activation may have, each with a shape that works."""
    found = {len(trial.shape): trial.shape}
    for rank in RANKS:
        for shape in _of_rank(trial.shape, rank):
            if rank not in found and bench.works(trial.shaped(shape)):
                found[rank] = shape
    return dict(sorted(found.items()))


def _of_rank(shape: tuple[int, ...], rank: int) -> Iterator[tuple[int, ...]]:
    """Yield the shape with axes added or left out in front, then at the end."""
    more = (ADDED,) * (rank - len(shape))
    if more:
        yield (*more, *shape)
        yield (*shape, *more)
    elif rank < len(shape):
        yield shape[len(shape) - rank :]
        yield shape[:rank]


def bounds_to_axes(
    bench: TrialBench, trial: Trial, parameters: Iterable[Parameter], shapes: Mapping[int, tuple[int, ...]]
) -> dict[str, int]:
    """Return the axis of each number that is bound to one: the api refuses a larger number unless the axis is larger.

    A negative axis is counted from the last.
    """
    found = {}
    for parameter in parameters:
        number = _whole(trial, parameter)
        axis = None if number is None else _axis(bench, trial, parameter.name, number)
        if number is not None and axis is not None:
            found[parameter.name] = _counted(bench, trial, parameter.name, number, axis, shapes)
    return found


def _whole(trial: Trial, parameter: Parameter) -> int | None:
    value = trial.arguments.get(parameter.name)
    if value is None:
        text = parameter.default or ""
        return int(text) if text.isdecimal() and len(text) < 9 else None
    return value.value if isinstance(value, Prim) and value.type == "int" and isinstance(value.value, int) else None


def _axis(bench: TrialBench, trial: Trial, name: str, number: int) -> int | None:
    if number not in trial.shape:
        return None
    for grown in dict.fromkeys(grow(number) for grow in GROWTHS):
        more = trial.having(name, prim(grown))
        if grown <= 0 or bench.works(more):
            return None
        for axis, size in enumerate(trial.shape):
            shape = resized(trial.shape, axis, grown)
            if size == number and bench.works(more.shaped(shape)) and not bench.works(trial.shaped(shape)):
                return axis
    return None


def _counted(
    bench: TrialBench, trial: Trial, name: str, number: int, axis: int, shapes: Mapping[int, tuple[int, ...]]
) -> int:
    """Return the axis from the front, or from the end if trials of different ranks show that."""
    rank = len(trial.shape)
    for shape in (shape for other, shape in shapes.items() if other != rank):
        for counted in (axis, axis - rank):
            inside = -len(shape) <= counted < len(shape) and shape[counted] == number
            for size in (grow(number) for grow in GROWTHS) if inside else ():
                if bench.works(trial.having(name, prim(size)).shaped(resized(shape, counted, size))):
                    return counted
    return axis
