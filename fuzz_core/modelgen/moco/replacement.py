"""The call of another api in a block's place: its parameters are taken over by name, or by position and dtype."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.moco.adaptation import bound, mended
from fuzz_core.modelgen.moco.calls import given, parameters
from fuzz_core.modelgen.moco.candidates import some
from fuzz_core.modelgen.moco.constants import meaning
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.fit import fit_to_seen_inputs, kinds
from fuzz_core.modelgen.moco.legality import is_legal
from fuzz_core.modelgen.moco.nodes import Arrival
from fuzz_core.modelgen.moco.program import INPUT, Call, CallArgument


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
        made = None if chosen is None else _written(call, facts, chosen)
        done = None if made is None else mended(made, facts)
        if done is not None:
            return done
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
