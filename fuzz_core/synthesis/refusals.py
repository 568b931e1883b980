"""Hints of a refusal for the next try: arguments that it names, ranks, sizes, dtypes, allowed texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from fuzz_core.ir.dtypes import DTYPES

T = TypeVar("T")
# A message without the parts that vary from call to call.
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|-?\d[\d.e+-]*|'[^']*'|\"[^\"]*\"|\[[^\[\]]*\]|\([^()]*\)")
MAX_CLASS = 160
_GIVEN = re.compile(r"\b(?:but|got|received|instead)\b", re.I)
# What a check demands belongs to the check: `must be rank 4` and `must be rank 3` are two.
_DEMAND = re.compile(r"(\bmust (?:be|have) (?:(?:at least|at most|exactly|of) )?(?:rank |dimension )?)(\d)\b")
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,2}(?![\w.])")
_TEXT = re.compile(r"[\"'`]([\w.:+-]{1,30})[\"'`]")
# Words for a number of dimensions. A group holds the number, if the pattern itself does not say it.
RANKS: tuple[tuple[re.Pattern[str], int | None], ...] = (
    (re.compile(r"\bscalar|\b0[- ]?D\b|\bsingle (?:element|value)", re.I), 0),
    (re.compile(r"\bvector|\b1[- ]?D\b|\bone[- ]dimension|\b1[- ]dimension", re.I), 1),
    (re.compile(r"\bmatri(?:x|ces)|\b2[- ]?D\b|\btwo[- ]dimension|\b2[- ]dimension", re.I), 2),
    (re.compile(r"\b(\d)[- ]?D\b|\b(\d)[- ]?dim|\brank(?: of| must be| at least|==|=|:| is)* ?(\d)", re.I), None),
)
# Spellings of dtypes in messages that differ from the names of the table.
DTYPE_WORDS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "boolean": "bool",
    "complexfloat": "complex64",
    "complexdouble": "complex128",
    "complex": "complex64",
}


class Hints(NamedTuple):
    """The parts of a refusal that can be tried."""

    arguments: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def class_of(message: str) -> str:
    """Return a message without numbers, texts, lists and dtypes: all refusals of a check have one class."""
    demands = _DEMAND.sub(lambda found: found[1] + _DIGITS[int(found[2])], message[:600])
    plain = _WORD.sub(lambda word: "…" if dtype_of(word[0]) else word[0], demands)
    return " ".join(_VARIABLE.sub("…", plain).split())[:MAX_CLASS]


@lru_cache(4096)
def hints(message: str, names: tuple[str, ...], casts: frozenset[str] = frozenset()) -> Hints:
    """Read a refusal of a call with arguments of these names.

    Args:
        casts: names of further dtypes.
    """
    words = _WORD.findall(message)
    plain = {_plain(name): name for name in names}
    named = [plain[_plain(word)] for word in words if _plain(word) in plain]
    # What was asked for stands before what was given.
    demand = _GIVEN.split(message)[0]
    ranks = [found for pattern, rank in RANKS for found in _ranks(pattern, rank, demand)]
    further = [cast for word in words for cast in casts if cast in word.lower()]
    dtypes = [*further, *(name for word in words if (name := dtype_of(word)))]
    return Hints(
        _once(named),
        _once(rank for rank in ranks if rank <= 6),
        _once(int(text) for text in _NUMBER.findall(message))[:8],
        _once(dtypes)[:8],
        _once(_TEXT.findall(message))[:8],
    )


@lru_cache(4096)
def dtype_of(word: str) -> str:
    """Return the dtype that a word of a message means; empty for any other word."""
    plain = word.rpartition("DT_")[2].lower()
    return plain if plain in DTYPES else DTYPE_WORDS.get(plain, "")


def _ranks(pattern: re.Pattern[str], rank: int | None, message: str) -> list[int]:
    matches = list(pattern.finditer(message))
    if rank is not None:
        return [rank] if matches else []
    return [int(next(filter(None, match.groups()))) for match in matches]


def _plain(word: str) -> str:
    return word.strip("_").lower()


def _once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
