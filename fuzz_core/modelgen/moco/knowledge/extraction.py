"""Which apis models are made of, and the facts about them.

Facts come from signatures, docstrings, documented constraints of arguments, and recorded calls.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from fuzz_core.ir.catalogue import Api, ApiParameter, expression
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.docstrings import entries
from fuzz_core.ir.errors import BuildError, CodecError
from fuzz_core.ir.values import Invocation, Seq, Value
from fuzz_core.modelgen.expressions import constants
from fuzz_core.modelgen.moco.facts import LOWER, UPPER, Facts, Origin, Parameter, Source, is_choice, is_within
from fuzz_core.modelgen.moco.knowledge.seen import (
    SeenCall,
    axis_of,
    functions_seen,
    inputs_of,
    kept,
    kind_of,
    layers_seen,
    literals,
    structure_of,
)
from fuzz_core.modelgen.moco.knowledge.words import relations_of

MAX_SEEN, MAX_EXPRESSION = 12, 120
# An activation has a batch axis and at least one more axis.
MIN_RANK = 2
Spell = Callable[[Value], str]


class Extractor(Protocol):
    """A source of facts about an api from its documentation: rules, a language model, or imported files."""

    def facts(self, api: Api) -> Facts | None:
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
    # A signature may name no parameters: `*args, **kwargs`.
    signature = api.signature or [ApiParameter(each.name, each.default, each.default is None) for each in entries]
    seen = seen_calls(evidence.api, evidence.calls)
    parameters = [_parameter(each, entries, seen, evidence) for each in signature]
    kind: Literal["class", "function"] = "class" if api.kind == "class" else "function"
    if kind == "function" and parameters:
        parameters[0] = parameters[0].model_copy(update={"dtype": "tensor", "structure": "tensor"})
    worked: dict[str, Any] = {}
    if (example := plainest_call(seen, evidence.spell)) is not None:
        worked = {
            "example": spelled_all(example.arguments, evidence.spell) or {},
            "inputs": tuple(each.shape for each in example.inputs),
            "takes": inputs_of(example.inputs),
        }
    elif kind == "class" and (structure := structure_of(seen)) is not None:
        made = spelled_all(structure.arguments, evidence.spell)
        worked = {} if made is None else {"example": made, "takes": structure.takes}
    texts: list[tuple[Source, str]] = [("error message", message) for message in evidence.refusals]
    texts.append(("docstring", api.doc))
    return Facts(
        api=api.name,
        kind=kind,
        definition=definition_of(api.doc),
        parameters=tuple(parameters),
        relations=kept(relations_of(texts, parameters), seen, parameters),
        ranks=tuple(sorted({len(each.inputs[0].shape) for each in seen if each.inputs})),
        dtypes=_frequent(each.inputs[0].dtype for each in seen if each.inputs),
        **worked,
        origin=Origin(source="trace") if any(each.inputs for each in seen) else None,
    )


def seen_calls(api: Api, calls: Iterable[Invocation]) -> list[SeenCall]:
    """Return the recorded calls with arguments named by the signature, or by the docstring if it has no names."""
    names = [*api.params] or [each.name for each in told(api.doc)]
    return list(layers_seen(calls, names) if api.kind == "class" else functions_seen(calls, names))


def plainest_call(seen: Iterable[SeenCall], spell: Spell) -> SeenCall | None:
    """Return the plainest working call that can be written: fewest tensors, fewest parameters, smallest input."""
    plain = [each for each in seen if each.plain and spelled_all(each.arguments, spell) is not None]
    return min(plain, key=_plainness, default=None)


def plainest_first(seen: Iterable[SeenCall]) -> list[SeenCall]:
    """Sort calls without repeated arguments, the plainest first; constructions that were never applied come last."""
    found: dict[tuple[bool, tuple[tuple[str, Value], ...]], SeenCall] = {}
    for each in sorted(seen, key=_plainness):
        found.setdefault((bool(each.inputs), tuple(each.arguments.items())), each)
    return list(found.values())


def _plainness(seen: SeenCall) -> tuple[object, ...]:
    if not seen.inputs:
        return True, len(seen.arguments)
    first = seen.inputs[0]
    tensors = sum(kind_of(value)[0] in ("tensor", "callable") for value in seen.arguments.values())
    poor = 0 in first.shape or len(first.shape) < MIN_RANK
    return False, poor, len(seen.inputs), tensors, first.dtype != "float32", len(seen.arguments), sum(first.shape)


def spelled_all(arguments: Mapping[str, Value], spell: Spell) -> dict[str, str] | None:
    """Return the arguments as expressions; None if one of them has none."""
    texts = {name: text for name, value in arguments.items() if (text := spelled(value, spell)) is not None}
    return texts if len(texts) == len(arguments) else None


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
        more = extractor.facts(evidence.api)
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


MAX_SENTENCES, MAX_DEFINITION = 2, 400
_SIGNATURE = re.compile(r"[\w.]+\([^\n]*\)(?: *->[^\n]*)?$")
_MARKUP = re.compile(r":\w+(?::\w+)?:(?=`)|`+~?(?P<text>[^`<]*)(?:<[^`>]*>)?`+|\*\*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_DEFAULT = re.compile(r"[Dd]efaults?(?: value)?(?: is| to|:|=)+\s*`*(?P<value>'[^']*'|\"[^\"]*\"|[-+\w.]+)`*")
_TYPES = (
    ("bool", r"bool(?:ean)?s?|[Ii]f\b.{0,12}True|[Ww]hether"),
    ("tensor", r"tensor|ndarray|Var\b"),
    ("dtype", r"dtype"),
    ("callable", r"callable|function|initiali[sz]er|regulari[sz]er|constraint"),
    ("int", r"int(?:eger)?s?\b|number of|size of|dimensionality"),
    ("float", r"float|probability|rate\b|epsilon"),
    ("str", r"str(?:ing)?\b|one of \W?[\"']"),
)
_STRUCTURES = {"int": "integer", "tuple": "tuple", "list": "list"}


class ParameterEntry(NamedTuple):
    """A docstring's entry about a parameter."""

    name: str
    dtype: str = ""  # in the words of `facts.Parameter`, "" if unknown
    structure: str = ""  # in the words of `facts.Parameter`, "" if unknown
    default: str | None = None


def definition_of(doc: str) -> str:
    """Return the first sentences of a docstring, without markup and without its signature."""
    lines = inspect.cleandoc(doc).splitlines()
    while lines and (not lines[0].strip() or _SIGNATURE.match(lines[0].strip())):
        lines.pop(0)
    blank = next((place for place, line in enumerate(lines) if not line.strip()), len(lines))
    text = " ".join(" ".join(lines[:blank]).split())
    return " ".join(_SENTENCE.split(_MARKUP.sub(r"\g<text>", text))[:MAX_SENTENCES])[:MAX_DEFINITION]


def told(doc: str) -> list[ParameterEntry]:
    """Return the parameters that a docstring has entries for, in order."""
    found: dict[str, ParameterEntry] = {}
    for name, text, kind in entries(doc):
        found.setdefault(name, _told(name, kind, text))
    return list(found.values())


def _told(name: str, kind: str, text: str) -> ParameterEntry:
    said = kind or text.split(".")[0][:80]
    dtype = next((dtype for dtype, pattern in _TYPES if re.search(rf"\b(?:{pattern})", said)), "")
    named = re.search(r"\b(int|tuple|list)", said)
    structure = "tensor" if dtype == "tensor" else _STRUCTURES[named[1]] if named else ""
    default = _DEFAULT.search(text)
    value = expression(default["value"].rstrip(".")) if default else ("None" if "optional" in kind else None)
    return ParameterEntry(name, dtype, structure or ("integer" if dtype == "int" else ""), value)


class Homes(NamedTuple):
    """The namespace of layers and the namespace of equivalent functions; empty if there is none."""

    layers: str
    functions: str


def homes(apis: Sequence[Api], applied: Collection[str]) -> Homes:
    """Find the namespaces of layers and of functions.

    The layers' namespace is the one with most classes of which an instance was applied to a tensor. The functions'
    namespace shares most names with it. Names are compared without case and underscores, and the score is the harmonic
    mean of both shares.

    Args:
        applied: the names of the classes of which an instance was applied to a tensor.
    """
    counts = Counter(_space(api.name) for api in apis if api.kind == "class" and api.name in applied)
    layers = max(sorted(counts), key=lambda space: counts[space], default="")
    named = {_folded(name) for api in apis if api.kind == "class" for name in _names_in(api, layers)}
    functions: defaultdict[str, set[str]] = defaultdict(set)
    for api in apis:
        for name in (api.name, *api.aliases) if api.kind == "function" else ():
            functions[_space(name)].add(_folded(name))
    alike = {space: names for space, names in functions.items() if names & named}
    shared = {space: 2 * len(names & named) / (len(names) + len(named)) for space, names in alike.items()}
    return Homes(layers, max(sorted(shared), key=lambda space: shared[space], default=""))


def of_homes(apis: Iterable[Api], found: Homes) -> Iterator[Api]:
    """Yield the classes and functions that have a name in these namespaces."""
    for api in apis:
        spaces = [found.layers] if api.kind == "class" else [found.layers, found.functions]
        if api.kind in ("class", "function") and any(space and _names_in(api, space) for space in spaces):
            yield api


def _names_in(api: Api, space: str) -> list[str]:
    return [name for name in (api.name, *api.aliases) if _space(name) == space]


def _space(name: str) -> str:
    return name.rpartition(".")[0]


def _folded(name: str) -> str:
    return name.rpartition(".")[2].replace("_", "").lower()
