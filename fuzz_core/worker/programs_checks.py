"""Checks of a program: the numbers in results of its layers, and its model compiled after it has run well."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isfinite
from typing import Any

import numpy as np

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.models import Models
from fuzz_core.worker.programs_ran import TEXT, CompiledUse
from fuzz_core.worker.programs_watch import Used, kind_of

HALF = ("float16", "bfloat16")
# A few roundings of a number in single precision.
NUDGES = (1 + 2**-21, 1 - 2**-21)


def compiled_use(adapter: Adapter, models: Models, last: Used | None) -> CompiledUse | None:
    """Return the last use of a model, compiled; None without a use, or if its results vary."""
    compiled = None if last is None else models.compiled(last.model)
    if last is None or compiled is None:
        return None
    try:
        first, again = (_used(last) for _ in range(2))
        if adapter.differences(first, again) or not models.promised(again):
            return None
    except Exception:  # noqa: BLE001 - what cannot be used once more, such as parts of a graph, cannot be compared
        return None
    try:
        other = compiled(*last.args, **last.kwargs)
        if not models.promised(other):
            return None
    except Exception as error:  # noqa: BLE001 - what a compiler raises is what is asked for
        return CompiledUse(0.0, f"{type(error).__name__}: {error}"[:TEXT])
    apart = adapter.error(again, other)
    return CompiledUse(apart, "", _moved(adapter, last, again) if apart > 1.0 else 0.0)


def _used(last: Used, factor: float = 1.0) -> Any:
    return last.model(*(_scaled(each, factor) for each in last.args), **last.kwargs)


def _scaled(value: Any, factor: float) -> Any:
    kind = kind_of(value)
    return value * factor if factor != 1.0 and kind is not None and "float" in kind.dtype else value


def _moved(adapter: Adapter, last: Used, again: Any) -> float:
    """Return how far the result moves with the input, or by itself; infinite if the model takes no other input."""
    try:
        return max(adapter.error(again, _used(last, factor)) for factor in (1.0, *NUDGES))
    except Exception:  # noqa: BLE001 - a model that takes its input alone tells nothing of others
        return inf


class Scales:
    """The largest numbers in results of layers: the least and the greatest of them, except 0.

    Attributes:
        half: whether a result is in half precision.
        burst: whether the first result that is not finite came from a known layer with finite input and weights.
    """

    def __init__(self, models: Models) -> None:
        self.models = models
        self.least, self.most = inf, 0.0
        self.half = self.burst = False

    def __call__(self, layer: Any, args: Any, value: Any) -> None:
        """Weigh a result."""
        for tensor in _tensors(value):
            kind, largest = kind_of(tensor), _largest(tensor)
            self.half = self.half or (kind is not None and kind.dtype in HALF)
            if largest == inf > self.most and layer is not None:
                self.burst = max(map(_largest, _tensors([*args, *self.models.numbers(layer)])), default=0.0) < inf
            if largest != 0.0:
                self.least, self.most = min(self.least, largest), max(self.most, largest)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest of the largest numbers; 0 and 0 without a number."""
        return (self.least, self.most) if isfinite(self.least) else (0.0, self.most)


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)
    elif kind_of(value) is not None:
        yield value


def _largest(tensor: Any) -> float:
    """Return the largest magnitude; infinite if an element is not finite, 0 without readable elements."""
    try:
        plain = tensor.detach() if hasattr(tensor, "detach") else tensor
        found = np.abs(np.asarray(plain, dtype=np.float64)).max(initial=0.0)
    except Exception:  # noqa: BLE001 - parts of a graph have no elements yet
        return 0.0
    return float(found) if np.isfinite(found) else inf
