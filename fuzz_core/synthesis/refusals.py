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
_GIVEN = re.compile(r"\b(?:but|got|received|found|instead)\b", re.I)
# What was given stands in few words; longer texts quote the call.
_QUOTED_CALL = re.compile(r" for '\{\{node |\bwith input shapes\b")
MOST_GIVEN = 2
# The number of an axis is no size: `Dimension 0 in both shapes must be equal`.
_AXIS = re.compile(r"\bdimension \d+ in\b", re.I)
_EQUAL_RANKS = re.compile(r"\bequal rank, but are (\d) and (\d)\b")
# Whole shapes, as TensorFlow's, PyTorch's and Keras' refusals quote them.
_SHAPE = re.compile(r"(?<!\w)[(\[]((?:\d{1,2}(?:, ?\d{1,2})*,?)?)[)\]]")
# What a check demands belongs to the check: `must be rank 4` and `must be rank 3` are two.
_DEMAND = re.compile(r"(\bmust (?:be|have) (?:(?:at least|at most|exactly|of) )?(?:rank |dimension )?)(\d)\b")
# Python's words for a value that is no tensor where a tensor is wanted.
_NO_TENSOR = re.compile(
    r"'(\w+)' object has no attribute '(?:shape|dtype|ndim|get_shape|size|dim|numel|device|numpy|name)'"
)
# A kind of sequence, and the words that ask for it alone.
_SEQUENCES = {
    "tuple": re.compile(r"^(?!.*\blists?\b).*\bbe (?:\w+ ){0,6}tuples?\b", re.S),
    "list": re.compile(r"^(?!.*\btuples?\b).*\bbe (?:\w+ ){0,6}lists?\b", re.S),
}
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,2}(?!\w|\.\d)")
_TEXT = re.compile(r"[\"'`]([\w.:+-]{1,30})[\"'`]")
_NO_FILE = re.compile(r"\bno such file\b|\bfile\b.* does not exist|\bfile\b.* not found", re.I | re.S)
# A file that every Linux has, and that no call can change or delete.
FILE = "/proc/version"
# Words for a number of dimensions. A group holds the number, if the pattern itself does not say it.
RANKS: tuple[tuple[re.Pattern[str], int | None], ...] = (
    (re.compile(r"\bscalar|\b0[- ]?D\b|\bsingle (?:element|value)", re.I), 0),
    (re.compile(r"\bvector|\b1[- ]?D\b|\bone[- ]dimension|\b1[- ]dimension", re.I), 1),
    (re.compile(r"\bmatri(?:x|ces)|\b2[- ]?D\b|\btwo[- ]dimension|\b2[- ]dimension", re.I), 2),
    (re.compile(r"\b(\d)[- ]?D\b|\b(\d)[- ]?dim|\brank(?: of| must be| at least|==|=|:| is)* ?(\d)", re.I), None),
)
# Kernels of the CPU, each with the dtypes of its groups, as TensorFlow lists them.
_KERNEL = re.compile(r"device='CPU'((?:; \w+ in \[[^\]]*\])+)")
_GROUP = re.compile(r"(\w+) in \[([^\]]*)\]")
MOST_KERNELS, MOST_SHAPES = 8, 4
# An object of another type than the call wants, or without a value. Some refusals name the argument.
_MISFIT = re.compile(
    r"Tried to convert '(?P<converted>\w+)' to a tensor and failed\. Error: None"
    r"|passed to parameter '(?P<passed>\w+)' of op .* instead\."
    r"|Input '(?P<input>\w+)' of '\w+' Op has type \w+ that does not match expected type of (?:variant|resource)"
    r"|using the wrong type\. The handle points to|must be a (?:Dataset object|scalar of dtype DT_VARIANT)"
    r"|Invalid variable reference|variable was uninitialized",
    re.S,
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


# The dtypes that a kernel has for each group of arguments.
Kernel = tuple[tuple[str, tuple[str, ...]], ...]


class Hints(NamedTuple):
    """The parts of a refusal that can be tried."""

    arguments: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    # The numbers that are asked for, and those, and the ranks, that the call has instead.
    demanded: tuple[int, ...] = ()
    given: tuple[int, ...] = ()
    given_ranks: tuple[int, ...] = ()
    sequence: str = ""  # `tuple` or `list` if one of both is asked for alone
    kernels: tuple[Kernel, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()  # those that do not fit each other
    no_tensor: str = ""  # the Python type that the call has where a tensor is wanted
    is_none: bool = False  # whether None stands where a value is wanted

    def joined(self, other: Hints) -> Hints:
        """Return the hints of both for what a draft draws."""
        return self._replace(
            ranks=self.ranks + other.ranks,
            numbers=self.numbers + other.numbers,
            dtypes=self.dtypes + other.dtypes,
            texts=self.texts + other.texts,
        )


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
    said = _QUOTED_CALL.split(message)[0]
    demand, *given = _GIVEN.split(_AXIS.sub("", said), maxsplit=1)
    behind = "".join(given)
    unequal = _EQUAL_RANKS.search(said)
    both = _once(map(int, unequal.groups())) if unequal else ()
    further = [cast for word in words for cast in casts if cast in word.lower()]
    dtypes = [*further, *(name for word in words if (name := dtype_of(word)))]
    return Hints(
        _once(named),
        both or _ranks(demand),
        _numbers(message),
        _once(dtypes)[:8],
        _once([*([FILE] if _NO_FILE.search(message) else ()), *_TEXT.findall(message)])[:8],
        _sizes(demand) if given else (),
        () if both else _sizes(behind)[:MOST_GIVEN],
        both or _ranks(behind),
        next((kind for kind, pattern in _SEQUENCES.items() if pattern.search(demand)), ""),
        tuple(_kernel(listed, casts) for listed in _KERNEL.findall(message)[:MOST_KERNELS]),
        _once(_shape(quoted) for quoted in _SHAPE.findall(said))[:MOST_SHAPES],
        found[1] if (found := _NO_TENSOR.search(said)) else "",
        "'NoneType'" in said,
    )


def misfit(message: str) -> str | None:
    """Return the argument whose object has a wrong type, empty if the refusal does not name it.

    The result is None for all other refusals.
    """
    found = _MISFIT.search(message)
    return None if found is None else next(filter(None, found.groups()), "")


def _kernel(listed: str, casts: frozenset[str]) -> Kernel:
    plain = {f"DT_{name.upper()}": name for name in (*DTYPES, *casts)} | {
        f"DT_{word.upper()}": name for word, name in DTYPE_WORDS.items()
    }
    return tuple(
        (group, tuple(plain[word] for word in _WORD.findall(words) if word in plain))
        for group, words in _GROUP.findall(listed)
    )


def _shape(quoted: str) -> tuple[int, ...]:
    return tuple(map(int, filter(None, quoted.replace(" ", "").split(","))))


@lru_cache(4096)
def dtype_of(word: str) -> str:
    """Return the dtype that a word of a message means; empty for any other word."""
    plain = word.rpartition("DT_")[2].lower()
    return plain if plain in DTYPES else DTYPE_WORDS.get(plain, "")


def _numbers(text: str) -> tuple[int, ...]:
    return _once(int(number) for number in _NUMBER.findall(text))[:8]


def _sizes(text: str) -> tuple[int, ...]:
    ranks = _ranks(text)
    return tuple(number for number in _numbers(text) if number not in ranks)


def _ranks(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for pattern, rank in RANKS:
        matches = list(pattern.finditer(text))
        if rank is not None:
            found += [rank] if matches else []
        else:
            found += [int(next(filter(None, match.groups()))) for match in matches]
    return _once(rank for rank in found if rank <= 6)


def _plain(word: str) -> str:
    """Return a name as messages write it: `the stride attribute` is the argument `strides`."""
    return word.strip("_").lower().removesuffix("s")


def _once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
