"""The data of the dashboard: records that the site's scripts read as JSON, under the names of their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SiteBuild:
    """A build, and the work that was done with it."""

    key: str
    library: str
    version: str
    date: str  # ISO date
    commit: str  # empty if unknown
    apis: int
    runs: int
    seconds: float  # wall time spent fuzzing
    tests: int
    findings: int
    new: Sequence[int]  # numbers of the bugs that it was the first to show
    fixed: Sequence[int]  # bugs that were first clean there
    back: Sequence[int]  # fixed bugs that it shows again
    open: int  # open bugs of the library after it
    since: str = ""  # key of the build that it is compared with
    # Changes of apis since that build, and of results; `changes` is empty for builds that are long past.
    api_changes: Mapping[str, int] = field(default_factory=dict)
    changes: Sequence[Mapping[str, str]] = ()
    results: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True)
class SiteNight:
    """Runs that follow each other within some hours."""

    started: str  # ISO 8601, UTC
    finished: str  # empty if it was cut short
    targets: Sequence[str]  # keys of builds
    runs: int
    unfinished: int  # how many of the runs did not end by themselves
    tests: int
    seconds: float  # wall time spent fuzzing, summed over runs
    inside: float  # share of the workers' time that was spent in calls of the library; 0 if unknown
    operators: int  # operators known at its end; 0 if unknown
    classes: int  # outcome classes known at its end
    cells: int = 0  # cells that the sweep tried in it
    new: Sequence[int] = ()  # bugs first found in it
    back: Sequence[int] = ()
    fixed: Sequence[int] = ()


@dataclass(frozen=True)
class SiteBug:
    """A public bug, as a line of the list."""

    id: int
    cluster: int  # number of the simplest bug with the same cause
    title: str
    call: str
    said: str  # the result of the call, and the expected result
    api: str
    kind: str
    oracle: str
    grade: str
    validity: str
    status: str
    regression: bool
    alone: bool  # whether the bug may have an issue of its own
    hits: int
    runs: int
    findings: int
    found: str  # ISO 8601, UTC
    build: str  # key of the build that it was found on
    since: str  # first bad version; empty if unknown
    engine: str
    verdict: str = ""  # a person's judgement
    issue: str = ""  # address of a known issue


@dataclass(frozen=True)
class SiteBugDetail:
    """The page of a bug."""

    reason: str  # why the input is valid, invalid or unknown
    script: str
    one_line: str
    expected: str
    observed: str
    blame: str
    frames: Sequence[str]
    modes: Mapping[str, str]  # for each mode, whether it shows the bug
    trials: Mapping[str, Sequence[Any]]  # for each build: status, hits, runs, day
    probes: Sequence[Sequence[Any]]  # builds tried by a bisection: version, status, hits, runs, commit
    first_bad: str
    last_good: str
    events: Sequence[Sequence[str]]  # day, event, build
    rules: Sequence[str]  # mutation rules that made the test case
    origin: str  # the model program that it comes from
    traced: str  # the script of the recorded call that it was mutated from
    minimal: str  # the script of the bug's own call, to compare with `traced`; empty without it
    minimised: bool
    picture: str  # SVG of the model; empty for none
    judged: str  # the reason of a person's judgement
    entry: str  # name of the entry of the registry that the bug matches
    unchecked: Sequence[str]
    tree: str = ""  # SVG of the path from a seed program to this bug; empty for none


@dataclass(frozen=True)
class SiteApi:
    """An api of a library's newest build, as a line of the list."""

    name: str
    library: str
    kind: str
    state: str  # tested, not fuzzed, or the reason of its gap
    why: str  # the type or reason behind the gap
    invocations: int
    valid: int
    seeds: int
    classes: int  # outcome classes
    operators: int  # operators that it was the first to reach
    cost: float  # microseconds per test; 0 if unknown
    cells: int = 0  # cells of its sweep; 0 before its first turn
    tried: int = 0  # cells whose test has run
    unreachable: int = 0  # cells whose value this build cannot make
    bugs: Sequence[int] = ()


@dataclass(frozen=True)
class SiteApiDetail:
    """The page of an api."""

    definition: str
    aliases: Sequence[str]
    undescribed: Mapping[str, int]
    dropped: Mapping[str, int]
    outcomes: Mapping[str, int]  # outcome classes by the kind of the outcome
    space: Sequence[Sequence[Any]]  # argument, type, number of values
    constraints: Sequence[Sequence[str]]  # argument, kind, words, source
    operators: Sequence[str]
    calls: Sequence[str]  # examples of recorded valid calls
    cells: Sequence[Sequence[Any]] = ()  # argument, result, reason, places of boundary classes in `classes` of the site


@dataclass(frozen=True)
class SiteEngine:
    """An engine's cost and yield."""

    name: str
    runs: int
    seconds: float
    tests: int
    findings: int
    bugs: int
    clusters: int


@dataclass(frozen=True)
class SiteYield:
    """Results of examining the findings of a rule, an oracle or a kind of verdict."""

    name: str
    group: str  # rule or verdict
    confirmed: int  # findings of bugs, duplicates included
    flaky: int
    rejected: int
    bugs: int


@dataclass(frozen=True)
class SiteJudgement:
    """A person's judgement of a cluster."""

    bug: int
    verdict: str
    reason: str
    at: str  # ISO 8601, UTC


@dataclass(frozen=True)
class DashboardData:
    """All pages."""

    made: str  # ISO 8601, UTC
    version: str  # of nightfuzz
    builds: Sequence[SiteBuild]
    nights: Sequence[SiteNight]
    bugs: Sequence[SiteBug]  # the most urgent first
    apis: Sequence[SiteApi]
    engines: Sequence[SiteEngine]
    yields: Sequence[SiteYield]
    judgements: Sequence[SiteJudgement]
    pending: int  # findings that wait for their examination
    time: Mapping[str, float]  # seconds of work by what it was spent on
    growth: Sequence[Sequence[float]]  # seconds, tests, outcome classes, operators, of the last night
    cells: Mapping[str, Mapping[str, int]]  # for the newest build of each library, cells of the sweep by their result
    classes: Sequence[str]  # names of boundary classes
    kinds: Mapping[str, str]  # a sentence about each kind of verdict
    modes: Mapping[str, str]  # a sentence about each mode
    bug_details: Mapping[int, SiteBugDetail]
    api_details: Mapping[str, SiteApiDetail]
