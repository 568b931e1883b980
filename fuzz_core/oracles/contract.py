"""The contract of oracles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from fuzz_core.adapters.dialect import Dialect, load_plugin
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase

Outcomes = Mapping[str, Outcome]


class Example(NamedTuple):
    """Outcomes and the kind of verdict they must get, for the generic tests of every oracle."""

    outcomes: dict[str, Outcome]
    verdict: str


class Oracle(Protocol):
    """One way to tell right from wrong. `share` of the test cases is judged by it (cheap ones judge all)."""

    name: str
    share: float

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The modes whose outcomes it needs, out of what the machine offers; none where it has nothing to say."""

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """Its judgement over the outcomes of the planned modes."""

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """Outcomes with the verdict they must get."""


ORACLES: dict[str, str] = {
    "crash": "fuzz_core.oracles.crash:Crash",
    "differential": "fuzz_core.oracles.differential:Differential",
    "nonfinite": "fuzz_core.oracles.nonfinite:Nonfinite",
    "performance": "fuzz_core.oracles.performance:Performance",
    "bounds": "fuzz_core.oracles.bounds:Bounds",
    "leak": "fuzz_core.oracles.leak:Leak",
    "versions": "fuzz_core.oracles.versions:Versions",
}


def oracle_of(name: str) -> Oracle:
    """An oracle by name. Raises UserError for an unknown one."""
    made: Oracle = load_plugin(ORACLES, name, "oracle")()
    return made
