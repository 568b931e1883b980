"""The few phrases that state a bound unambiguously."""

from __future__ import annotations

import re
from math import isinf

from fuzz_core.ir.constraints import Bound

Found = tuple[str, tuple[Bound, ...]]

_WORDS = {"zero": 0.0, "one": 1.0, "two": 2.0}
_N = r"(?:[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+|inf)|zero|one|two)"
# The text after a bound must end it: "at least 2 elements" bounds no number, "or -1" opens what was closed.
_END = r"(?=\s*(?:$|[.;)\]]|,(?! or)|\band\b|or None\b|\()|\s+and\b)(?!,? or (?!None\b))"
_NOUN = r"(?: (?:python |floating[- ]point )?(?:int(?:eger)?|float|number|scalar|value)s?)?"
# A word for the argument itself, and what it is for.
_NAMED = r"\w+(?=$|[.;)]| (?:representing|specifying|controlling|that|which|for|of|to)\b)"
_INTERVAL = rf"(?P<open>[\[(])\s*(?P<low>{_N})\s*,\s*(?P<high>{_N})\s*(?P<close>[\])])"
RANKS = ("rank", "least-rank")
_PHRASES = (
    ("interval", rf"between (?P<low>{_N}) and (?P<high>{_N}){_END}"),
    ("interval", rf"from (?P<low>{_N}) to (?P<high>{_N}){_END}"),
    ("interval", rf"(?:with)?in (?:the )?(?:(?:half-)?open |closed )?(?:range |interval )?(?:of )?{_INTERVAL}{_END}"),
    ("interval", rf"(?P<low>{_N}) ?(?P<open><)?=? ?\w+ ?(?P<close><)?=? ?(?P<high>{_N}){_END}"),
    ("minimum", rf"(?:>=|(?:greater|larger) than or equal to|at least|no less than) ?(?P<low>{_N}){_END}"),
    ("above", rf"(?:>|(?:strictly )?(?:greater|larger) than) ?(?P<low>{_N}){_END}"),
    ("maximum", rf"(?:<=|less than or equal to|at most|no (?:more|greater) than) ?(?P<low>{_N}){_END}"),
    ("below", rf"(?:<|(?:strictly )?(?:less|smaller) than) ?(?P<low>{_N}){_END}"),
    ("above", rf"(?:an? )?(?:strictly )?positive{_NOUN}{_END}"),
    ("minimum", rf"(?:an? )?(?:non-?negative|weakly positive){_NOUN}{_END}"),
    ("minimum", rf"(?:an? )?non-?negative(?: scalar)? {_NAMED}"),
    (RANKS[0], rf"(?:an? )?(?:(?P<low>\d)-?d(?:imensional)?(?: tensor)?|(?:of )?rank (?P<of>\d)){_END}"),
    (RANKS[1], rf"(?:have )?at least (?:(?P<low>\d)-?d(?:imensional)?|(?:of )?rank (?P<of>\d)){_END}"),
)
PHRASES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PHRASES)

_QUOTED = r"(?:'[\w.+-]+'|\"[\w.+-]+\")"
_ITEM = rf"(?:{_QUOTED}|None|True|False|[-+]?\d+(?:\.\d+)?|-?inf)"
_BETWEEN = r"(?:\s*,\s*(?:or |and )?|\s*\|\s*|\s+or\s+|\s+and\s+|\s*/\s*)"
LIST = re.compile(rf"[\[({{]?\s*(?P<list>{_ITEM}(?:{_BETWEEN}{_ITEM})+)\s*[\])}}]?")
WORDS = re.compile(r"(?P<list>\w+(?:, \w+)*,? or \w+)")
BARS = re.compile(rf"{_ITEM}(?:\s*\|\s*{_ITEM})+")
# The text that may follow a complete list.
CLOSED = re.compile(
    r"\s*(?:$|[.;:)]|,? ?\(|,(?! ?(?:or|and|etc|\.\.|\w+ or\b))|\b(?:for|to|specifying|denoting)\b|that\b)"
)


def stated(text: str, start: int) -> list[Found]:
    """Return the bounds that a phrase beginning there states, none for an infinite end; [] if no phrase begins."""
    for kind, pattern in PHRASES:
        match = pattern.match(text, start)
        if match is not None:
            return _interval(match) if kind == "interval" else _single(kind, match)
    return []


def _single(kind: str, match: re.Match[str]) -> list[Found]:
    groups = match.groupdict()
    return _bound(kind, groups.get("low") or groups.get("of") or "0")


def _interval(match: re.Match[str]) -> list[Found]:
    low, high = ("above" if match.groupdict().get("open") in ("(", "<") else "minimum"), "maximum"
    if match.groupdict().get("close") in (")", "<"):
        high = "below"
    return _bound(low, match["low"]) + _bound(high, match["high"])


def _bound(kind: str, text: str) -> list[Found]:
    number = _WORDS.get(text.lower())
    number = float(text) if number is None else number
    if isinf(number):
        return []
    return [(kind, (int(number) if kind in RANKS else number,))]


def quoted(listed: str) -> tuple[str, ...]:
    """Return the quoted texts in a list of alternatives, and the name None if it is an alternative."""
    texts = tuple(text[1:-1] for text in re.findall(_QUOTED, listed))
    return (*texts, "none") if texts and re.search(r"\bNone\b", listed) else texts
