"""Outcome classes: what an execution showed, coarse enough that a new one is news; the tests that did are kept."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase

MAX_CLASS = 100
MAX_RAW = 1 << 16
MAX_PARTS = 3
REPEATS_REPORTED = 2
VARIABLE = re.compile(r"0x[0-9a-fA-F]+|-?\d[\d.e+-]*|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)")


def outline(result: Any) -> Hashable:
    """Types, dtypes and ranks of a result, cheap to take: (type, dtype, rank), or one of those per part."""
    kind = type(result)
    if kind is tuple or kind is list:
        return (kind.__name__, min(len(result), MAX_PARTS + 1), *map(outline, result[:MAX_PARTS]))
    try:
        dtype = getattr(result, "dtype", None)
        # The dtype itself where it can be a key: its text is only needed when it is new.
        return kind.__name__, dtype if isinstance(dtype, Hashable) else str(dtype), getattr(result, "ndim", None)
    except Exception:  # noqa: BLE001 - a result that cannot be looked at is of a class by itself
        return kind.__name__, "unreadable"


class Novelty:
    """What each api has shown so far, in this process and, as it is told, in others."""

    def __init__(self) -> None:
        self.raw: set[Hashable] = set()
        self.known: defaultdict[str, set[str]] = defaultdict(set)

    def tell(self, api: str, classes: Iterable[str]) -> None:
        """These outcome classes have been seen elsewhere."""
        self.known[api].update(classes)

    def of(self, api: str, outcome: Outcome, shown: Hashable) -> str:
        """The outcome class where it is new for the api, else empty. `shown`: the outline of an ok result."""
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


def outcome_class(outcome: Outcome, shown: Hashable) -> str:
    """A bounded text: kind and outline, or kind, exception and its message without what varies from call to call."""
    if outcome.kind == "ok":
        return f"ok {shown}"[:MAX_CLASS]
    first = outcome.text.split("\n", 1)[0][: 3 * MAX_CLASS]
    return f"{outcome.kind} {outcome.name} {' '.join(VARIABLE.sub('#', first).split())}"[:MAX_CLASS]


class Repeats:
    """What this process has reported; findings that look alike are worth little after the first ones."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, ...]] = Counter()

    def enough(self, api: str, verdict: Verdict, outcome: Outcome) -> bool:
        """Whether as many of its kind have been reported as are wanted; counts it.

        What another mode disagrees about is of another kind; an exception is the same one in every mode.
        """
        detail = "" if verdict.oracle == "crash" else verdict.detail
        texts = (VARIABLE.sub("", text)[: 2 * MAX_CLASS] for text in (detail, outcome.text))
        key = (api, verdict.oracle, verdict.kind, *texts)
        self.seen[key] += 1
        return self.seen[key] > REPEATS_REPORTED


class Grown(NamedTuple):
    """A member of the corpus. number: negative and its own, where traced invocations have positive ids."""

    number: int
    test: TestCase


class Corpus:
    """The members of each api in the order in which they came; numbers are this corpus's own."""

    def __init__(self) -> None:
        self.members: defaultdict[str, list[Grown]] = defaultdict(list)
        self.count = 0

    def add(self, test: TestCase) -> None:
        """Appends a test case to its api's members."""
        self.count += 1
        self.members[test.invocation.api].append(Grown(-self.count, test))

    def of(self, api: str) -> Sequence[Grown]:
        """The api's members so far."""
        return self.members.get(api, ())
