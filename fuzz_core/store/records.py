"""The records of the store: plain and immutable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase


class TargetRecord(NamedTuple):
    """An installed build. key: text such as `torch-2.13.0+cpu-cp311`; info: JSON-able; made_at: set by the store."""

    key: str
    spec: str
    library: str
    version: str
    python: str
    info: Mapping[str, Any] = {}
    made_at: str = ""


class SeedRecord(NamedTuple):
    """How tracing one seed went. status: ok, partly, failed, timeout, crashed; seconds: wall time of its process.

    outcome_kind: what ended it, one of the kinds of an outcome; empty where it came to its end.
    """

    digest: str
    source: str
    name: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    statements: int = 0
    statements_failed: int = 0
    outcome_kind: str = ""


class InvocationRow(NamedTuple):
    """An entry of the API value space. id: the same in every state file; place: when it came to the target.

    expected: `ok`, or `exception` for an error input of the developers. valid: whether it re-ran unmutated without an
    exception; None before it was tried.
    """

    id: int
    api: str
    digest: str
    invocation: Invocation
    expected: str
    valid: bool | None
    reason: str
    place: int


class Body(NamedTuple):
    """An entry of the API value space as it is stored: `body` is JSON text, not decoded."""

    id: int
    api: str
    body: str
    expected: str
    valid: bool | None


class Coverage(NamedTuple):
    """The facts about an api. gap: empty if it has a valid invocation (or one not yet re-run), otherwise the reason."""

    api: str
    kind: str
    invocations: int
    valid: int
    unchecked: int
    seeds: int
    undescribed: dict[str, int]
    dropped: dict[str, int]

    @property
    def gap(self) -> str:
        """The reason why the api cannot be fuzzed: not traced, argument not describable, dropped, no valid seed."""
        if self.valid or self.unchecked:
            return ""
        if self.invocations:
            return "no valid seed"
        if self.undescribed:
            return "argument not describable"
        return "dropped" if self.dropped else "not traced"


class RunRow(NamedTuple):
    """A fuzzing run. status: running, killed, or the status that `finish_run` got; seconds: wall time spent fuzzing."""

    id: int
    target: str
    started: str
    finished: str | None
    seed: int
    options: dict[str, Any]
    tests: int
    seconds: float
    status: str
    summary: dict[str, Any]


class FindingRow(NamedTuple):
    """A test case with a verdict that is not clean. hits of runs: how often it reproduced.

    origin: where in which model program it was made, and what was changed there; empty for a test case of an api.
    """

    id: int
    target: str
    run: int
    api: str
    test: TestCase
    verdict: Verdict
    outcome: Outcome
    status: str
    reason: str
    hits: int
    runs: int
    bug: int | None
    found_at: str
    origin: str = ""


class NewBug(NamedTuple):
    """A confirmed bug on its way into the store; `signature` is the text whose digest identifies the class.

    suspicion: why the bug is private, where the outcome of the minimal script does not say so; empty otherwise.
    """

    signature: str
    api: str
    oracle: str
    kind: str
    test: TestCase
    script: str
    outcome: Outcome
    hits: int
    runs: int
    minimised: bool = False
    suspicion: str = ""


class BugRow(NamedTuple):
    """A class of findings with one signature. findings: how many; first_found: ISO 8601, UTC.

    origin: that of the first finding that has one. suspicion: see `NewBug`.
    """

    id: int
    target: str
    signature: str
    signature_text: str
    api: str
    oracle: str
    kind: str
    test: TestCase
    script: str
    outcome: Outcome
    hits: int
    runs: int
    findings: int
    first_found: str
    minimised: bool
    status: str
    origin: str = ""
    suspicion: str = ""
