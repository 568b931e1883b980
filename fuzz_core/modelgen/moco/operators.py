"""The mutation operators on code blocks: AR, RG and BC (MoCo 2024, section III-C).

Pure: randomness is injected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.moco.calls import broken, parameters, value, with_value
from fuzz_core.modelgen.moco.candidates import others, outside
from fuzz_core.modelgen.moco.constants import Opaque, meaning, written
from fuzz_core.modelgen.moco.facts import Facts, Knowledge, Parameter
from fuzz_core.modelgen.moco.nodes import CHECKED, GENERATED, REPLACED, Arrival
from fuzz_core.modelgen.moco.program import Call
from fuzz_core.modelgen.moco.replacement import fitting_in, replacement


class Mutant(NamedTuple):
    """A block after mutation. parameter: what was changed, from the expression `old` to `new`; of AR these are apis.

    positive: whether it is to work. why: of a negative one, the words that say that it is not legal.
    """

    call: Call
    operator: str
    parameter: str
    old: str
    new: str
    positive: bool = True
    why: str = ""


Spell = Callable[[str], str]
# Of so many new apis a tree favours one.
EVERY = 8


class Taste(NamedTuple):
    """What AR has a mind to. ran: apis that have been executed; any other is `fresh` times as likely as it is similar.

    failed: how often an api did not work; `fresh` is divided by one more than that. fitted: the program's name for the
    class that stands around layers which do not fit, empty where there is none. between: how often it stands around one
    that may be there without. favoured: how much likelier one new api in EVERY is still, other ones for each `lot`: by
    similarity alone trees would all draw the same ones first.
    """

    ran: Collection[str] = ()
    fresh: float = 1.0
    failed: Mapping[str, int] = {}
    fitted: str = ""
    between: float = 0.0
    favoured: float = 1.0
    lot: int = 0

    def times(self, api: str) -> float:
        """By how much an api is likelier than it is similar."""
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
    spell: Spell = lambda api: api,
    taste: Taste = Taste(),  # noqa: B008 - immutable
) -> Mutant | None:
    """AR: another api of the same dimensionality class, or one that is made to fit; None where there is none.

    The roulette wheel turns again where an api's parameters cannot be told. spell: how the program writes an api.
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


def turned(wheel: dict[str, float], rng: Rng) -> str:
    """The api in whose interval a random number falls; the intervals lie in random order, as wide as similarities."""
    names = list(wheel)
    shuffled = [names.pop(rng.below(len(names))) for _ in range(len(names))]
    return rng.weighted(shuffled, [wheel[name] for name in shuffled])


def similar(
    call: Call,
    knowledge: Knowledge,
    arrival: Arrival | None,
    taste: Taste = Taste(),  # noqa: B008 - immutable
) -> dict[str, float]:
    """The apis that may take a block's place, with their similarity: of its kind, for such an input and result.

    An api that was never seen to work takes no place. One that has to be applied to several tensors takes a place only
    with inputs of its own. An api that is not listed as similar is less likely than all that are listed.
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
    """Whether a layer can stand in the place of one that gives a tensor, with what makes it fit.

    So can a function of several tensors: it is not applied to an activation alone.
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
    """Whether an input of this rank is a batch to an api: many take one sample too, and the batch for its channels.

    Of those, a parameter is bound to the first axis then; where none is bound, they have two ranks, of which the lesser
    is a sample's.
    """
    axes = [parameter.binds % rank for parameter in facts.parameters if parameter.binds is not None and rank]
    return 0 not in axes and (bool(axes) or rank < 2 or facts.ranks != (rank, rank + 1))


def generated(call: Call, facts: Facts, rng: Rng) -> Mutant | None:
    """RG: one parameter, never a bound one, gets another legal value, and relations hold; None where none can."""
    free = _free(facts)
    while free:
        parameter = free.pop(rng.below(len(free)))
        pool = others(parameter, _current(call, facts, parameter), rng)
        while pool:
            changed = with_value(call, facts, parameter.name, written(pool.pop(rng.below(len(pool)))))
            if not set(broken(changed, facts)) - set(broken(call, facts)):
                return _changed(call, changed, facts, parameter.name, GENERATED)
    return None


def checked(call: Call, facts: Facts, rng: Rng) -> Mutant | None:
    """BC: one parameter gets a value just outside of a documented bound; None where nothing is documented."""
    every = list(checks(call, facts, rng))
    return rng.choice(every) if every else None


def checks(call: Call, facts: Facts, rng: Rng) -> Iterator[Mutant]:
    """All that BC can make of a call. Bound parameters stay: they do not fit the input, whatever their bounds are."""
    for parameter in _free(facts):
        for value_, why in outside(parameter, _current(call, facts, parameter), rng):
            changed = with_value(call, facts, parameter.name, written(value_))
            yield _changed(call, changed, facts, parameter.name, CHECKED)._replace(positive=False, why=why)


def _free(facts: Facts) -> list[Parameter]:
    """The public parameters whose values are free to be chosen."""
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
