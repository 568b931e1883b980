"""The watch on a program's blocks: what they take and give, which block is being made or used, and further checks.

A layer is watched through the class that defines its call: the `__call__` of that class is replaced while the program
runs. The layer itself stays as it is. So its repr, its pickles, the library's knowledge of its class and checks of its
type do not change.

The checks are about the numbers in results of layers, and about the model compiled after the program has run well.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.models import Models
from fuzz_core.worker.programs_ran import ELSEWHERE, MAKE, MOST_RANK, TEXT, USE, BlockTensors, CompiledUse, TensorKind

# Depth and length to which a first tensor is searched for in lists and mappings.
DEPTH, PARTS = 3, 16

# A node of a graph, as errors that arise while the graph runs name it: `{{node sequential/conv2d/Relu}}`.
_NODE = re.compile(r"\bnode \W?([\w./-]{1,500})")
_AGAIN = re.compile(r"_\d+$")


class BlockPlace(NamedTuple):
    """A block, and whether it is made or used."""

    number: int
    phase: str


class Used(NamedTuple):
    """A use of a model, which is no block and has layers in it, with the arguments of the call."""

    model: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class ClassWatch:
    """A watch on the calls of objects through their classes."""

    def __init__(self) -> None:
        self.replaced: dict[type, Any] = {}

    def watch_class(self, cls: type) -> None:
        """Watch the calls of the objects of a class, and of other objects whose calls the same class defines."""
        owner = next((base for base in cls.__mro__ if "__call__" in vars(base)), None)
        if owner is None or owner in self.replaced:
            return
        original = vars(owner)["__call__"]
        try:
            type.__setattr__(owner, "__call__", self._watched(original))
        except TypeError:
            # The class is not written in Python: its calls go unseen.
            return
        self.replaced[owner] = original

    def restore(self) -> None:
        """Put the classes back as they were."""
        for owner, original in self.replaced.items():
            type.__setattr__(owner, "__call__", original)
        self.replaced.clear()

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method that takes the place of `original`."""
        raise NotImplementedError


class BlockWatch(ClassWatch):
    """A watch on one program; `note` gets each place that is entered, and the place that is returned to (None: none).

    Args:
        settle: computes a lazy result of the library, so that an error arises in the block of the result.
        models: whether to remember the last use of a model.
        passing: makes a layer that returns its input and reports it.
        layer: the class of all layers, if layers that are no blocks matter too.
        weigh: gets each such layer (None if it is not the library's own alone), its arguments and its result.
    """

    def __init__(
        self,
        note: Callable[[BlockPlace | None], None],
        settle: Callable[[Any], None] | None,
        models: bool,
        passing: Callable[[Callable[[Any], object]], Any],
        layer: type | None,
        weigh: Callable[[Any, Any, Any], object] | None,
    ) -> None:
        super().__init__()
        self.note = note
        self.passing = passing
        self.settle = settle
        self.models = models
        self.weigh = weigh
        self.uses = 0
        self.last: Used | None = None
        self.places: list[BlockPlace] = []
        self.saw: dict[int, BlockTensors] = {}
        self.passed: dict[int, TensorKind | None] = {}
        self.layers: dict[int, tuple[int, Any]] = {}
        self.failed: tuple[BaseException, BlockPlace] | None = None
        if layer is not None:
            self.watch_class(layer)

    def made(self, number: int, target: Any) -> Callable[..., Any]:
        """Return the replacement of a function, or of a class whose instance is watched from then on."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if not isinstance(target, type):
                return self._used(number, target, args, kwargs)
            layer = self._within(BlockPlace(number, MAKE), target, args, kwargs)
            self.layers[id(layer)] = (number, layer)
            self.watch_class(type(layer))
            return layer

        return call

    def seen(self, number: int, *value: Any) -> Any:
        """Note the first input of an absent block, and return it; without a value, return a layer that does."""
        if not value:
            return self.passing(functools.partial(self.seen, number))
        if not is_known(self.passed.get(number)):
            self.passed[number] = first_kind(value[0])
        return value[0]

    def place_of(self, error: BaseException) -> BlockPlace | None:
        """Return the innermost block that an exception has left, even if it was turned into another exception."""
        if self.failed is None:
            return None
        noted, place = self.failed
        chain: BaseException | None = error
        for _ in range(100):
            if chain is noted:
                return place
            chain = None if chain is None else chain.__cause__ or chain.__context__
        return None

    def named(self, error: BaseException) -> BlockPlace | None:
        """Return the layer that a graph's error names, if the error names its node.

        A graph may number names once more: where two layers could be meant, none is.
        """
        try:
            found = _NODE.search(str(error))
        except Exception:  # noqa: BLE001 - an exception that cannot be printed names nothing
            return None
        parts = found[1].split("/")[:-1] if found else []
        phase = ELSEWHERE if "gradient_tape" in parts else USE
        names = {number: getattr(layer, "name", "") for number, layer in self.layers.values()}
        known = {*parts, *(_AGAIN.sub("", part) for part in parts)}
        meant = [number for number, name in names.items() if isinstance(name, str) and name in known]
        return BlockPlace(meant[0], phase) if len(meant) == 1 else None

    def close(self) -> None:
        """Forget all layers."""
        self.restore()
        self.layers.clear()
        self.failed = self.last = None

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        layers, places = self.layers, self.places

        @functools.wraps(original)
        def call(this: Any, *args: Any, **kwargs: Any) -> Any:
            found = layers.get(id(this))
            if found is None and self.models and not places:
                return self._model(original, Used(this, args, kwargs))
            # The class may call its base class, which is watched as well.
            if found is None or (places and places[-1] == (found[0], USE)):
                return self._inside(original, this, args, kwargs)
            return self._used(found[0], functools.partial(original, this), args, kwargs)

        return call

    def _inside(self, original: Callable[..., Any], this: Any, args: Any, kwargs: Any) -> Any:
        self.uses += 1
        before = self.uses
        found = original(this, *args, **kwargs)
        if self.weigh is not None:
            # A layer that has layers in it, or is the program's, combines layers of the library.
            own = self.uses > before or type(this).__module__ == "__main__"
            self.weigh(None if own else this, (*args, *kwargs.values()), found)
        return found

    def _model(self, original: Callable[..., Any], used: Used) -> Any:
        before, self.models = self.uses, False
        try:
            found = original(used.model, *used.args, **used.kwargs)
        finally:
            # The outermost use alone counts.
            self.models = True
        if self.uses > before:
            self.last = used
        return found

    def _used(self, number: int, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.uses += 1
        before = self.saw.get(number)
        took = None if before and is_known(before.took) else first_kind((args, kwargs))
        try:
            found = self._within(BlockPlace(number, USE), call, args, kwargs)
        except BaseException:
            # The input that did not fit is the current one, even if earlier uses took another.
            self.saw[number] = BlockTensors(first_kind((args, kwargs)), None, is_alone((*args, *kwargs.values())))
            raise
        if before is None or is_known(took):
            self.saw[number] = BlockTensors(took, output_kind(found))
        return found

    def _within(self, place: BlockPlace, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.places.append(place)
        self.note(place)
        try:
            found = call(*args, **kwargs)
            if self.settle is not None:
                self.settle(found)
            return found
        except BaseException as error:
            if self.place_of(error) is None:
                self.failed = error, place
            raise
        finally:
            self.places.pop()
            self.note(self.places[-1] if self.places else None)


def is_known(kind: TensorKind | None) -> bool:
    """Return whether all dimensions are known."""
    return kind is not None and None not in kind.shape


def kind_of(value: Any) -> TensorKind | None:
    """Return shape and dtype of a tensor of any library; None for other values."""
    try:
        shape, dtype = value.shape, value.dtype
        # The attribute or the text holds the public name: `torch.float32`, `<dtype: 'float32'>`, `float32`.
        name = getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]
        sizes = tuple(None if size is None or size < 0 else int(size) for size in shape)
    except Exception:  # noqa: BLE001 - a property of foreign code may raise anything: then it is no tensor
        return None
    return TensorKind(sizes, name) if isinstance(name, str) and len(sizes) < MOST_RANK else None


def first_kind(value: Any, depth: int = DEPTH) -> TensorKind | None:
    """Return the kind of the first tensor in a value or in its parts."""
    found = kind_of(value)
    if found is not None or depth == 0 or not isinstance(value, list | tuple | dict):
        return found
    parts: Iterable[Any] = value.values() if isinstance(value, dict) else value
    return next((kind for part in islice(parts, PARTS) if (kind := first_kind(part, depth - 1)) is not None), None)


def is_alone(values: tuple[Any, ...]) -> bool:
    """Return whether one of the values is a tensor, and no further value is or holds one."""
    holding = [value for value in values if first_kind(value) is not None]
    return len(holding) == 1 and kind_of(holding[0]) is not None


def output_kind(value: Any) -> TensorKind | int | None:
    """Return the output of a block: the kind of one tensor, or the number of parts."""
    found = kind_of(value)
    return len(value) if found is None and isinstance(value, list | tuple | dict) else found


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
