"""Observers of a process: whether outcomes are new to it, and how much memory it holds.

Outcome classes say what an execution showed. The classes are coarse, so a new one matters; the tests that show a new
class are kept.
"""

from __future__ import annotations

import ctypes
import gc
import re
import resource
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from zlib import crc32

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase

MAX_CLASS = 100
MAX_RAW = 1 << 16
MAX_PARTS = 3
REPEATS_REPORTED = 2
VARIABLE = re.compile(r"0x[0-9a-fA-F]+|-?\d[\d.e+-]*|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)")
ROUND = 200
LEAST_BYTES = 1024
PAGE = resource.getpagesize()
GARBAGE = (0x5A, 0x33, 0xC1)
# See malloc.h: allocated memory is filled with the complement of this byte.
_M_PERTURB = -6
_MALLOPT = getattr(ctypes.CDLL(None), "mallopt", None)


def outline(result: Any) -> Hashable:
    """Return types, dtypes and ranks of a result: (type, dtype, rank), or one triple per part."""
    kind = type(result)
    if kind is tuple or kind is list:
        return (kind.__name__, min(len(result), MAX_PARTS + 1), *map(outline, result[:MAX_PARTS]))
    try:
        found = kind.__name__, getattr(result, "dtype", None), getattr(result, "ndim", None)
        try:
            # The values themselves, if they can be a key: their text is only needed when it is new.
            hash(found)
        except TypeError:
            return kind.__name__, str(found[1]), str(found[2])
        return found
    except Exception:  # noqa: BLE001 - a result that cannot be looked at is of a class by itself
        return kind.__name__, "unreadable"


class Novelty:
    """Outcome classes that each api has shown so far, in this process and in other processes that reported them."""

    def __init__(self) -> None:
        self.raw: set[Hashable] = set()
        self.known: defaultdict[str, set[str]] = defaultdict(set)
        self.reported: Counter[tuple[str, ...]] = Counter()

    def tell(self, api: str, classes: Iterable[str]) -> None:
        """Add outcome classes that other processes have seen."""
        self.known[api].update(classes)

    def of(self, api: str, outcome: Outcome, shown: Hashable) -> str:
        """Return the outcome class if it is new for the api, else empty.

        `shown` is the outline of an ok result.
        """
        key = (api, outcome.kind, shown) if outcome.kind == "ok" else (api, outcome.name, outcome.text)
        if outcome.kind == "skipped" or key in self.raw:
            return ""
        if len(self.raw) >= MAX_RAW:
            self.raw.clear()
        self.raw.add(key)
        found = outcome_class(outcome, shown)
        if found in self.known[api]:
            return ""
        self.known[api].add(found)
        return found

    def enough(self, api: str, verdict: Verdict, outcome: Outcome) -> bool:
        """Count a finding, and return whether enough findings that look alike have been reported before.

        A disagreement of another mode is of another kind; an exception is the same in every mode.
        """
        detail = "" if verdict.oracle == "crash" else verdict.detail
        texts = (VARIABLE.sub("", text)[: 2 * MAX_CLASS] for text in (detail, outcome.text))
        key = (api, verdict.oracle, verdict.kind, *texts)
        self.reported[key] += 1
        return self.reported[key] > REPEATS_REPORTED


def outcome_class(outcome: Outcome, shown: Hashable) -> str:
    """Return a bounded text: kind and outline, or kind, exception and its message without varying parts."""
    if outcome.kind == "ok":
        return f"ok {shown}"[:MAX_CLASS]
    first = outcome.text.split("\n", 1)[0][: 3 * MAX_CLASS]
    return f"{outcome.kind} {outcome.name} {' '.join(VARIABLE.sub('#', first).split())}"[:MAX_CLASS]


def class_digest(outcome: Outcome, shown: Hashable) -> int:
    """Return a number that stands for an outcome class of an api; never 0."""
    return crc32(outcome_class(outcome, shown).encode("utf-8", "replace")) or 1


class CorpusMember(NamedTuple):
    """A member of the corpus."""

    number: int  # negative, so that it differs from the positive ids of traced invocations
    test: TestCase


class Corpus:
    """The members of each api in the order of arrival; this corpus numbers them itself."""

    def __init__(self) -> None:
        self.members: defaultdict[str, list[CorpusMember]] = defaultdict(list)
        self.count = 0

    def add(self, test: TestCase) -> None:
        """Append a test case to its api's members."""
        self.count += 1
        self.members[test.invocation.api].append(CorpusMember(-self.count, test))

    def of(self, api: str) -> Sequence[CorpusMember]:
        """Return the api's members so far."""
        return self.members.get(api, ())


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - a tenth of the cost of a Path
        return int(file.read().split()[1]) * PAGE


def left_behind(call: Callable[[], object], held: Callable[[], int] = resident) -> int:
    """Return the bytes that each call leaves, if two rounds of 200 after a first one agree; 0 if memory settles.

    A cache stops growing when it is full, and a fragmented heap grows unevenly. A leak grows evenly.
    """
    sizes = []
    for _ in range(3):
        for _ in range(ROUND):
            call()
        # Cycles wait for Python's collector and are no leak.
        gc.collect()
        sizes.append(held())
    least, most = sorted((sizes[1] - sizes[0], sizes[2] - sizes[1]))
    return least // ROUND if least >= LEAST_BYTES * ROUND and most <= 2 * least else 0


class MemoryGrowth:
    """The growth of memory in a row of tests: block by block of 64."""

    BLOCK = 64

    def __init__(self, held: Callable[[], int] = resident) -> None:
        self.held = held
        self.first = self.last = held()
        self.begins = self.tests = 0
        self.worst = (0, 0)

    def before(self, index: int) -> None:
        """Measure memory at each block of tests, before a test."""
        if self.tests % self.BLOCK == 0:
            self._block(index)
        self.tests += 1

    def _block(self, index: int) -> None:
        now = self.held()
        if self.tests:
            self.worst = max(self.worst, (now - self.last, self.begins))
        self.last, self.begins = now, index

    def end(self, index: int) -> tuple[int, range]:
        """Return the growth of memory in bytes, and the block with most of it; `index` is the first test not run."""
        self._block(index)
        return self.last - self.first, range(self.worst[1], min(self.worst[1] + self.BLOCK, index))


@contextmanager
def garbage(byte: int) -> Iterator[None]:
    """Fill memory that no code has written to with one byte while the context lasts, if glibc is the allocator."""
    if _MALLOPT is None:
        yield
        return
    _MALLOPT(_M_PERTURB, byte)
    try:
        yield
    finally:
        _MALLOPT(_M_PERTURB, 0)
