"""The records of the store: plain and immutable."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.signatures import NEIGHBOUR, SEARCH
from fuzz_core.ir.values import Invocation, TestCase


class TargetRecord(NamedTuple):
    """An installed build."""

    key: str  # text such as `torch-2.13.0+cpu-cp311`
    spec: str
    library: str
    version: str
    python: str
    info: Mapping[str, Any] = {}  # JSON-able
    made_at: str = ""  # set by the store


class SeedRecord(NamedTuple):
    """How tracing one seed went."""

    digest: str
    source: str
    name: str
    status: str  # ok, partly, failed, timeout, crashed
    reason: str = ""
    seconds: float = 0.0  # wall time of its process
    statements: int = 0
    statements_failed: int = 0
    outcome_kind: str = ""  # the kind of outcome that ended it early; empty if it ran to its end


def search_digest(api: str) -> str:
    """Return the digest of the search for a call of an api.

    The seed of a search has the api as its name and the number of tries as `statements`. Its status is `partly` as long
    as the search goes on.
    """
    return blake2b(f"{SEARCH}\x1f{api}".encode(), digest_size=16).hexdigest()


def neighbour_digest(api: str) -> str:
    """Return the digest of the seed that runs the recorded calls of an api in further ways; its name is the api."""
    return blake2b(f"{NEIGHBOUR}\x1f{api}".encode(), digest_size=16).hexdigest()


class InvocationRow(NamedTuple):
    """An entry of the API value space."""

    id: int  # the same in every state file
    api: str
    digest: str
    invocation: Invocation
    expected: str  # `ok`, or `exception` for an error input of the developers
    valid: bool | None  # whether it re-ran unmutated without an exception; None before it was tried
    reason: str
    place: int  # when it came to the target


class UndecodedInvocation(NamedTuple):
    """An entry of the API value space as it is stored: `body` is JSON text, not decoded."""

    id: int
    api: str
    body: str
    expected: str
    valid: bool | None
    shown: int = 0  # digest of its outcome class; 0 if it has not been re-run
    outcome_kind: str = ""  # how it ended when it was re-run


# Classes of the gaps whose text is another one for each api, by the outcome that ended the search.
_SEARCH_ENDS = {
    "exception": "all calls of a search were refused",
    "skipped": "no known call makes an object that it needs",
    **dict.fromkeys(("signal", "timeout", "oom", "exit"), "calls ended their process"),
}


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
    sources: dict[str, int]  # number of valid invocations by the source of their seeds
    searched: str  # why a search has found no call; empty if it found one, or there was no search
    ended: str = ""  # kind of the outcome that ended the search

    @property
    def gap(self) -> str:
        """The reason why the api cannot be fuzzed, as far as it is known.

        The reason of a search says most. An api without a search has one of: not traced, argument not describable,
        dropped, no valid seed.
        """
        if self.valid or self.unchecked:
            return ""
        if self.searched:
            return self.searched
        if self.invocations:
            return "no valid seed"
        if self.undescribed:
            return "argument not describable"
        return "dropped" if self.dropped else "not traced"

    @property
    def gap_class(self) -> str:
        """The gap without what concerns this api alone, so that gaps can be counted."""
        return (self.gap and _SEARCH_ENDS.get(self.ended)) or self.gap


class RunRow(NamedTuple):
    """A fuzzing run."""

    id: int
    target: str
    started: str
    finished: str | None
    seed: int
    options: dict[str, Any]
    tests: int
    seconds: float  # wall time spent fuzzing
    status: str  # running, killed, or the status that `finish_run` got
    summary: dict[str, Any]


class FindingRow(NamedTuple):
    """A test case with a verdict that is not clean. hits of runs: how often it reproduced."""

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
    # The model program, the place and the change that made it; empty for a test case of an api.
    origin: str = ""


class NewBug(NamedTuple):
    """A confirmed bug on its way into the store; `signature` is the text whose digest identifies the class."""

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
    # Why the bug is private, where the outcome of the minimal script does not say so; empty otherwise.
    suspicion: str = ""


class BugRow(NamedTuple):
    """A class of findings with one signature."""

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
    findings: int  # how many
    first_found: str  # ISO 8601, UTC
    minimised: bool
    status: str
    origin: str = ""  # that of the first finding that has one
    suspicion: str = ""  # see `NewBug`
