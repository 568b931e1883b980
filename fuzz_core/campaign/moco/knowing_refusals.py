"""Bounds and choices in what a library says of values that it refuses, held against what it accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fuzz_core.campaign.moco.knowing_trials import Bench, Trial
from fuzz_core.collect.constraints.entries import plain
from fuzz_core.collect.constraints.messages import from_message
from fuzz_core.collect.constraints.phrases import LIST, quoted
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.values import prim
from fuzz_core.modelgen.moco.facts import Parameter

# Just outside what numbers usually may be.
WHOLE_ODD, REAL_ODD, TEXT_ODD = (-1, 0), (-1.0, 0.0, 2.0), "no such thing"
SOURCE = "error message"
_SUBJECT = re.compile(r"^.*?\b(must|should|has to|have to|needs to) be ", re.DOTALL)
# What is said of illegal numbers in other words than "must be".
_REFUSALS = (
    (re.compile(r"\bnon-?positive \w+(?: \w+)? (?:is|are) not (?:supported|allowed)"), "positive"),
    (re.compile(r"(?<!non-)\bnegative \w+(?: \w+)? (?:is|are) not (?:supported|allowed)"), "non-negative"),
    (re.compile(r"\b(?:[Ee]xpect(?:s|ed)|[Rr]equires?) an? (?:strictly )?(positive|non-negative)\b.*"), r"\1"),
    (re.compile(r"\bdo(?:es)? not satisfy \W?\w+ ([<>]=? ?-?\d+)\b"), r"\1"),
    (re.compile(r"(?<!non-)\bnegative \w+ -1\b"), "non-negative"),
)
_INTERVAL = re.compile(
    r"^(?:an? (?:number|float|int(?:eger)?|value) )?(in (?:the )?range [\[(][^\])]*[\])]).*", re.DOTALL
)
_VALUE = "it"
_SENTENCE = re.compile(r"(?<=[.;!])\s+|\n")
_OPEN = {"minimum": "above", "maximum": "below"}


def provoked(bench: Bench, trial: Trial, parameter: Parameter, names: Sequence[str]) -> Iterator[Constraint]:
    """What the library says of illegal values of a parameter, tried one at a time.

    A message that names no other parameter is about the one that was changed, where what is legal by it is accepted.
    """
    for value in _odd(parameter):
        told = bench.tried(trial.having(parameter.name, prim(value)))
        if told.outcome.kind != "exception":
            continue
        if isinstance(value, str):
            yield from _choices(bench, trial, parameter, told.outcome.text)
        else:
            yield from _bounds(bench, trial, parameter, told.outcome.text, names)


def _odd(parameter: Parameter) -> Sequence[int | float | str]:
    if parameter.dtype == "str":
        return () if parameter.choices else (TEXT_ODD,)
    odd: dict[str, Sequence[int | float]] = {"int": WHOLE_ODD, "float": REAL_ODD}
    return odd.get(parameter.dtype, ())


def _bounds(
    bench: Bench, trial: Trial, parameter: Parameter, message: str, names: Sequence[str]
) -> Iterator[Constraint]:
    others = [name for name in names if name != parameter.name]
    for sentence in _SENTENCE.split(message):
        for subject, rule in _rules(sentence):
            about = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", subject) for name in others)
            found = () if about else from_message(trial.api, [_VALUE], f"{_VALUE} must be {rule}")
            for each in found:
                checked = settled(bench, trial, each._replace(argument=parameter.name))
                if checked is not None:
                    yield checked._replace(text=plain(sentence))


def _rules(sentence: str) -> Iterator[tuple[str, str]]:
    """(what a sentence is about, what it has to be) as far as it says so in one of these ways."""
    for pattern, rule in _REFUSALS:
        for match in pattern.finditer(sentence):
            yield match[0], match.expand(rule)
    subject = _SUBJECT.match(sentence)
    if subject is not None:
        yield subject[0], _INTERVAL.sub(r"\1", sentence[subject.end() :])


def settled(bench: Bench, trial: Trial, found: Constraint) -> Constraint | None:
    """The bound as the library keeps it: one that is refused itself is open. None where nothing near it is accepted."""
    if found.kind in _OPEN and _accepts(bench, trial, found, 0):
        return found
    opened = found._replace(kind=_OPEN.get(found.kind, found.kind))
    inside = -1 if opened.kind == "below" else 1
    return opened if any(_accepts(bench, trial, opened, inside * step) for step in (1, 0.25)) else None


def _accepts(bench: Bench, trial: Trial, found: Constraint, step: float) -> bool:
    number = float(found.bounds[0]) + step
    values = [prim(int(number)), prim(number)] if number.is_integer() else [prim(number)]
    return any(bench.works(trial.having(found.argument, value)) for value in values)


def _choices(bench: Bench, trial: Trial, parameter: Parameter, message: str) -> Iterator[Constraint]:
    """The texts that a message lists, where the library accepts one of them at least."""
    for sentence in map(plain, _SENTENCE.split(message)):
        listed = LIST.search(sentence)
        texts = quoted(listed["list"]) if listed is not None else ()
        if TEXT_ODD not in texts and any(bench.works(trial.having(parameter.name, prim(text))) for text in texts):
            yield Constraint(trial.api, parameter.name, "choices", texts, sentence, SOURCE)
            return
