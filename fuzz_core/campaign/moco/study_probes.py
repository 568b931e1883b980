"""Probes that learn an api by experiment from a trial that works: its result, ranks, and axes that bind numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fuzz_core.campaign.moco.study_trials import Trial, TrialBench, resized
from fuzz_core.ir.values import Prim, Seq, Tensor, Value, prim
from fuzz_core.modelgen.moco.facts import Parameter

RANKS = range(1, 6)
ADDED = 2
# A growth that keeps what was divisible so, and one that is as small as can be.
GROWTHS: Sequence[Callable[[int], int]] = (lambda number: number + 1, lambda number: 2 * number)


class Bound(NamedTuple):
    """A number that has to be the size of an axis; a negative axis is counted from the last."""

    parameter: str
    axis: int


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
    return scalar(bench, trial)


def scalar(bench: TrialBench, trial: Trial) -> Trial:
    """Return the trial with a number in place of each sequence, if that works: a number can be bound to an axis."""
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
) -> Iterator[Bound]:
    """Yield numbers that are bound to an axis: the api refuses a larger number, but takes it with a larger axis."""
    for parameter in parameters:
        number = _whole(trial, parameter)
        axis = None if number is None else _axis(bench, trial, parameter.name, number)
        if number is not None and axis is not None:
            yield Bound(parameter.name, _counted(bench, trial, parameter.name, number, axis, shapes))


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
            if inside and any(_grows(bench, trial, name, shape, counted, grow(number)) for grow in GROWTHS):
                return counted
    return axis


def _grows(bench: TrialBench, trial: Trial, name: str, shape: tuple[int, ...], axis: int, size: int) -> bool:
    return bench.works(trial.having(name, prim(size)).shaped(resized(shape, axis, size)))
