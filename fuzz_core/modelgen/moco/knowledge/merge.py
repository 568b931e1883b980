"""Facts from several sources: known facts stay, and facts that no working call contradicts are added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fuzz_core.modelgen.moco.facts import Facts, Parameter
from fuzz_core.modelgen.moco.knowledge.expressions import constants
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, Extractor, seen_calls
from fuzz_core.modelgen.moco.knowledge.relations import kept, literals
from fuzz_core.modelgen.moco.knowledge.seen import SeenCall
from fuzz_core.modelgen.moco.legality import is_choice, is_within


def enriched(facts: Facts, evidence: ApiEvidence, extractors: Iterable[Extractor]) -> Facts:
    """Return the facts, merged with the facts that further extractors find in the same documentation."""
    seen = seen_calls(evidence.api, evidence.calls)
    for extractor in extractors:
        more = extractor.facts(evidence.api, evidence.api.doc)
        facts = facts if more is None else merged(facts, more, seen)
    return facts


def merged(facts: Facts, more: Facts, seen: Sequence[SeenCall] = ()) -> Facts:
    """Return `facts` with the same parameters; missing details are filled in from `more`."""
    parameters = [_merged(each, more.parameter(each.name), seen) for each in facts.parameters]
    known = {relation.expression for relation in facts.relations}
    added = kept((each for each in more.relations if each.expression not in known), seen, facts.parameters)
    names = {each.name for each in parameters}
    update = {
        "definition": facts.definition or more.definition,
        "parameters": tuple(parameters),
        "relations": (*facts.relations, *(each for each in added if names >= set(each.parameters))),
        "ranks": facts.ranks or more.ranks,
        "similar": facts.similar or more.similar,
    }
    return facts.model_copy(update=update)


def _merged(own: Parameter, more: Parameter | None, seen: Sequence[SeenCall]) -> Parameter:
    if more is None:
        return own
    update: dict[str, Any] = {name: getattr(own, name) or getattr(more, name) for name in ("dtype", "structure")}
    if own.default is None and not own.required:
        update["default"] = more.default
    added = [] if own.lengths else [*more.of_kind("lengths")]
    values = _values(own, seen)
    if not own.bounds and is_within(more.bounds, *values):
        added += more.bounds
    if not own.choices and not own.bounds and all(is_choice(more, value) for value in values):
        added += more.of_kind("choices")
    return own.model_copy(update={**update, "constraints": (*own.constraints, *added)})


def _values(parameter: Parameter, seen: Iterable[SeenCall]) -> list[Any]:
    """Return the values that the parameter had in working calls, and its default."""
    default: Mapping[str, str] = {parameter.name: parameter.default} if parameter.default is not None else {}
    given = [literals(each.arguments) for each in seen]
    return [each[parameter.name] for each in (constants(default), *given) if parameter.name in each]
