"""Facts about an api from its signature, its docstring, documented constraints of arguments, and recorded calls."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from fuzz_core.ir.catalogue import Api, ApiParameter
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import BuildError, CodecError
from fuzz_core.ir.values import Invocation, Seq, Value
from fuzz_core.modelgen.expressions import constants
from fuzz_core.modelgen.moco.facts import LOWER, UPPER, Facts, Origin, Parameter, Source, is_choice, is_within
from fuzz_core.modelgen.moco.knowledge.prose import ParameterEntry, as_declared, definition_of, told
from fuzz_core.modelgen.moco.knowledge.relations import kept, literals, relations_of
from fuzz_core.modelgen.moco.knowledge.seen import (
    SeenCall,
    Structure,
    axis_of,
    functions_seen,
    inputs_of,
    kind_of,
    layers_seen,
    structure_of,
)

MAX_SEEN, MAX_EXPRESSION = 12, 120
# An activation has a batch axis and at least one more axis.
MIN_RANK = 2
Spell = Callable[[Value], str]


class Extractor(Protocol):
    """A source of facts about an api from its documentation: rules, a language model, or imported files."""

    def facts(self, api: Api, doc: str) -> Facts | None:
        """Return the facts about the api; None if there are none."""


class ApiEvidence(NamedTuple):
    """The evidence about one api."""

    api: Api  # the api, with its documentation in `api.doc`
    constraints: Sequence[Constraint] = ()
    calls: Sequence[Invocation] = ()  # recorded calls that work
    spell: Spell = repr  # writes a value as source
    refusals: Sequence[str] = ()  # messages of exceptions that calls ended with


def facts_of(evidence: ApiEvidence) -> Facts:
    """Return all facts that follow from the evidence without an experiment."""
    api = evidence.api
    entries = told(api.doc)
    signature = api.signature or as_declared(entries)
    seen = seen_calls(evidence.api, evidence.calls)
    parameters = [_parameter(each, entries, seen, evidence) for each in signature]
    kind: Literal["class", "function"] = "class" if api.kind == "class" else "function"
    if kind == "function" and parameters:
        parameters[0] = parameters[0].model_copy(update={"dtype": "tensor", "structure": "tensor"})
    example = plainest_call(seen, evidence.spell)
    structure = structure_of(seen) if example is None and kind == "class" else None
    made = spelled_all({} if structure is None else structure.arguments, evidence.spell)
    return Facts(
        api=api.name,
        kind=kind,
        definition=definition_of(api.doc),
        parameters=tuple(parameters),
        relations=kept(relations_of(_texts(evidence), parameters), seen, parameters),
        ranks=tuple(sorted({len(each.inputs[0].shape) for each in seen if each.inputs})),
        dtypes=_frequent(each.inputs[0].dtype for each in seen if each.inputs),
        example=(made if example is None else spelled_all(example.arguments, evidence.spell)) or {},
        inputs=() if example is None else tuple(each.shape for each in example.inputs),
        takes=inputs_of(example.inputs) if example is not None else _takes(structure, made),
        origin=Origin(source="trace") if any(each.inputs for each in seen) else None,
    )


def _takes(structure: Structure | None, made: object) -> tuple[str, ...]:
    return () if structure is None or made is None else structure.takes


def _texts(evidence: ApiEvidence) -> Iterator[tuple[Source, str]]:
    yield from (("error message", message) for message in evidence.refusals)
    yield "docstring", evidence.api.doc


def seen_calls(api: Api, calls: Iterable[Invocation]) -> list[SeenCall]:
    """Return the recorded calls with named arguments."""
    names = positional(api)
    return list(layers_seen(calls, names) if api.kind == "class" else functions_seen(calls, names))


def positional(api: Api) -> list[str]:
    """Return the names of positional parameters, from the docstring if the signature has none."""
    return [*api.params] or [each.name for each in told(api.doc)]


def plainest_call(seen: Iterable[SeenCall], spell: Spell) -> SeenCall | None:
    """Return the plainest working call that can be written: fewest tensors, fewest parameters, smallest input."""
    plain = [each for each in seen if each.plain and spelled_all(each.arguments, spell) is not None]
    return min(plain, key=_plainness, default=None)


def plainest_first(seen: Iterable[SeenCall]) -> list[SeenCall]:
    """Sort calls without repeated arguments, the plainest first; constructions that were never applied come last."""
    listed = list(seen)
    ordered = sorted((each for each in listed if each.inputs), key=_plainness)
    ordered += sorted((each for each in listed if not each.inputs), key=lambda each: len(each.arguments))
    found: dict[tuple[bool, tuple[tuple[str, Value], ...]], SeenCall] = {}
    for each in ordered:
        found.setdefault((bool(each.inputs), tuple(each.arguments.items())), each)
    return list(found.values())


def _plainness(seen: SeenCall) -> tuple[object, ...]:
    first = seen.inputs[0]
    tensors = sum(kind_of(value)[0] in ("tensor", "callable") for value in seen.arguments.values())
    poor = 0 in first.shape or len(first.shape) < MIN_RANK
    return (poor, len(seen.inputs), tensors, first.dtype != "float32", len(seen.arguments), sum(first.shape))


def spelled_all(arguments: Mapping[str, Value], spell: Spell) -> dict[str, str] | None:
    """Return the arguments as expressions; None if one of them has none."""
    texts = {name: spelled(value, spell) for name, value in arguments.items()}
    known = {name: text for name, text in texts.items() if text is not None}
    return known if len(known) == len(texts) else None


def spelled(value: Value, spell: Spell) -> str | None:
    """Return a value as a short expression; None if it has none."""
    try:
        text = spell(value)
    except (CodecError, BuildError):
        return None
    return text if len(text) <= MAX_EXPRESSION and "\n" not in text else None


def _parameter(
    name: ApiParameter, entries: Sequence[ParameterEntry], seen: Sequence[SeenCall], evidence: ApiEvidence
) -> Parameter:
    said = next((each for each in entries if each.name == name.name), ParameterEntry(name.name))
    values = [each.arguments[name.name] for each in seen if name.name in each.arguments]
    kinds = (*LOWER, *UPPER, "choices", "lengths")
    own = [each for each in evidence.constraints if each.argument == name.name and each.kind in kinds]
    dtype, structure = _kind(name, said, values)
    return Parameter(
        name=name.name,
        dtype=dtype,
        structure=structure,
        default=name.default if name.default is not None else (None if name.required else said.default),
        required=name.required,
        positional=name.positional,
        constraints=(*own, *_lengths(evidence.api.name, name.name, values)),
        binds=axis_of(seen, name.name),
        seen=_frequent(text for value in values if (text := spelled(value, evidence.spell)) is not None)[:MAX_SEEN],
    )


def _kind(name: ApiParameter, said: ParameterEntry, values: Sequence[Value]) -> tuple[str, str]:
    """Return dtype and structure: of the default, of most seen values, or from the documentation."""
    kinds = Counter(kind for value in values if (kind := kind_of(value)) != ("", ""))
    common = kinds.most_common(1)[0][0] if kinds else ("", "")
    default = _of_text(name.default)
    dtype = default[0] or common[0] or said.dtype
    if dtype == "int" and ("float", "") in kinds:
        return "float", ""
    return dtype, default[1] or common[1] or said.structure


def _of_text(default: str | None) -> tuple[str, str]:
    try:
        value = ast.literal_eval(default) if default is not None else None
    except (ValueError, SyntaxError):
        return "", ""
    if isinstance(value, tuple | list):
        types = {type(item).__name__ for item in value}
        return (types.pop() if len(types) == 1 else ""), type(value).__name__
    if value is None or not isinstance(value, bool | int | float | str):
        return "", ""
    return type(value).__name__, "integer" if type(value) is int else ""


def _lengths(api: str, name: str, values: Iterable[Value]) -> Iterator[Constraint]:
    """Yield the lengths that were seen, which count only if there are no documented ones."""
    seen = {len(value.items) for value in values if isinstance(value, Seq) and value.kind in ("tuple", "list")}
    if seen:
        yield Constraint(api, name, "lengths", tuple(sorted(seen)), "", "trace")


def _frequent(texts: Iterable[str]) -> tuple[str, ...]:
    counts = Counter(texts)
    return tuple(sorted(counts, key=lambda text: (-counts[text], text)))


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
