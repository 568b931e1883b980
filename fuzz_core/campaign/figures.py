"""The options, the figures and the record of one fuzz."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fuzz_core.campaign.session import Session
from fuzz_core.oracles.contract import ORACLES

# A run that is killed has told how far it came this many seconds before, at most.
EVERY = 10.0


@dataclass
class FuzzOptions:
    """seconds or tests bound the run (tests alone makes it independent of the clock). disabled: mutator kinds.

    schedule: a ranking's name. grow: whether test cases that show something new are mutated further. examining: seconds
    that are kept for examining what is found, after `seconds`; the fuzz ends early where they will not do. runs: of the
    script of each finding then.
    """

    seconds: float | None = 60.0
    tests: int | None = None
    patterns: Sequence[str] = ()
    seed: int = 0
    disabled: Sequence[str] = ()
    oracles: Sequence[str] = tuple(ORACLES)
    timeout: float = 3.0
    schedule: str = "bandit"
    grow: bool = True
    examining: float | None = None
    runs: int = 5

    def as_json(self) -> dict[str, Any]:
        """What the run's record keeps of them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass
class FuzzReport:
    """Figures of one run. `kept` findings are on record, the rest repeated a signature more than four times.

    inside: seconds that workers spent in calls of the library, of `working` seconds on leases. classes, operators:
    known by now, with what was on record before. growth: (seconds, tests, classes, operators, kept) now and then.
    spent: seconds of workers and tests by api. cold: tests that something was compiled for, compiling: the seconds of
    those.
    """

    run: int = 0
    apis: int = 0
    tests: int = 0
    seconds: float = 0.0
    findings: int = 0
    kept: int = 0
    deaths: int = 0
    inside: float = 0.0
    working: float = 0.0
    cold: int = 0
    compiling: float = 0.0
    classes: int = 0
    operators: int = 0
    members: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    growth: list[tuple[float, int, int, int, int]] = field(default_factory=list)
    spent: dict[str, tuple[float, int]] = field(default_factory=dict)

    def count(self, api: str, seconds: float, tests: int) -> None:
        """Adds what a lease of an api took."""
        before = self.spent.get(api, (0.0, 0))
        self.spent[api] = (before[0] + seconds, before[1] + tests)

    def add(self, later: FuzzReport) -> None:
        """Adds a later run on the same target: what is known by now is what that one knew."""
        self.growth += [
            (self.seconds + seconds, self.tests + tests, classes, operators, self.kept + kept)
            for seconds, tests, classes, operators, kept in later.growth
        ]
        for name in ("run", "classes", "operators", "members"):
            setattr(self, name, getattr(later, name))
        for name in ("tests", "seconds", "findings", "kept", "deaths", "inside", "working", "cold", "compiling"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.apis = max(self.apis, later.apis)
        self.outcomes += later.outcomes
        for api, (seconds, tests) in later.spent.items():
            self.count(api, seconds, tests)

    @property
    def rate(self) -> float:
        """Executed tests per second of wall time."""
        return self.tests / self.seconds if self.seconds else 0.0

    @property
    def warm_rate(self) -> float:
        """Tests per second of wall time if nothing had to be compiled."""
        share = (self.working - self.compiling) / self.working if self.working else 0.0
        return (self.tests - self.cold) / (self.seconds * share) if self.seconds * share else 0.0

    @property
    def speed(self) -> str:
        """The rate, and where anything was compiled, also what it is without."""
        if not self.cold:
            return f"{self.rate:,.0f} per second"
        return f"{self.rate:,.0f} per second, {self.warm_rate:,.0f} without the {self.cold:,} that compiled something"

    def summary(self) -> dict[str, Any]:
        """The figures as JSON data; costs in microseconds per test, by api."""
        costs = {api: round(seconds / tests * 1e6, 1) for api, (seconds, tests) in sorted(self.spent.items()) if tests}
        own: dict[str, Any] = {**vars(self), "outcomes": dict(self.outcomes), "costs": costs}
        del own["spent"]
        rounded = {name: round(own[name], 3) for name in ("seconds", "inside", "working", "compiling")}
        return {**own, **rounded, "rate": round(self.rate, 1), "warm_rate": round(self.warm_rate, 1)}

    @property
    def told(self) -> str:
        """All of it in a line."""
        tested = f"{self.tests:,} tests of {self.apis} apis in {self.seconds:.0f} s"
        return f"{tested} ({self.speed}), {self.deaths} workers died"


class Figures(Protocol):
    """What any engine can say of its run. seconds: wall time spent fuzzing."""

    seconds: float

    @property
    def tests(self) -> int:
        """Test cases executed."""

    def summary(self) -> dict[str, Any]:
        """All of it as JSON data."""


class Run:
    """A run of a session, on record from its first second on."""

    def __init__(self, session: Session, seed: int, options: Mapping[str, Any]) -> None:
        self.session = session
        self.number = session.store.start_run(session.target.key, seed, options)
        self.told = 0.0

    def tell(self, figures: Figures) -> None:
        """Puts on record how far it has come, now and then."""
        if figures.seconds >= self.told + EVERY:
            self._tell(figures)

    def end(self, figures: Figures) -> None:
        """Puts on record how it ended."""
        self._tell(figures)
        status = "interrupted" if self.session.stopped() else "done"
        self.session.store.finish_run(self.number, status, figures.summary())

    def _tell(self, figures: Figures) -> None:
        self.told = figures.seconds
        self.session.store.checkpoint_run(self.number, figures.tests, figures.seconds)
