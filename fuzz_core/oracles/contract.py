"""The contract of oracles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fuzz_core.adapters.dialect import Dialect, load_plugin
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase

Outcomes = Mapping[str, Outcome]


class VerdictExample(NamedTuple):
    """Outcomes and the kind of verdict that they must get, for the generic tests of every oracle."""

    outcomes: Outcomes
    verdict: str


class Oracle(Protocol):
    """A judge of outcomes.

    An oracle judges `share` of the test cases; cheap oracles judge all.
    """

    name: str
    share: float

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """Return the machine's modes whose outcomes the oracle needs; none if it cannot judge the test case."""

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """Return the verdict on the outcomes of the planned modes."""

    def examples(self, dialect: Dialect) -> Sequence[VerdictExample]:
        """Return outcomes with the verdict that they must get."""


class EachMode:
    """A base class of oracles that judge each outcome alone: the first outcome with a kind decides."""

    name: str
    share = 1.0

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """Return the verdict; its detail is the mode, and the words about its outcome."""
        for mode, outcome in outcomes.items():
            if kind := self.kind(mode, outcome, dialect):
                return Verdict(self.name, kind, f"{mode}: {self.said(outcome)}")
        return Verdict(self.name, "clean")

    def kind(self, mode: str, outcome: Outcome, dialect: Dialect) -> str:
        """Return the kind of verdict: the oracle's name if a mode returned with a text and no excuse, else empty."""
        return self.name if outcome.kind == "ok" and outcome.text and not outcome.name else ""

    def said(self, outcome: Outcome) -> str:
        """Return the words of the verdict about an outcome that has a kind."""
        return outcome.text


def each(mode: str, rows: Iterable[tuple[Outcome, str]]) -> list[VerdictExample]:
    """Return examples of one mode."""
    return [VerdictExample({mode: outcome}, verdict) for outcome, verdict in rows]


ORACLES: dict[str, str] = {
    "crash": "fuzz_core.oracles.crash:Crash",
    "differential": "fuzz_core.oracles.compare:Differential",
    "nonfinite": "fuzz_core.oracles.compare:Nonfinite",
    "performance": "fuzz_core.oracles.cost:Performance",
    "bounds": "fuzz_core.oracles.compare:BoundsOracle",
    "leak": "fuzz_core.oracles.cost:Leak",
    "versions": "fuzz_core.oracles.versions:Versions",
}


def oracle_of(name: str) -> Oracle:
    """Return an oracle by name.

    Raises:
        UserError: the oracle is unknown.
    """
    made: Oracle = load_plugin(ORACLES, name, "oracle")()
    return made
