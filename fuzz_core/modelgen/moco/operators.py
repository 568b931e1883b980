"""The mutation operators on code blocks: AR, RG and BC (MoCo 2024, section III-C).

Pure: randomness is injected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.expressions import Opaque, meaning, written
from fuzz_core.modelgen.moco.block_test import fit_to_seen_inputs, kinds
from fuzz_core.modelgen.moco.calls import bound, broken, given, mended, parameters, value, with_value
from fuzz_core.modelgen.moco.candidates import others, outside, some
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Parameter, is_legal, is_within, numbers
from fuzz_core.modelgen.moco.nodes import CHECKED, GENERATED, REPLACED, Arrival
from fuzz_core.modelgen.moco.program import INPUT, Call, CallArgument


class Mutant(NamedTuple):
    """A block after mutation."""

    call: Call
    operator: str
    parameter: str  # the parameter that was changed
    old: str  # the expression before; for AR, the api
    new: str  # the expression after; for AR, the api
    positive: bool = True  # whether it is expected to run
    why: str = ""  # for a negative mutant, the words that rule its value out


T = TypeVar("T")
# A tree favours one in so many new apis.
EVERY = 8


class Taste(NamedTuple):
    """The preferences of AR among the apis that may take a block's place."""

    ran: Collection[str] = ()  # apis that have been executed
    fresh: float = 1.0  # how much likelier than its similarity an api is that is not in `ran`
    failed: Mapping[str, int] = {}  # how often an api did not work; `fresh` is divided by one more than that
    fitted: str = ""  # the program's name for the class that stands around layers which do not fit, or ""
    between: float = 0.0  # how often that class stands around a layer that would fit without it
    # How much likelier still one new api in EVERY is. Similarity alone would make all trees draw the same apis first.
    favoured: float = 1.0
    lot: int = 0  # the seed that decides which apis are favoured

    def times(self, api: str) -> float:
        """Return the factor by which an api is likelier than its similarity says."""
        if api in self.ran:
            return 1.0
        wanted = self.fresh * (self.favoured if _is_favoured(self.lot, api) else 1.0)
        return max(1.0, wanted / (1 + self.failed.get(api, 0)))


@lru_cache(maxsize=1 << 16)
def _is_favoured(lot: int, api: str) -> bool:
    return derive(lot, "favoured", api) % EVERY == 0


def replaced(
    call: Call,
    knowledge: Knowledge,
    arrival: Arrival | None,
    rng: Rng,
    spell: Callable[[str], str] = str,
    taste: Taste = Taste(),  # noqa: B008 - immutable
) -> Mutant | None:
    """Return by AR another api of the same dimensionality class, or one that is made to fit; None if there is none.

    The roulette wheel turns again if no arguments are found for an api.

    Args:
        spell: returns how the program writes an api.
    """
    wheel = similar(call, knowledge, arrival, taste)
    while wheel:
        api = turned(wheel, rng)
        del wheel[api]
        own, facts = knowledge.apis[call.api], knowledge.apis[api]
        made = None
        if _replaces(facts, own, arrival) and not (_is_fitted(facts, own, taste) and rng.chance(taste.between)):
            made = replacement(call, own, facts, arrival)
        if made is None and _is_fitted(facts, own, taste):
            made = fitting_in(call, own, facts, taste.fitted, rng)
        if made is not None:
            return Mutant(made._replace(spelled=spell(api)), REPLACED, "", call.api, api)
    return None


def drawn(items: Iterable[T], rng: Rng) -> Iterator[T]:
    """Yield the items in random order."""
    left = list(items)
    while left:
        yield left.pop(rng.below(len(left)))


def turned(wheel: dict[str, float], rng: Rng) -> str:
    """Turn the roulette wheel once.

    The intervals lie in random order, as wide as the similarities.
    """
    shuffled = list(drawn(wheel, rng))
    return rng.weighted(shuffled, [wheel[name] for name in shuffled])


def similar(
    call: Call,
    knowledge: Knowledge,
    arrival: Arrival | None,
    taste: Taste = Taste(),  # noqa: B008 - immutable
) -> dict[str, float]:
    """Return the apis that may take a block's place, with their weights: same kind, suitable input and result.

    An api that was never seen to work takes no place. An api of several tensors takes a place only with inputs of its
    own. An api that is not listed as similar is less likely than all that are listed.
    """
    own = knowledge.apis.get(call.api)
    if own is None:
        return {}
    least = min((weight for weight in own.similar.values() if weight > 0), default=1.0) / 2
    return {
        api: (own.similar.get(api) or least) * taste.times(api)
        for api, facts in sorted(knowledge.apis.items())
        if api != call.api and (_is_fitted(facts, own, taste) or _replaces(facts, own, arrival))
    }


def _is_fitted(facts: Facts, own: Facts, taste: Taste) -> bool:
    """Return whether an api can replace a layer that returns a tensor, with inputs made for it.

    A layer can, and a function of several tensors; a function of one tensor is applied to the activation itself.
    """
    tensor = own.kind == "class" and own.returns in ("", "tensor")
    several = any(each.dtype == "tensor" and each.name in facts.example for each in parameters(facts))
    seen = bool(facts.inputs or facts.takes)
    return bool(taste.fitted) and tensor and seen and (facts.kind == "class" or several)


def _replaces(facts: Facts, own: Facts, arrival: Arrival | None) -> bool:
    if facts.kind != own.kind or facts.returns != (own.returns or "tensor") or len(facts.inputs) > 1 or facts.takes:
        return False
    if arrival is None:
        return bool(set(facts.ranks) & set(own.ranks))
    rank = len(arrival.shape)
    known = rank in facts.ranks and (not facts.dtypes or arrival.dtype in facts.dtypes)
    return known and _takes_batches(facts, rank)


def _takes_batches(facts: Facts, rank: int) -> bool:
    """Return whether an api takes an input of this rank as a batch.

    Many apis take one sample of that rank, too.

    If it takes the input as one sample, the input's batch axis becomes the channels, and a parameter is bound to that
    first axis. If no parameter is bound, two adjacent ranks show this: the lower one is a sample's.
    """
    axes = [parameter.binds % rank for parameter in facts.parameters if parameter.binds is not None and rank]
    return 0 not in axes and (bool(axes) or rank < 2 or facts.ranks != (rank, rank + 1))


def generated(call: Call, facts: Facts, rng: Rng) -> Mutant | None:
    """Set by RG one parameter that is not bound to another legal value, and keep the relations; None if impossible."""
    for parameter in drawn(_free(facts), rng):
        for other in drawn(others(parameter, _current(call, facts, parameter), rng), rng):
            changed = with_value(call, facts, parameter.name, written(other))
            if not set(broken(changed, facts)) - set(broken(call, facts)):
                return _changed(call, changed, facts, parameter.name, GENERATED)
    return None


def checks(call: Call, facts: Facts, rng: Rng) -> Iterator[Mutant]:
    """Yield all mutants that BC can make of a call.

    Bound parameters stay, since no other value fits the input.
    """
    for parameter in _free(facts):
        for value_, why in outside(parameter, _current(call, facts, parameter), rng):
            changed = with_value(call, facts, parameter.name, written(value_))
            yield _changed(call, changed, facts, parameter.name, CHECKED)._replace(positive=False, why=why)


def _free(facts: Facts) -> list[Parameter]:
    """Return the public parameters whose values are free to be chosen."""
    return [
        parameter
        for parameter in parameters(facts)
        if parameter.binds is None and parameter.dtype != "tensor" and not parameter.name.startswith("_")
    ]


def _current(call: Call, facts: Facts, parameter: Parameter) -> object:
    source = value(call, facts, parameter.name)
    return Opaque("") if source is None else meaning(source)


def _changed(call: Call, changed: Call, facts: Facts, name: str, operator: str) -> Mutant:
    return Mutant(changed, operator, name, value(call, facts, name) or "", value(changed, facts, name) or "")


def replacement(call: Call, own: Facts, facts: Facts, arrival: Arrival | None) -> Call | None:
    """Return a call of another api by its public name; None if a required parameter has no legal value.

    Bound parameters are set to what arrives. If relations cannot be kept, the arguments of the working example are
    used.
    """
    fixed = bound(facts, arrival.shape) if arrival is not None else {}
    return _first(call, facts, fixed, (_taken_over(call, own, facts), {}))


def fitting_in(call: Call, own: Facts, facts: Facts, fitted: str, rng: Rng) -> Call | None:
    """Like `replacement`, for a layer that gets the inputs with which it was seen to work.

    A call takes, with equal chance, the working example's arguments or as many of the block's arguments as possible.

    Args:
        fitted: the program's name for the class that makes the inputs.

    Returns:
        The call, or None if the layer was never seen to work, or only on large inputs.
    """
    fit = fit_to_seen_inputs(facts, fitted, rng)
    if fit is None:
        return None
    taken = [{**facts.example, **_taken_over(call, own, facts)}] if rng.chance(0.5) else []
    first = next(shape for text in fit.inputs for shape, _ in kinds(meaning(text)))
    made = _first(call, facts, bound(facts, first), (*taken, facts.example))
    return made and made._replace(fit=fit)


def _first(call: Call, facts: Facts, fixed: Mapping[str, str], offers: Iterable[Mapping[str, str]]) -> Call | None:
    """Return a call with the first of the offered arguments that are legal together; None if none are."""
    for offered in offers:
        chosen = _chosen(facts, offered, fixed)
        if chosen is not None and (made := mended(_written(call, facts, chosen), facts)) is not None:
            return made
    return None


def _taken_over(call: Call, own: Facts, facts: Facts) -> dict[str, str]:
    """Return the arguments that the new api takes as they are.

    Such an argument has the same name, or the same position and one dtype.
    """
    before = [parameter for parameter in parameters(own) if parameter.positional]
    after = [parameter for parameter in parameters(facts) if parameter.positional]
    arguments = {name: call.arguments[place] for name, place in given(call, own).items()}
    found = {name: argument.source for name, argument in arguments.items()}
    for old, new in zip(before, after, strict=False):
        argument = arguments.get(old.name)
        alike = old.dtype == new.dtype != "" and facts.parameter(old.name) is None
        if argument is not None and not argument.name and alike:
            found.setdefault(new.name, argument.source)
    return {p.name: found[p.name] for p in parameters(facts) if p.name in found and is_legal(p, meaning(found[p.name]))}


def _chosen(facts: Facts, offered: Mapping[str, str], fixed: Mapping[str, str]) -> dict[str, str] | None:
    """Return an expression for each parameter that has one; None if a required parameter has none."""
    chosen = {}
    for parameter in parameters(facts):
        source = fixed.get(parameter.name) or offered.get(parameter.name)
        # A parameter that a working call left out is not required, even if it is declared so: `*args`.
        if source is None and parameter.required and (parameter.name in facts.example or not facts.inputs):
            source = facts.example.get(parameter.name) or some(parameter)
            if source is None:
                return None
        if source is not None:
            chosen[parameter.name] = source
    return {**_alternatives(facts, chosen), **chosen}


def _alternatives(facts: Facts, chosen: dict[str, str]) -> dict[str, str]:
    """Return the example's arguments for parameters that may be None, unless one is chosen: often one is needed."""
    optional = [parameter.name for parameter in parameters(facts) if parameter.default == "None"]
    if any(name in chosen for name in optional):
        return {}
    return {name: facts.example[name] for name in optional if name in facts.example}


def _written(call: Call, facts: Facts, chosen: dict[str, str]) -> Call:
    """Return the call with required parameters by position as far as there is no gap, and further ones by keyword.

    A function in the place of a layer gets all of them by keyword, because its inputs come first.
    """
    arguments = [CallArgument("", INPUT)] if call.applied else []
    gap = facts.kind == "function" and not call.applied
    for parameter in parameters(facts):
        gap = gap or not (parameter.required and parameter.positional and parameter.name in chosen)
        if parameter.name in chosen:
            arguments.append(CallArgument(parameter.name if gap else "", chosen[parameter.name]))
    return Call(facts.api, facts.api, tuple(arguments), call.applied)


def equivalence(mutant: Mutant, facts: Facts | None) -> str:
    """Return the class of a mutant: for AR its api, otherwise api, parameter and class of the new value."""
    if mutant.operator == REPLACED or not mutant.parameter:
        return f"{mutant.operator} {mutant.call.api}"
    parameter = facts.parameter(mutant.parameter) if facts is not None else None
    named = value_class(parameter, meaning(mutant.new)) if parameter is not None else mutant.new
    return f"{mutant.operator} {mutant.call.api} {mutant.parameter} {named}"


def value_class(parameter: Parameter, value: object) -> str:
    """Return `inside`, `at` or `outside` for numbers, and for a sequence the outermost of these.

    For any other value, returns its text, or `other` for a name.
    """
    found = [_side(parameter, number) for number in numbers(value)]
    if found:
        return max(found, key=("inside", "at", "outside").index)
    if isinstance(value, Opaque):
        return "other"
    return written(value)[:80]


def _side(parameter: Parameter, number: float) -> str:
    if not is_within(parameter.bounds, number):
        return "outside"
    # For an open bound, the integer next to it is at the bound.
    integer = isinstance(number, int)
    ends = [
        float(bound.bounds[0]) + ({"above": 1, "below": -1}.get(bound.kind, 0) if integer else 0)
        for bound in parameter.bounds
    ]
    return "at" if number in ends else "inside"
