"""Knowledge from recorded calls of a library: values of arguments by name, and calls that make objects."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import OBJECT, SignatureParameter
from fuzz_core.ir.tree import fuzz_type
from fuzz_core.ir.values import Invocation, Ref, Seq, Tensor, Value
from fuzz_core.synthesis.draft import Maker
from fuzz_core.worker.plan import Plan

# A value of another api is picked so often, until one has the right type.
PICKS = 4
# Calls of one api that make objects for others, and the weight of a word that two names share.
MOST_MAKERS, ALIKE = 4, 4
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Names that no sentence has as a word: `FixedLenFeature`, `numeric_column`.
_NAME = re.compile(r"\b(?:[A-Z]\w*[a-z]\w*[A-Z]\w*|[a-z]+_\w+)\b")
# Words that the names of all operations on objects share.
_COMMON = {"op", "handle", "resource", "dataset", "v", "anonymous", "get", "create", "is", "input"}
_FITTING = {
    "int": ("int",),
    "float": ("float", "int"),
    "number": ("float", "int"),
    "bool": ("bool",),
    "str": ("str",),
    "function": ("name",),
}


def fits(parameter: SignatureParameter, value: Value) -> bool:
    """Return whether a value that another api took has the type of the parameter."""
    if parameter.kind == "any":
        return True
    if parameter.many or parameter.kind == "shape":
        inner = {"shape": "int"}.get(parameter.kind, parameter.kind)
        item = SignatureParameter(parameter.name, inner, dtypes=parameter.dtypes)
        long_enough = isinstance(value, Seq) and len(value.items) >= (parameter.least or 0)
        return long_enough and isinstance(value, Seq) and all(fits(item, each) for each in value.items)
    if parameter.kind == "tensor":
        fitting = isinstance(value, Tensor) and value.dtype in (parameter.dtypes or (value.dtype,))
        return fitting or (isinstance(value, Invocation) and (not parameter.dtypes or "string" in parameter.dtypes))
    if parameter.kind == "dtype":
        return isinstance(value, Ref) and value.kind == "dtype" and value.name in (parameter.dtypes or (value.name,))
    if parameter.kind == "object":
        return isinstance(value, Invocation)
    return fuzz_type(value) in _FITTING.get(parameter.kind, ())


class RecordedCalls:
    """Knowledge of arguments from recorded calls of other apis."""

    def __init__(self, plan: Plan, adapter: Adapter, listed: Iterable[Listed]) -> None:
        self.space = plan.space
        self.adapter = adapter
        # By kind: calls that make an object, the words of their names, and the name of the output.
        self.made: defaultdict[str, list[tuple[Maker, set[str], str]]] = defaultdict(list)
        # Kinds and names of outputs, with and without a known call.
        self.outputs: set[tuple[str, str]] = set()
        self.plan = plan
        for kind, calls in adapter.objects().items():
            self.made[kind] += [(Maker(call), set[str](), "") for call in calls]
            self.made[OBJECT] += [(Maker(call), {kind}, "") for call in calls]
        self.chosen: dict[tuple[str, SignatureParameter], list[Maker]] = {}
        # Apis by the last part of their names, without those that make objects of another kind.
        self.by_name: dict[str, str] = {}
        for entry in listed:
            count = plan.count(entry.api.name)
            products = [*adapter.makes(entry)]
            self.outputs.update((kind, name) for kind, _, name in products if name)
            if count and all(kind == OBJECT for kind, _, _ in products):
                self.by_name.setdefault(entry.api.name.rpartition(".")[2], entry.api.name)
            for kind, then, name in products if count else ():
                # What many recorded calls use is likely to be what is wanted.
                weight = 1 + (count.bit_length() if count > MOST_MAKERS else 0)
                words = {word for name in _names(entry) for word in _words(name)}
                for place in range(min(count, MOST_MAKERS)):
                    call = plan.invocation(entry.api.name, place)[1]
                    signature = next(iter(adapter.signatures(entry)), None) if kind != OBJECT else None
                    if call.then is None:
                        self.made[kind].append((Maker(call._replace(then=then), signature, weight), words, name))

    def named(self, rng: Rng, api: str, parameter: SignatureParameter) -> Value | None:
        """See `ArgumentSource`."""
        for _ in range(PICKS):
            any_function = parameter.kind == "function" and rng.chance(0.5)
            value = self.space.pick(rng, api, *(("", "name") if any_function else (parameter.name, "")))
            if value is None:
                return None
            if fits(parameter, value) and (parameter.kind != "function" or self._is_callable(value)):
                return value
        return None

    def _is_callable(self, value: Value) -> bool:
        """Return whether a value can be called: a name may be that of a constant, which an api stores unasked."""
        try:
            return isinstance(value, Ref) and callable(self.adapter.ref(value, "cpu"))
        except BuildError:
            return False

    def makers(self, api: str, parameter: SignatureParameter) -> list[Maker]:
        """See `ArgumentSource`.

        A call whose name shares words with the api's or the argument's is likely to fit. If definitions name an output
        as the argument, only calls with this output fit.
        """
        key = (api, parameter)
        if key not in self.chosen:
            words = {*_words(api.rpartition(".")[2]), *_words(parameter.name)} - _COMMON
            if parameter.dtypes:
                found = [
                    (maker, len(words & of))
                    for kind in parameter.dtypes
                    for maker, of, name in self.made[kind]
                    if name == parameter.name or (kind, parameter.name) not in self.outputs
                ]
                # Any object may fit, but a text only if its name says what is in it.
                least = 0 if parameter.kind == "object" else 1
                weights = [(maker, maker.weight + ALIKE * shared) for maker, shared in found if shared >= least]
            else:
                # An instance of a class is wanted only if the argument is called like the class or one of its bases.
                own = _words(parameter.name)
                weights = [
                    (maker, 1) for maker, of, _ in self.made[OBJECT] if any(_alike(a, b) for a in own for b in of)
                ]
                weights += [(maker, ALIKE) for maker in self._said(parameter.text)]
            self.chosen[key] = [maker for maker, weight in weights for _ in range(weight)]
        return self.chosen[key]

    def _said(self, text: str) -> Iterator[Maker]:
        """Yield calls of the apis that a description names: "generated with `numeric_column`"."""
        for api in filter(None, map(self.by_name.get, _NAME.findall(text))):
            for place in range(min(self.plan.count(api), MOST_MAKERS)):
                yield Maker(self.plan.invocation(api, place)[1]._replace(then=None))


def _names(entry: Listed) -> list[str]:
    """Return the names that say what calls of an api make: its last part, and the bases of a class."""
    bases = entry.found.__mro__[:-1] if isinstance(entry.found, type) else ()
    return [entry.api.name.rpartition(".")[2], *(base.__name__ for base in bases)]


def _words(name: str) -> set[str]:
    """Return the words of a name in camel or snake case."""
    return {word.lower() for word in _WORD.findall(name)}


def _alike(first: str, second: str) -> bool:
    """Return whether one word begins with the other one: `optim` and `optimizer`, `modules` and `module`."""
    return min(len(first), len(second)) > 3 and (first.startswith(second) or second.startswith(first))
