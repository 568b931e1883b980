"""Constraints on arguments that docstrings and the library's own refusals state: "`padding` must be non-negative"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from math import isinf

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Bound, Constraint
from fuzz_core.ir.docstrings import entries, plain
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.values import NONE, Prim, prim

Found = tuple[str, tuple[Bound, ...]]

_WORDS = {"zero": "0", "one": "1", "two": "2"}
_N = r"(?:[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+|inf)|zero|one|two)"
# The text after a bound must end it: "at least 2 elements" bounds no number, "or -1" opens what was closed.
_END = r"(?=\s*(?:$|[.;)\]]|,(?! or)|\band\b|or None\b|\()|\s+and\b)(?!,? or (?!None\b))"
_NOUN = r"(?: (?:python |floating[- ]point )?(?:int(?:eger)?|float|number|scalar|value)s?)?"
# A word for the argument itself, and what it is for.
_NAMED = r"\w+(?=$|[.;)]| (?:representing|specifying|controlling|that|which|for|of|to)\b)"
_INTERVAL = rf"(?P<open>[\[(])\s*(?P<low>{_N})\s*,\s*(?P<high>{_N})\s*(?P<close>[\])])"
RANKS = ("rank", "least-rank")
_PATTERNS = (
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
_PHRASES = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS]

_QUOTED = r"(?:'[\w.+-]*'|\"[\w.+-]*\")"
_ITEM = rf"(?:{_QUOTED}|None|True|False|[-+]?\d+(?:\.\d+)?|-?inf)"
_BETWEEN = r"(?:\s*,\s*(?:or |and )?|\s*\|\s*|\s+or\s+|\s+and\s+|\s*/\s*)"
LIST = re.compile(rf"[\[({{]?\s*(?P<list>{_ITEM}(?:{_BETWEEN}{_ITEM})+)\s*[\])}}]?")
WORDS = re.compile(r"(?P<list>\w+(?:, \w+)*,? or \w+)")
BARS = re.compile(rf"{_ITEM}(?:\s*\|\s*{_ITEM})+")
# The text that may follow a complete list.
CLOSED = re.compile(
    r"\s*(?:$|[.;:)]|,? ?\(|,(?! ?(?:or|and|etc|including|\.\.|\w+ or\b))|\b(?:for|to|that|(?!including)\w+ing)\b)"
)

# Sentences of docstrings.

# Words of a sentence that is about some calls: such a sentence states no bound by itself.
_SOME_CALLS = (
    r"\b(?:if|when|where|unless|otherwise|except|only|typically|usually|generally|often|recommend\w*|prefer\w*|ideally"
    r"|e\.g|i\.e|example|such as|case|cases|depend\w*|each|every|broadcast\w*|whose|expected|not)\b"
)
# Words of a clause about a part of the argument. If they stand before the bound, they say what the argument is.
_A_PART = r"\b(?:elements?|entries|shapes?|sizes?|length|sum|norm|along|last|first|mean|number of)\b|\\"
_CONDITIONED = re.compile(_SOME_CALLS, re.IGNORECASE)
_HEDGED = re.compile(f"{_SOME_CALLS}|{_A_PART}", re.IGNORECASE)
_LISTED_LOOSELY = re.compile(
    r"\b(?:if|when|unless|otherwise|e\.g|i\.e|example|such as|like|including|not|whether)\b", re.I
)
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z\"'({])")
_MUST = r"(?:must|should|has to|have to|needs to)(?: always)? be(?: set to)?(?: either)?"
_NOUNS = r"(?:int|ints|integer|integers|float|floats|number|scalar|value|real|double|tensor|tuple|list|string|str)"
# A declaration, as in "Float between 0 and 1" and "(int) >= 1".
_DECLARED = re.compile(
    rf"\(?(?:(?:an?|the|optional|python|scalar|single|{_NOUNS}|or)\b[,)]?\s*)*\b{_NOUNS}\b\)?(?: value)?,?\s+",
    re.IGNORECASE,
)
_SIGNED = re.compile(r"\(?(?:an? |optional,? |scalar )*(?=(?:strictly )?positive |non-?negative )", re.IGNORECASE)
_CLAUSE = r"(?:^|[,;] |\()"
_OF_A_KIND = rf"(?:(?:an? )?{_NOUNS}(?: or {_NOUNS})? )?"
_OBLIGED = re.compile(rf"{_CLAUSE}(?:it |this |value |the value |{_NOUNS} )?{_MUST} {_OF_A_KIND}", re.IGNORECASE)
_ONE_OF = re.compile(
    r"(?:\bone of|\beither|\bany of|\bstring from|\bchoices(?: are)?|\boptions(?: are)?|\bcan be(?: either)?|\bsupports"
    r"|\b(?:available|supported|allowed|acceptable|accepted|possible|valid)(?: \w{2,}s(?: are)?| are|(?=:)))"
    r":?\s+(?:of )?(?:the strings? )?",
    re.IGNORECASE,
)
_BARE_LIST = re.compile(r"(?:(?:an? |optional )*(?:string|str)[,:.]?\s+)?(?={?[\"'])", re.IGNORECASE)
_TYPES = re.compile(r"[Mm]ust be one of the following types: ((?:\w+(?:, )?)+)\.")
_DTYPES = {"half": "float16", "float": "float32", "double": "float64"}

# Error messages.

# All further numbers in a message come from the call that was refused: sizes, ranks, indices.
UNIVERSAL = (0, 1)
_KINDS = ("minimum", "above", "maximum", "below")
_HEDGED_MESSAGE = re.compile(
    r"\b(?:if|when|unless|otherwise|for|in order|elements?|each|at least one|dimensions?|sizes?)\b", re.I
)
# "The length of x" is not x; "the number of steps" is `steps`.
_ITSELF = r"(?<![\w.])(?:(?<=number of )|(?<!of ))"
_MESSAGE_SENTENCE = re.compile(r"(?<=[.;!])\s+|\n")
_RECEIVED = re.compile(r",?\s*(?:\b(?:but )?(?:got|received|found|was|is)\b|\(got\b|\. Received).*")


def from_docstring(api: Api) -> list[Constraint]:
    """Return the constraints of the docstring of an api, with the sentences that state them."""
    found = []
    for argument, text, _ in entries(api.doc):
        default = _default(argument, api)
        for (kind, bounds), words in _of_entry(argument, text, default):
            made = _with_default(Constraint(api.name, argument, kind, bounds, words, "docstring"), default)
            found += [made] if made is not None else []
    return list({(c.argument, c.kind): c for c in reversed(found)}.values())[::-1]


def _default(argument: str, api: Api) -> Prim | None:
    """Return the default of an argument, NONE if there is none; None if it is no number and no text."""
    own = next((each for each in api.signature if each.name == argument and not each.required), None)
    try:
        return NONE if own is None else prim(ast.literal_eval(own.default or ""))
    except (ValueError, SyntaxError):
        return None


def _with_default(constraint: Constraint, default: Prim | None) -> Constraint | None:
    """Return the constraint with its default allowed; None if the sentence must mean another rule.

    A default is a further choice. A bound that excludes the default is a misread sentence.
    """
    if default is None or constraint.holds(default) is not False:
        return constraint
    added = (*constraint.bounds, str(default.value))
    return constraint._replace(bounds=added) if constraint.kind == "choices" else None


def _of_entry(argument: str, text: str, default: Prim | None) -> Iterator[tuple[Found, str]]:
    for place, sentence in enumerate(_SENTENCE.split(text)):
        choices = _choices(sentence, place == 0) or _bare_choices(sentence, default)
        for found in (*_bounds(argument, sentence, place == 0), *choices, *_dtypes(sentence)):
            yield found, sentence


def _bounds(argument: str, sentence: str, declares: bool) -> list[Found]:
    if _CONDITIONED.search(sentence):
        return []
    named = re.compile(rf"{_CLAUSE}(?:the |this )?{re.escape(argument)} {_MUST} {_OF_A_KIND}", re.IGNORECASE)
    clauses = [match for pattern in (_OBLIGED, named) for match in pattern.finditer(sentence)]
    starts = [match.end() for match in clauses if not _HEDGED.search(sentence, match.start())]
    obliged = [found for start in starts for found in stated(sentence, start)]
    if obliged or not declares or _HEDGED.search(sentence):
        return obliged
    starts = [match.end() for pattern in (_DECLARED, _SIGNED) if (match := pattern.match(sentence))]
    # A rank that is only declared is that of the usual case: batched and unbatched input are often both taken.
    return [found for start in starts for found in stated(sentence, start) if found[0] not in RANKS]


def _choices(sentence: str, declares: bool) -> list[Found]:
    starts = [match.end() for match in _ONE_OF.finditer(sentence)]
    starts += [match.end() for match in re.finditer(rf"{_MUST} (?:in )?(?=[\[({{]?[\"'])", sentence, re.I)]
    starts += [match.start() for match in BARS.finditer(sentence)]
    if declares and (bare := _BARE_LIST.match(sentence)):
        starts.append(bare.end())
    for start in starts:
        match = LIST.match(sentence, start)
        if match is None or _LISTED_LOOSELY.search(sentence[:start]) or not CLOSED.match(sentence, match.end()):
            continue
        if texts := quoted(match["list"]):
            return [("choices", texts)]
    return []


def _bare_choices(sentence: str, default: Prim | None) -> list[Found]:
    """Return choices without quotes: words are texts, not types or argument names, if the default is among them."""
    for match in re.finditer(rf"{_MUST} (?=\w)", sentence, re.IGNORECASE):
        listed = WORDS.match(sentence, match.end())
        if listed is None or _LISTED_LOOSELY.search(sentence[: match.end()]):
            continue
        words = tuple(word for word in re.findall(r"\w+", listed["list"]) if word not in ("or", "and"))
        if default is not None and default.value in words and CLOSED.match(sentence, listed.end()):
            return [("choices", words)]
    return []


def _dtypes(sentence: str) -> list[Found]:
    match = _TYPES.search(sentence)
    if match is None:
        return []
    names = tuple(dict.fromkeys(_DTYPES.get(name, name) for name in re.findall(r"\w+", match[1])))
    return [("dtypes", names)] if any(name in DTYPES for name in names) else []


def from_message(api: str, params: Sequence[str], message: str) -> list[Constraint]:
    """Return the constraints that an exception of an api states, if they hold for every call."""
    found = []
    for sentence in map(plain, _MESSAGE_SENTENCE.split(message)):
        words = _RECEIVED.sub("", sentence)
        for argument in () if _HEDGED_MESSAGE.search(words) else params:
            name = re.search(rf"{_ITSELF}['\"]?{re.escape(argument)}['\"]? (?:must|should|has to) be ", words)
            for kind, bounds in stated(words, name.end()) if name else ():
                if kind in _KINDS and bounds[0] in UNIVERSAL:
                    found.append(Constraint(api, argument, kind, bounds, sentence, "error message"))
    return found


def stated(text: str, start: int) -> list[Found]:
    """Return the bounds that a phrase beginning there states, none for an infinite end; [] if no phrase begins."""
    for kind, pattern in _PHRASES:
        if match := pattern.match(text, start):
            groups = match.groupdict()
            if kind != "interval":
                return _bound(kind, groups.get("low") or groups.get("of") or "0")
            low = "above" if groups.get("open") in ("(", "<") else "minimum"
            high = "below" if groups.get("close") in (")", "<") else "maximum"
            return _bound(low, groups["low"]) + _bound(high, groups["high"])
    return []


def _bound(kind: str, text: str) -> list[Found]:
    number = float(_WORDS.get(text.lower(), text))
    if isinf(number):
        return []
    return [(kind, (int(number) if kind in RANKS else number,))]


def quoted(listed: str) -> tuple[str, ...]:
    """Return the quoted texts in a list of alternatives, and the name None if it is an alternative."""
    texts = tuple(text[1:-1] for text in re.findall(_QUOTED, listed))
    return (*texts, "none") if texts and re.search(r"\bNone\b", listed) else texts
