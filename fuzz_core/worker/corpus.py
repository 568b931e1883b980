"""Test cases that showed something new: they are mutated further, beside the traced invocations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from fuzz_core.ir.values import TestCase


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
