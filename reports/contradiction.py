"""A bug as a contradiction in one line: the call's result, and the expected result.

Lists, titles and reports all take this line. Its facts are values out of texts of untrusted code, so every text is cut.
"""

from __future__ import annotations

import re
from functools import cache
from math import isnan
from typing import NamedTuple

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.adapters.quotes import quoted_in
from fuzz_core.ir.outcome import Outcome, reason_of
from fuzz_core.oracles.kinds import ACCEPTS, OUT_OF_BOUNDS, REFUSES, RESIZED, WRONG, kind_of
from fuzz_core.triage.cluster import Bug
from fuzz_core.triage.recheck import asserted, blame_in
from nightfuzz.reports.text import TITLE, bounded, call_of

VALUE = 40
# A list of issues shows about so many characters.
LONG_TITLE = 180
READ = 4000
_SOURCE_PLACE = re.compile(
    r'\s+at "[^"\n]*"(?::\d+)?,?(?: please report a bug to [\w ]+\.)?|\s*\{\{[^{}\n]*\}\}\s*|\s*\[Op:\w+\](?: name:.*)?'
)
_EXPLAINED = re.compile(r"^.* (INTERNAL ASSERT FAILED: )")
# The reason that a dying process prints, the most reliable form first.
_CHECKS = [
    re.compile(pattern)
    for pattern in (
        r"(Check failed: .*)",
        r"(what\(\): .*)",
        r"((?:malloc|free|realloc|calloc|munmap_chunk)\w*\(\): .*|double free.*|corrupted .*|.*smashing detected.*)",
        r"(Assertion .* failed.*)",
        r": F [^\n]*?\] (.*)",
        r"\] (.*)",
    )
]
_SIGNALS = {
    "SIGSEGV": "segmentation fault", "SIGFPE": "floating point exception", "SIGABRT": "abort", "SIGBUS": "bus error",
    "SIGILL": "illegal instruction",
}  # fmt: skip
# How the assertion of a script names both values: in our scripts, PyTorch, its gradcheck, NumPy and TensorFlow.
_ASSERTED = [
    re.compile(pattern, re.DOTALL | re.MULTILINE)
    for pattern in (
        r"attribute '(?P<what>\w+)' do not match: (?P<actual>.{1,80}?) != (?P<expected>.{1,80}?)\.(?:\s|\Z)",
        r"^expected (?P<expected>.{1,1200}?), got (?P<actual>.{1,1200}?)"
        r"(?:\n(?:Mismatch|\(shapes|x and y|not close|Max )|\Z)",
        r"Expected (?P<expected>[^\n]{1,200}?) but got (?P<actual>[^\n]{1,200}?)\.(?:\s|\Z)",
        r"numerical:(?P<expected>.{1,1200}?)\n? ?analytical:(?P<actual>.{1,1200}?)(?:\n\n|\Z)",
    )
]
# How a worker names the values of a mode (`actual`) and of the mode that it is compared with.
_COMPARED = [
    re.compile(pattern)
    for pattern in (
        r"another (?P<what>derivative)\nby tensor \d+: (?P<actual>.{1,80}), expected (?P<expected>.{1,80})",
        r"(?P<what>derivative) by tensor \d+ is not equal\n(?P<actual>.{1,80}) against (?P<expected>.{1,80})",
        r"another (?P<what>[\w ]+)\n(?P<actual>.{1,80}), expected (?P<expected>.{1,80})",
        r"\n?first at \(.{0,80}?\): (?P<actual>.{1,80}) against (?P<expected>.{1,80})",
        r"\A(?P<what>[\w ]{1,40}) is (?P<actual>.{1,80}), expected (?P<expected>.{1,80})",
    )
]
_TIMES = re.compile(
    r"^expected at most (?P<factor>\d+) times the \S+ s (?P<fast>.{1,80}), got \S+ s (?P<slow>.{1,80})$", re.MULTILINE
)
_COUNT = re.compile(r"(?:Mismatched elements: |\bin )?(\d+) ?(?:/|of) ?(\d+)(?: \(| elements?)")
_LARGEST = re.compile(r"Greatest absolute difference: (\S+)")
_PROPERTY = re.compile(r"\A(?:another )?(shape|dtype|stride|type of result|number of results)\b")
_SAID = re.compile(r"\w+=(?:torch\.\w+|\w+\([^)]*\)|\([^)]*\)|'[^']*'|[\w.<>]+)|\bshape=\S+")
_LIBRARY = re.compile(r"\btorch\.(?:Size(?=\())?")
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf|nan|True|False)(?![\w])")
_BOOLEANS = {"True": "1", "False": "0"}
_NAMES = {"derivative": "gradient", "stride": "strides", "type of result": "type"}
# The sentence for each witness against one of two results; `{what}` stands for the compared property.
_EVIDENCE = {
    "difference quotients": "difference quotients agree with the right {what}",
    "double precision": "the right {what} is closer to double precision",
    "NumPy": "NumPy's function of the same name gives the right {what}",
    RESIZED: "the plain call changes the shape of its argument",
}


class ValuePair(NamedTuple):
    """Two values that ought to be the same.

    Attributes:
        what: the compared property, such as a dtype or a gradient.
    """

    actual: str
    expected: str
    what: str = ""


def title(bug: Bug) -> str:
    """Return the call and its contradiction in one line; a long call is cut before the contradiction is."""
    call, told = call_of(bug.script, bug.api), contradiction(bug)
    return bounded(f"{call if len(call) + len(told) < LONG_TITLE else f'{bug.api}(…)'}: {told}", TITLE)


def seen_again(bug: Bug, outcome: Outcome, shown: bool) -> str:
    """Return in one line the result of a later run of a bug's call.

    Args:
        shown: whether the run shows the bug.
    """
    if shown:
        return outcome_sentence(bug.kind, asserted(bug.outcome, outcome), mode_of(bug))
    if outcome.kind == "ok":
        return "both results agree" if mode_of(bug) else "the call returns"
    if outcome.kind == "timeout":
        return "the call does not return in time"
    return outcome_sentence("crash", outcome)


def compares_numbers(title: str) -> bool:
    """Return whether a title is about numbers, to which the libraries' rules for comparing results apply."""
    return re.search(r": (?:result|gradient|NaN or infinity) ", title) is not None


def contradiction(bug: Bug) -> str:
    """Return in one line the result of a bug's call, and the expected result."""
    return outcome_sentence(bug.kind, bug.outcome, mode_of(bug))


def wrong_side(bug: Bug) -> str:
    """Return the name of the wrong one of two results; empty without evidence, and if the contradiction names it."""
    mode, wrong, witness = _blame(bug)
    if not witness or _is_trusted(mode):
        return ""
    how, reference = _phrases()[mode]
    return f"the one {how if wrong == mode else reference}, by {witness}"


def blame_sentence(bug: Bug) -> str:
    """Return a sentence that names the wrong one of two results and the evidence; empty without evidence."""
    mode, wrong, witness = _blame(bug)
    if not witness:
        return ""
    how, reference = _phrases()[mode]
    what = "gradient" if bug.kind == "wrong-gradient" else "result"
    if _is_trusted(mode):
        return f"The {what} {reference} is wrong: it differs from the {what} {how}."
    first, second = ("wrong", "right") if wrong == mode else ("right", "wrong")
    evidence = _EVIDENCE.get(witness, f"{witness} gives the right {{what}}").replace("{what}", what)
    return f"The {what} {how} is {first}. The {what} {reference} is {second}: {evidence}."


def _blame(bug: Bug) -> tuple[str, str, str]:
    """Return the mode of a bug, the wrong mode and its witness; an empty witness without evidence."""
    mode = mode_of(bug)
    wrong, _, witness = blame_in(bug.outcome.text).removeprefix(WRONG).partition(", by ")
    return mode, wrong, witness if mode in _phrases() else ""


def mode_of(bug: Bug) -> str:
    """Return the mode that differs from its reference; empty for a bug of another kind."""
    head = f"{bug.api}: {bug.kind}: "
    compared = kind_of(bug.kind).fault == "comparison" and bug.signature_text.startswith(head)
    return bug.signature_text.removeprefix(head).partition(":")[0] if compared else ""


def outcome_sentence(kind: str, outcome: Outcome, mode: str = "") -> str:
    """Return an outcome of this kind in one line of a maintainer's words."""
    found = kind_of(kind)
    if kind == "bounds":
        quoted = quoted_in(outcome.text)
        what = f'{quoted.argument}={quoted.value}: "{quoted.text}"' if quoted else f"it: {outcome.text}"
        return _line(f"returns, though the documentation forbids {what}")
    if kind == "leak" and outcome.text:
        # How many pages a script has found differs from run to run.
        return _line(f"memory leak: {outcome.text.partition(chr(10))[0]}")
    if kind == "slow" and (times := _TIMES.search(outcome.text)):
        # The seconds differ from run to run.
        return _line(f"takes more than {times['factor']} times as long {times['slow']} as {times['fast']}")
    if found.oracle in ("differential", "nonfinite"):
        return _line(_difference(kind, outcome.text[:READ].strip(), mode))
    if found.title:
        return found.title
    if outcome.kind == "signal":
        name = f"{_SIGNALS.get(outcome.name, 'killed')} ({outcome.name})"
        return _line(": ".join(part for part in (name, _check(outcome.text)) if part))
    first = reason_of(outcome.text).strip()[: TITLE * 10].partition("\n")[0]
    said = ": ".join(part.strip(" .") for part in _SOURCE_PLACE.sub("\n", first).split("\n") if part.strip(" ."))
    # The library's message about a failed check explains more than the condition.
    said = _EXPLAINED.sub(r"\1", said)
    return _line(": ".join(part for part in (outcome.name, said) if part))


def _line(text: str) -> str:
    return bounded(text, TITLE * 2)


def _check(text: str) -> str:
    """Return the failed check among a process's last words, without the place in the source."""
    words = f"{text[: TITLE * 20]}\n{text[TITLE * 20 :][-TITLE * 20 :]}"
    return next((match.group(1) for match in (check.search(words) for check in _CHECKS) if match), "")


def _difference(kind: str, text: str, mode: str) -> str:
    """Return how a mode differs from its reference, by the values in the verdict's text."""
    first = text.partition("\n")[0]
    if mode not in _phrases():
        # A model program says itself how its results differ.
        return ": ".join(part for part in (kind_of(kind).title, first) if part)
    how, reference = _phrases()[mode]
    for word, here, there in ((ACCEPTS, "accepted", "refused"), (REFUSES, "refused", "accepted")):
        if text.startswith(word):
            said = text.partition(": ")[2].partition("\n")[0]
            refusal = bounded(said, 2 * VALUE)
            parts = [f"{here} {how}", f"{there} {reference}"]
            return ", ".join(f"{part} ({refusal})" if part.startswith("refused") else part for part in parts)
    text = text.removesuffix(blame_in(text)).rstrip()
    if _is_trusted(mode):
        how, reference = reference, how
    found, shown = values_in(text, mode, kind != "wrong-metadata"), text.partition("\n")[2]
    if "analytical:" in text:
        how, reference = "by forward mode" if "with forward mode" in text else how, "by difference quotient"
    what = "gradient" if kind == "wrong-gradient" else "result"
    what = f"{kind_of(kind).title}: the result" if kind == OUT_OF_BOUNDS else what
    named = (found and found.what) or (kind == "wrong-metadata" and "".join(_PROPERTY.findall(first)[:1]))
    what = _NAMES.get(named, named) if named else what
    # The script's call may be a smaller one than the call that was found.
    count = _COUNT.search(shown) if _asserted(shown) else _COUNT.search(text)
    several = count if count and int(count[2]) > 1 else None
    many = f" ({several[1]} of {several[2]} elements)" if several else ""
    if found and max(len(found.actual), len(found.expected)) <= VALUE:
        return f"{what} {found.actual} {how}, {found.expected} {reference}{many}"
    if kind == "nonfinite":
        return f"NaN or infinity {how}{many}, finite {reference}"
    if several:
        largest = _LARGEST.search(text)
        by = f", by up to {_short(largest[1])[0]}" if largest else ""
        return f"{what} {how} differs from that {reference}: {several[1]} of {several[2]} elements{by}"
    return f"{what} {how} differs from that {reference}"


def values_in(text: str, mode: str = "", numeric: bool = True) -> ValuePair | None:
    """Return the values of the mode and of its reference from a text, shortened; None if the text names no values.

    Args:
        numeric: whether to return, for two tensors, the numbers at the worst place.
    """
    text = text.removesuffix(blame_in(text)).rstrip()
    if found := _asserted(text):
        return _shown(found, numeric)
    match = next((match for match in (pattern.search(text) for pattern in _COMPARED) if match), None)
    if match is None:
        return None
    found = _pair(match)
    found = found._replace(actual=found.expected, expected=found.actual) if _is_trusted(mode) else found
    return _shown(found, numeric)


def _asserted(text: str) -> ValuePair | None:
    match = next((match for match in (pattern.search(text) for pattern in _ASSERTED) if match), None)
    return match and _pair(match)


def _pair(match: re.Match[str]) -> ValuePair:
    return ValuePair(match["actual"], match["expected"], match.groupdict().get("what") or "")


def _shown(found: ValuePair, numeric: bool) -> ValuePair:
    actual, expected = (" ".join(_LIBRARY.sub("", text).split()) for text in found[:2])
    if not numeric or found.what not in ("", "derivative"):
        return found._replace(actual=actual, expected=expected)
    parts = [_NUMBER.findall(_SAID.sub("", text)) for text in (actual, expected)]
    if not parts[0] or len(parts[0]) != len(parts[1]) or "..." in actual + expected:
        return found._replace(actual=actual, expected=expected)
    pairs = list(zip(*parts, strict=True))
    actual, expected = _short(*max(pairs, key=lambda pair: _apart(*pair)))
    return found._replace(actual=actual, expected=expected)


def _apart(first: str, second: str) -> float:
    """Return the distance of two numbers; infinite if they differ and one is not finite."""
    a, b = _number(first), _number(second)
    if isnan(a) or isnan(b):
        return 0.0 if isnan(a) and isnan(b) else float("inf")
    return 0.0 if a == b else abs(a - b)


def _number(text: str) -> float:
    return float(_BOOLEANS.get(text, text))


def _short(*numbers: str) -> tuple[str, ...]:
    """Return the numbers with the fewest digits that keep them different."""
    for digits in (3, 6, 9, 17):
        told = tuple(
            text if text in ("True", "False") else f"{_number(text.rstrip('.')):.{digits}g}" for text in numbers
        )
        if len(set(told)) == len(set(numbers)):
            return told
    return numbers


def _is_trusted(mode: str) -> bool:
    """Return whether the mode is the one whose result is right: double precision, or a difference quotient."""
    return mode in _trusted()


@cache
def _phrases() -> dict[str, tuple[str, str]]:
    modes = (item for library in KNOWN_LIBRARIES for item in dialect_of(library).modes.items())
    return {name: mode.phrases for name, mode in modes if mode.phrases[0]}


@cache
def _trusted() -> frozenset[str]:
    modes = (item for library in KNOWN_LIBRARIES for item in dialect_of(library).modes.items())
    return frozenset(name for name, mode in modes if mode.trusted or mode.relation == "finite")
