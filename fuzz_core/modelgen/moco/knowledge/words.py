"""Readers for types, ranges and constraints in words: of documentation, of a language model, of the paper's own files.

A constraint from a sentence must be true for all working calls. Unreadable answers are ignored. Ranges and constraints
are expressions (see `modelgen.expressions`), never executed.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import isfinite

from fuzz_core.ir.constraints import MAX_TEXT, Bound, Constraint
from fuzz_core.modelgen.expressions import names_of, read, readable
from fuzz_core.modelgen.moco.facts import Origin, Parameter, ParameterRelation, Source

_DTYPES = {
    "int": "int", "integer": "int", "float": "float", "double": "float", "number": "float", "bool": "bool",
    "boolean": "bool", "str": "str", "string": "str", "dtype": "dtype", "tensor": "tensor", "callable": "callable",
    "function": "callable",
}  # fmt: skip
_STRUCTURES = {"int": "integer", "integer": "integer", "tuple": "tuple", "list": "list", "tensor": "tensor"}
# "if bias is True: bias_initializer = 'zeros'" is how the paper writes an implication.
_IMPLIES = re.compile(r"if (?P<given>.+?): *(?P<name>\w+) *(?:=|==) *(?P<value>[^=].*)", re.DOTALL)
# Kinds of constraints, and those of the same comparison with its sides exchanged.
_KINDS: dict[type, str] = {ast.Gt: "above", ast.GtE: "minimum", ast.Lt: "below", ast.LtE: "maximum"}
_FLIPPED = {"above": "below", "minimum": "maximum", "below": "above", "maximum": "minimum"}


def dtype_of(text: str) -> str:
    """Return `int` for "tf.int32", "Integer" and "int, optional"; an empty text for an unknown type."""
    return _first(text, _DTYPES)


def structure_of(text: str) -> str:
    """Return `tuple` for "a tuple of two ints"; if several are named, the first counts."""
    return _first(text, _STRUCTURES)


def _first(text: str, known: dict[str, str]) -> str:
    words = (re.sub(r"\d+$", "", word) for word in re.findall(r"[a-z]+\d*", text.lower()))
    return next((known[word] for word in words if word in known), "")


def constraint_of(name: str, kind: str, bounds: Iterable[Bound], text: str, source: Source) -> tuple[Constraint, ...]:
    """Return a constraint on a parameter, with its words; none without bounds.

    The api is not named.
    """
    found = tuple(bounds)
    return (Constraint("", name, kind, found, text[:MAX_TEXT], source),) if found else ()


def lengths_of(name: str, text: str, source: Source) -> tuple[Constraint, ...]:
    """Return the legal numbers of elements: 2 for "2", "(2,)" and "[2]"; none for "No mention"."""
    if not re.fullmatch(r"[\s\d,()\[\]]+", text):
        return ()
    lengths = {int(number) for number in re.findall(r"\d{1,3}", text)}
    return constraint_of(name, "lengths", sorted(lengths), text, source)


def range_of(name: str, text: str, source: Source) -> tuple[Constraint, ...]:
    """Return bounds or choices from a range such as `0 <= p < 1` or `p in ('a', 'b')`; none if it has another form."""
    tree = readable(text)
    if tree is None or names_of(tree) != {name}:
        return ()
    # Any name in the parts is the parameter's.
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    found: dict[str, float] = {}
    for part in parts:
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.In):
            return constraint_of(name, "choices", _listed(part), text, source)
        ends = dict(_ends(part))
        if not ends:
            return ()
        found |= ends
    return tuple(each for kind, end in found.items() for each in constraint_of(name, kind, (end,), text, source))


def _listed(part: ast.Compare) -> tuple[Bound, ...]:
    match part:
        case ast.Compare(left=ast.Name(), comparators=[ast.Tuple(elts=items) | ast.List(elts=items)]):
            values = tuple(choice(each.value) for each in items if isinstance(each, ast.Constant))
            return values if len(values) == len(items) else ()
    return ()


def choice(value: object) -> Bound:
    """Return a value as the bound of a constraint `choices`."""
    return value if isinstance(value, bool | int | float) else "none" if value is None else str(value)


def _ends(part: ast.expr) -> Iterator[tuple[str, float]]:
    """Yield (kind, bound) in a chain of comparisons of the parameter with numbers; none for any other expression."""
    if not isinstance(part, ast.Compare):
        return
    operands = [part.left, *part.comparators]
    for left, op, right in zip(operands, part.ops, operands[1:], strict=False):
        kind = _KINDS.get(type(op))
        if not isinstance(left, ast.Name):
            left, right, kind = right, left, _FLIPPED.get(kind or "")
        number = _number(right)
        if isinstance(left, ast.Name) and number is not None and kind is not None:
            yield kind, number


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if is_number else None


def relation_of(text: str, names: Collection[str], source: Source) -> ParameterRelation | None:
    """Return a constraint between parameters; None if the text is no expression over some of these."""
    origin = Origin(source=source, text=text[:MAX_TEXT])
    implied = _IMPLIES.fullmatch(text.strip())
    if implied is not None:
        text = f"not ({implied['given']}) or {implied['name']} == ({implied['value']})"
    tree = readable(text)
    if tree is None or not (about := names_of(tree)) or not about <= set(names):
        return None
    parameters = tuple(name for name in names if name in about)
    return ParameterRelation(parameters=parameters, expression=ast.unparse(tree), origin=origin)


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
