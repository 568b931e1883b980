"""Constraints between parameters, from sentences. A constraint must be true for all working calls."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fuzz_core.ir.values import Prim, Seq, Value
from fuzz_core.modelgen.expressions import constants, holds, names_of, read
from fuzz_core.modelgen.moco.facts import Origin, Parameter, ParameterRelation, Source
from fuzz_core.modelgen.moco.knowledge.seen import SeenCall

MAX_TEXT = 300
_MARKUP = re.compile(r":\w+(?::\w+)?:(?=`)|[`*]+(?=\w)|(?<=\w)[`*]+|['\"](?=[a-z_]+['\"])|(?<=[a-z_])['\"]")
_SENTENCE = re.compile(r"(?<=[.;!])\s+|\n\s*\n|\n\s*[*-] ")
_HEDGED = re.compile(r"\b(?:if|when|unless|otherwise|typically|usually|example|e\.g|recommend\w*)\b", re.I)
_MUST = r"(?:must|should|has to|have to|needs to|need to)(?: both| all| always)? be"
_THE = r"(?:the |its |argument |parameter )?"
_NAME = r"(?<![\w.])[A-Za-z_]\w*(?!\w)"
_TWO = rf"({_NAME}),? (?:or|and) ({_NAME})"
_GIVEN = r"(?:must|should|has to|needs to) be (?:defined|specified|given|set|provided|passed)"
_COMPARISONS = (
    (r"(?:greater|larger) than or equal to|at least|>=", ">="),
    (r"(?:less|smaller) than or equal to|at most|no (?:more|greater|larger) than|<=", "<="),
    (r"(?:strictly )?(?:greater|larger|bigger) than|>", ">"),
    (r"(?:strictly )?(?:less|smaller) than|<", "<"),
    (r"equal to|the same as|==", "=="),
    (r"different from|!=", "!="),
)
# An error message shows the value behind a parameter's name.
_SUBJECT = rf"({_NAME})(?: \([^()]*\))? {_MUST}"
_END = r"(?=$|[.,;:)]| and\b| \()"
_ORDERED = tuple((re.compile(rf"{_SUBJECT} (?:{words}) {_THE}({_NAME}){_END}"), sign) for words, sign in _COMPARISONS)
_DIVIDED = re.compile(
    rf"(?P<left>{_NAME}(?:(?:,| and|, and) {_NAME})*) {_MUST} (?:divisible by|an? (?:integer )?multiple of) "
    rf"{_THE}(?P<by>{_NAME})"
)
_NOT_BOTH = re.compile(rf"\b[Oo]nly one of {_TWO}|{_TWO} (?:can ?not|can't|must not|should not) both be")
_ONE_AT_LEAST = re.compile(rf"\b(?:[Ee]ither|at least one of|exactly one of) {_TWO} {_GIVEN}")
_INCOMPATIBLE = re.compile(
    rf"({_NAME}) value != (\d+) is incompatible with \w+ any ({_NAME}) value != (\d+)",
)


def stated(text: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (expression, sentence) of each constraint between two of these parameters that a text states."""
    for sentence in _SENTENCE.split(inspect.cleandoc(text)):
        words = " ".join(_MARKUP.sub("", sentence).split())
        for expression in dict.fromkeys(_found(words, names)):
            yield expression, words[:MAX_TEXT]


def _found(words: str, names: Collection[str]) -> Iterator[str]:
    """Yield relations in a sentence.

    If it speaks of special cases, only mutually exclusive options count.
    """
    if not _HEDGED.search(words):
        yield from _divided(words, names)
        yield from _ordered(words, names)
    yield from _exclusive(words, names)


def _divided(words: str, names: Collection[str]) -> Iterator[str]:
    for match in _DIVIDED.finditer(words):
        for left in re.findall(_NAME, match["left"]):
            if left in names and match["by"] in names:
                yield f"{left} % {match['by']} == 0"


def _ordered(words: str, names: Collection[str]) -> Iterator[str]:
    for pattern, sign in _ORDERED:
        for left, right in pattern.findall(words):
            if left in names and right in names:
                yield f"{left} {sign} {right}"


def _exclusive(words: str, names: Collection[str]) -> Iterator[str]:
    for pattern, sign in ((_NOT_BOTH, "is"), (_ONE_AT_LEAST, "is not")):
        for match in pattern.finditer(words):
            left, right = (each for each in match.groups() if each is not None)
            if left in names and right in names:
                yield f"{left} {sign} None or {right} {sign} None"
    for left, one, right, other in _INCOMPATIBLE.findall(words):
        known = next((each for each in (right, f"{right}s") if each in names), None)
        if left in names and known is not None:
            yield f"{left} == {one} or {known} == {other}"


def relations_of(texts: Iterable[tuple[Source, str]], parameters: Sequence[Parameter]) -> list[ParameterRelation]:
    """Return the relations that texts state about these parameters, each expression once, from the first such text."""
    names = [parameter.name for parameter in parameters]
    found: dict[str, ParameterRelation] = {}
    for source, text in texts:
        for expression, words in stated(text, names):
            origin = Origin(source=source, text=words)
            about = tuple(name for name in names if name in names_of(read(expression)))
            found.setdefault(expression, ParameterRelation(parameters=about, expression=expression, origin=origin))
    return list(found.values())


def kept(
    relations: Iterable[ParameterRelation], seen: Iterable[SeenCall], parameters: Sequence[Parameter]
) -> tuple[ParameterRelation, ...]:
    """Return the relations that no working call contradicts; an omitted argument has its default."""
    defaults = constants({each.name: each.default for each in parameters if each.default is not None})
    calls = [_call(defaults, each.arguments) for each in seen]
    return tuple(each for each in relations if _holds_of_all(read(each.expression), calls))


def _call(defaults: Mapping[str, Any], arguments: Mapping[str, Value]) -> dict[str, Any]:
    """Return a call's values with defaults.

    An argument that is an object gets neither its default nor a value.
    """
    left = {name: value for name, value in defaults.items() if name not in arguments}
    return {**left, **literals(arguments)}


def _holds_of_all(tree: ast.expr, calls: Iterable[Mapping[str, Any]]) -> bool:
    return all(holds(tree, call) is not False for call in calls)


def literals(arguments: Mapping[str, Value]) -> dict[str, Any]:
    """Return the arguments that are scalars or sequences of them, as Python objects."""
    found = {name: _literal(value) for name, value in arguments.items()}
    return {name: value for name, value in found.items() if value is not ...}


def _literal(value: Value) -> Any:
    """Return a scalar or a sequence as a Python object, and `...` for any other value."""
    if isinstance(value, Prim):
        return value.value if value.type in ("none", "bool", "int", "float", "str") else ...
    if isinstance(value, Seq) and value.kind in ("tuple", "list"):
        items = tuple(map(_literal, value.items))
        return ... if ... in items else items
    return ...
