"""The contract of oracles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fuzz_core.adapters.dialect import Dialect, load_plugin
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase

Outcomes = Mapping[str, Outcome]


class Example(NamedTuple):
    """Outcomes and the kind of verdict they must get, for the generic tests of every oracle."""

    outcomes: Outcomes
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


class EachMode:
    """The judgement of an oracle that looks at one outcome at a time: the first with a kind decides."""

    name: str
    share = 1.0

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """The detail is the mode, and what is said of its outcome."""
        for mode, outcome in outcomes.items():
            if kind := self.kind(mode, outcome, dialect):
                return Verdict(self.name, kind, f"{mode}: {self.said(outcome)}")
        return Verdict(self.name, "clean")

    def kind(self, mode: str, outcome: Outcome, dialect: Dialect) -> str:
        """The kind of verdict, empty of none: the oracle's name where a mode returned with a text and no excuse."""
        return self.name if outcome.kind == "ok" and outcome.text and not outcome.name else ""

    def said(self, outcome: Outcome) -> str:
        """What is said of an outcome that has a kind."""
        return outcome.text


def each(mode: str, rows: Iterable[tuple[Outcome, str]]) -> list[Example]:
    """Examples of one mode."""
    return [Example({mode: outcome}, verdict) for outcome, verdict in rows]


ORACLES: dict[str, str] = {
    "crash": "fuzz_core.oracles.crash:Crash",
    "differential": "fuzz_core.oracles.compare:Differential",
    "nonfinite": "fuzz_core.oracles.compare:Nonfinite",
    "performance": "fuzz_core.oracles.cost:Performance",
    "bounds": "fuzz_core.oracles.compare:Bounds",
    "leak": "fuzz_core.oracles.cost:Leak",
    "versions": "fuzz_core.oracles.versions:Versions",
}


def oracle_of(name: str) -> Oracle:
    """An oracle by name. Raises UserError for an unknown one."""
    made: Oracle = load_plugin(ORACLES, name, "oracle")()
    return made
