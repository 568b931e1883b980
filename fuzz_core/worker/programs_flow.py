"""The flow of activations through the layers and functions of a model program, observed in one run.

The controller writes hooks around the calls and the arithmetic of the program (`modelgen.moco.disassembly`). Each
tensor that a model computes gets an `ActivationOrigin`: the value that arrived, and the calls that it has passed
through since.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

from fuzz_core.adapters.models import Models
from fuzz_core.worker.programs_ran import MOST_BLOCKS, FlowRecord, JoinRecord, UseRecord
from fuzz_core.worker.programs_watch import ClassWatch, kind_of

# Classes of layers that only call other layers.
_CONTAINERS = frozenset(("Sequential", "ModuleList", "ModuleDict", "Model", "Functional"))
# The group of layers that the program calls outside of all models, and the most values that are remembered of them.
SERIAL, MOST_VALUES = 0, 10_000
_DEPTH = 2  # depth to which results are searched for tensors
_OPERATORS = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow, operator.floordiv),
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.imod, operator.ipow),
    *(operator.ifloordiv,),
)


class ActivationOrigin(NamedTuple):
    """The origin of an activation."""

    root: Any  # identity of the value that arrived; equal roots mean the same value but for layers
    # The site and the number of each use of a layer or function that it has passed through. Branches that one function
    # of the program makes pass through the same sites, in uses of their own.
    passed: frozenset[tuple[int, int]]
    group: int  # the model that it is in


class FlowWatch(ClassWatch):
    """A watch on one run of a program with hooks; a `site` is the number of a call or an operation in its text."""

    def __init__(self, models: Models) -> None:
        super().__init__()
        self.models = models
        # Origins by the identity of tensors, with the tensors, which keep the identities valid: of the outermost call
        # of a model that goes on, and of everything else.
        self.local: dict[int, tuple[Any, ActivationOrigin]] = {}
        self.serial: dict[int, tuple[Any, ActivationOrigin]] = {}
        self.layers: dict[int, tuple[int, Any]] = {}  # sites of layers, by identity
        self.containers: dict[int, tuple[int, Any]] = {}  # sites of containers, by identity
        self.groups: dict[Any, int] = {}
        self.group = SERIAL
        self.depth = 0  # number of models that are being called
        self.inside = 0  # number of calls of the library that are being made
        self.site = 0  # the latest call of the program
        self.callee: Any = None  # what it calls
        self.numbers = count(1)  # the numbers of values and uses
        self.found: dict[int, UseRecord] = {}
        self.joined: dict[int, JoinRecord] = {}
        self.used: Counter[int] = Counter()
        self.used_serially: Counter[int] = Counter()
        self.made_of: Counter[int] = Counter()
        self.again: set[int] = set()
        if models.layer is not None:
            self.watch_class(models.layer)

    def record(self) -> FlowRecord:
        """Return what was observed."""
        repeated = self.again | {site for site, times in self.made_of.items() if times > 1}
        uses = tuple(use._replace(once=site not in repeated) for site, use in self.found.items())
        return FlowRecord(uses[:MOST_BLOCKS], tuple(self.joined.values())[:MOST_BLOCKS])

    # The hooks.

    def called(self, site: int, function: Any, library: bool) -> Callable[..., Any]:
        """Return the function that is called in the place of `function`; `library` says that its name is an api's."""

        def call(*args: Any, **kwargs: Any) -> Any:
            self.site, self.callee = site, function
            if isinstance(function, type):
                return self._made(site, function, library, function(*args, **kwargs))
            if self.inside:
                return function(*args, **kwargs)
            if library and id(function) not in self.layers:
                return self._applied(site, function, args, kwargs)
            found = function(*args, **kwargs)
            owner = self._origin(getattr(function, "__self__", None))
            if owner is not None:
                self._put(found, owner._replace(root=(getattr(function, "__name__", ""), owner.root)))
            return found

        return call

    def combined(self, site: int, number: int, one: Any, other: Any) -> Any:
        """Compute an arithmetic operation."""
        found = _OPERATORS[number](one, other)
        if not self.inside:
            first, second = self._origin(one), self._origin(other)
            if first is not None and second is not None:
                self._join(site, (0, 1), (first, second), found)
            else:
                self._put(found, first or second)
        return found

    # Origins.

    def _origin(self, value: Any) -> ActivationOrigin | None:
        known = self.local.get(id(value)) or self.serial.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, self.models.symbolic):
            # In a model, the library describes a container to itself, and the container computes afterwards.
            return None if self.depth else self._fresh(value, SERIAL)
        # A tensor whose history is unknown may be one that code without hooks made.
        if self.depth and _is_tensor(value) and not isinstance(value, self.models.weights):
            return self._fresh(value, self.group)
        return None

    def _fresh(self, value: Any, group: int) -> ActivationOrigin:
        origin = ActivationOrigin(next(self.numbers), frozenset(), group)
        self._put(value, origin)
        return origin

    def _put(self, value: Any, origin: ActivationOrigin | None, depth: int = _DEPTH) -> None:
        if origin is None:
            return
        if _is_tensor(value):
            values = self.local if self.depth and not isinstance(value, self.models.symbolic) else self.serial
            if len(values) < MOST_VALUES:
                values[id(value)] = value, origin
        elif depth and isinstance(value, list | tuple):
            for place, part in enumerate(value):
                self._put(part, origin if not place else origin._replace(root=(place, origin.root)), depth - 1)

    def _active(self, values: Sequence[Any]) -> tuple[dict[int, ActivationOrigin], dict[int, list[ActivationOrigin]]]:
        """Return the origins of activations by their places, and those of lists of activations."""
        single = {place: origin for place, each in enumerate(values) if (origin := self._origin(each)) is not None}
        lists = {place: self._origins(each) for place, each in enumerate(values) if isinstance(each, list | tuple)}
        return single, {place: origins for place, origins in lists.items() if origins}

    def _origins(self, values: Iterable[Any]) -> list[ActivationOrigin]:
        """Return the origins of values; empty unless all of them are activations."""
        found = []
        for each in values:
            origin = self._origin(each)
            if origin is None:
                return []
            found.append(origin)
        return found

    # Calls.

    def _made(self, site: int, cls: type, library: bool, made: Any) -> Any:
        layer = self.models.layer
        if (library and callable(made)) if layer is None else isinstance(made, layer):
            if cls.__module__ == "__main__":
                return made
            if any(base.__name__ in _CONTAINERS for base in cls.__mro__):
                self.containers[id(made)] = site, made
            else:
                self._hold(site, made)
        return made

    def _hold(self, site: int, layer: Any) -> None:
        self.layers[id(layer)] = site, layer
        self.made_of[site] += 1
        self.watch_class(type(layer))

    def _applied(self, site: int, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        found = self._library(function, args, kwargs)
        values = [*args, *kwargs.values()]
        layer = self.models.layer
        if layer is not None and isinstance(found, layer) and any(isinstance(each, layer) for each in values):
            self._hold(site, found)
        single, lists = self._active(values)
        if lists:
            place, parts = next(iter(lists.items()))
            if len(lists) == 1 and not single and len(parts) > 1:
                self._join(site, (place,), parts, found)
            else:
                self._put(found, self._unknown(parts[0]))
        elif len(single) > 1:
            self._join(site, tuple(single), list(single.values()), found)
        elif single:
            ((place, origin),) = single.items()
            beside = any(_is_tensor(each) for at, each in enumerate(values) if at != place)
            if (not place or place >= len(args)) and not beside and _shape(found).count("x"):
                self._use(site, True, place, len(values) == 1, origin, found)
            else:
                self._put(found, self._unknown(origin))
        return found

    def _library(self, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the library; layers inside of the call are the library's own."""
        self.inside += 1
        try:
            return call(*args, **kwargs)
        finally:
            self.inside -= 1

    def _unknown(self, origin: ActivationOrigin) -> ActivationOrigin:
        """Return the origin of a value that is computed from such an activation and from something else."""
        return origin._replace(root=next(self.numbers))

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(this: Any, *args: Any, **kwargs: Any) -> Any:
            if self.inside:
                return original(this, *args, **kwargs)
            known = self.layers.get(id(this))
            if known is None:
                return self._model(original, this, args, kwargs)
            # A call by the library, inside of a container or a model, is no place of the program.
            place = self.site if self.callee is this else None
            return self._layer(known[0], place, functools.partial(original, this), args, kwargs)

        return call

    def _model(self, original: Callable[..., Any], model: Any, args: Any, kwargs: Any) -> Any:
        """Call a model or a container.

        The outermost call begins a new flow, unless the program only describes it.

        The program may compute further with the result of a container, but only judges the result of a model.
        """
        values = [*args, *kwargs.values()]
        if self.depth or any(isinstance(each, self.models.symbolic) for each in values):
            inner = bool(self.depth)
            self.depth += inner
            try:
                return original(model, *args, **kwargs)
            finally:
                self.depth -= inner
        own = type(model).__module__ == "__main__"
        before = None if own else next((origin for each in values if (origin := self._origin(each))), None)
        key = type(model) if own else self.containers.get(id(model), (-1, None))[0]
        self.group = self.groups.setdefault(key, len(self.groups) + 1) if before is None else before.group
        self.used.clear()
        self.depth += 1
        try:
            for each in values if before is None else ():
                if _is_tensor(each):
                    self._fresh(each, self.group)
            found = original(model, *args, **kwargs)
            after = None if own else self._origin(found)
        finally:
            self.depth -= 1
            self.local.clear()
        self._put(found, after)
        return found

    def _layer(self, site: int, outer: int | None, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        found = self._library(call, args, kwargs)
        values = [*args, *kwargs.values()]
        single, lists = self._active(values)
        parts = [part for place in lists for part in values[place]]
        known = bool(self.depth) or any(isinstance(each, self.models.symbolic) for each in [*values, *parts])
        place, origins = next(iter(lists.items()), (0, []))
        if single and (known or len(values) == 1):
            place, origin = next(iter(single.items()))
            self._use(site, False, place, len(values) == 1, origin, found)
        elif known and len(origins) > 1:
            self._join(outer, (place,), origins, found)
        elif not self.depth and len(values) == 1 and _is_tensor(values[0]):
            self._use(site, False, 0, True, self._fresh(values[0], SERIAL), found)
        return found

    def _use(self, site: int, applied: bool, place: int, alone: bool, origin: ActivationOrigin, found: Any) -> None:
        counts = self.used if self.depth else self.used_serially
        counts[site] += 1
        if counts[site] > 1:
            self.again.add(site)
        self.found.setdefault(site, UseRecord(site, origin.group, applied, place, alone, _shape(found)))
        self._put(found, ActivationOrigin(origin.root, origin.passed | {(site, next(self.numbers))}, origin.group))

    def _join(self, site: int | None, places: tuple[int, ...], origins: Sequence[ActivationOrigin], found: Any) -> None:
        first = origins[0]
        if any(each.root != first.root for each in origins):
            self._put(found, self._unknown(first._replace(passed=frozenset())))
            return
        common = frozenset.intersection(*(each.passed for each in origins))
        own = [{site for site, _ in each.passed - common} for each in origins]
        before = None if site is None else self.joined.get(site)
        if site is not None and any(own) and (before is None or len(before.own) == len(own)):
            merged = own if before is None else [each.union(other) for each, other in zip(own, before.own, strict=True)]
            self.joined[site] = JoinRecord(site, places, tuple(tuple(sorted(each)) for each in merged))
        self._put(found, first._replace(passed=first.passed.union(*(each.passed for each in origins))))


def _is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, or a named tuple that begins with one, as packed sequences do."""
    if isinstance(value, tuple):
        return hasattr(value, "_fields") and bool(value) and kind_of(value[0]) is not None
    return kind_of(value) is not None


def _shape(value: Any, depth: int = _DEPTH) -> str:
    """Return the structure of a result, with `x` for its first tensor: `(x, (None, None))`."""
    if _is_tensor(value):
        return "x"
    if not isinstance(value, list | tuple) or not depth:
        return "None"
    parts: list[str] = []
    for each in value[:16]:
        text = _shape(each, depth - 1)
        parts.append(text.replace("x", "None") if any("x" in part for part in parts) else text)
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
