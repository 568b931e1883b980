"""The results document of one run, with a published schema. The fuzz job hands it to the report job.

The fuzz job runs untrusted code, so a reader accepts only values that fit these models. `read_result` is the only
reader. The document is public: it holds the number of private bugs and no other fact about them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fuzz_core.ir.errors import UserError
from nightfuzz.reports.artifact import read_plain

SCHEMA = "nightfuzz-results/1"
BYTES = 64 << 20
MANY = 10_000


def _is_inside(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or re.search(r"[\x00-\x1f]", path):
        raise ValueError("no path relative to the repository")
    return path


LONGEST_NAME = 500
Name = Annotated[str, Field(max_length=LONGEST_NAME)]
Line = Annotated[str, Field(max_length=2_000)]
Text = Annotated[str, Field(max_length=100_000)]
MANY_NAMES = 1_000
Names = Annotated[tuple[Name, ...], Field(max_length=MANY_NAMES)]
Mode = Literal["nightly", "pr", "bump", "recheck"]
Status = Literal["open", "fixed", "known"]
Kind = Literal["regression", "changed", "fixed"]
Way = Literal["fixed", "regression", "reopened"]
Fingerprint = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Path_ = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_is_inside)]
# Documents of earlier versions call a crash an abort.
Grade = Annotated[Name, AfterValidator(lambda grade: "crash" if grade == "abort" else grade)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Seconds = Annotated[float, Field(ge=0, le=1e9)]
# Points of a curve.
POINTS = 100


class StrictModel(BaseModel):
    """Immutable, and without keys that the schema does not have."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class BuildEntry(StrictModel):
    """A build of a library, and the hardware it was run on."""

    key: Name
    library: Name
    version: Name
    flavour: Name = ""  # `cpu` or `cuda`; empty if unknown
    day: Name = ""  # ISO date; empty if unknown
    commit: Name = ""  # empty if unknown
    devices: Names = ("cpu",)  # the hardware it was run on


class OutcomeEntry(StrictModel):
    """An outcome: its kind (ok, exception, signal, …), the exception's or signal's name, and its text."""

    kind: Name
    name: Name = ""
    text: Text = ""


class Site(StrictModel):
    """A place in the user's own tests.

    Attributes:
        path: relative to the repository.
        line: from 1.
        test: `file.py::test`.
    """

    path: Path_
    line: Annotated[int, Field(ge=1, le=10_000_000)] = 1
    test: Name = ""


class BugEntry(StrictModel):
    """A confirmed public bug."""

    fingerprint: Fingerprint  # digest of the signature
    cluster: Fingerprint  # fingerprint of the simplest bug with the same cause
    number: Count
    title: Line
    api: Name
    also: Names = ()  # other apis that fail in the same place
    oracle: Name
    kind: Name
    grade: Grade
    validity: Name
    reason: Line = ""
    status: Status = "open"
    new: bool = False  # not on record before this run
    regression: bool = False  # fixed before, or clean on the baseline
    signature: Text
    script: Text
    expected: Line = ""
    observed: OutcomeEntry
    frames: Names = ()
    hits: Count  # number of fresh processes in which the script showed the bug
    runs: Count  # number of fresh processes
    first_found: Name = ""
    modes: Annotated[dict[Name, Name], Field(max_length=100)] = {}  # for each mode, whether it shows the bug
    sites: Annotated[tuple[Site, ...], Field(max_length=MANY)] = ()


class ChangeEntry(StrictModel):
    """A difference between target and baseline.

    Attributes:
        kind: regression, changed or fixed, worst first.
    """

    oracle: ClassVar[str] = "versions"
    fingerprint: Fingerprint
    title: Line
    api: Name
    kind: Kind
    signature: Text
    script: Text
    before: OutcomeEntry
    after: OutcomeEntry
    hits: Count
    runs: Count
    sites: Annotated[tuple[Site, ...], Field(max_length=MANY)] = ()


class RemovalEntry(StrictModel):
    """An api that the user's tests call and that the target has removed or deprecated."""

    oracle: ClassVar[str] = "versions"
    script: ClassVar[str] = ""
    api: Name
    kind: Name
    said: Line = ""
    sites: Annotated[tuple[Site, ...], Field(max_length=MANY)] = ()

    @property
    def fingerprint(self) -> str:
        """The same in every run, on every build."""
        return hashlib.sha256(f"{self.kind}: {self.api}".encode()).hexdigest()[:32]


Entry = BugEntry | ChangeEntry | RemovalEntry


class StatusEntry(StrictModel):
    """A recorded bug that this run has found to be fixed or back.

    Attributes:
        build: the first clean one, or the one that shows it.
    """

    fingerprint: Fingerprint
    number: Count
    api: Name
    turn: Way
    build: Name


class TotalsEntry(StrictModel):
    """Totals of a run.

    Attributes:
        seconds: of wall time.
        cells: boundary classes of arguments that the sweep has tried.
        pending: findings that wait for their examination.
    """

    seconds: Seconds = 0.0
    tests: Count = 0
    cells: Count = 0
    apis: Count = 0
    seeds: Count = 0
    findings: Count = 0
    pending: Count = 0


class RunResult(StrictModel):
    """A run, or several shards of a run put together."""

    schema_: Annotated[Literal["nightfuzz-results/1"], Field(alias="schema")] = "nightfuzz-results/1"
    mode: Mode
    target: BuildEntry
    baseline: BuildEntry | None = None
    # digest of the plan that the run followed; empty for none
    plan: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""
    shard: Annotated[int, Field(ge=0, lt=256)] = 0
    shards: Annotated[int, Field(ge=1, le=256)] = 1
    figures: TotalsEntry = TotalsEntry()
    # seconds of fuzzing and new outcome classes until then, in the order of time
    growth: Annotated[tuple[tuple[Seconds, Count], ...], Field(max_length=POINTS)] = ()
    bugs: Annotated[tuple[BugEntry, ...], Field(max_length=MANY)] = ()
    changes: Annotated[tuple[ChangeEntry, ...], Field(max_length=MANY)] = ()
    dropped: Annotated[tuple[RemovalEntry, ...], Field(max_length=MANY)] = ()
    turns: Annotated[tuple[StatusEntry, ...], Field(max_length=MANY)] = ()
    private: Count = 0  # number of withheld bugs
    protection: Names = ()  # barriers between the code under test and the machine, a line each
    remarks: Names = ()  # notes about the run, a line each
    problems: Names = ()  # steps that failed, a line each
    stopped: bool = False  # cancelled before its time
    incomplete: bool = False  # a command failed, or a shard is missing, damaged or of other builds; problems say which

    def to_json(self) -> str:
        """Return the document, its keys as in the schema."""
        return self.model_dump_json(by_alias=True, indent=1)

    def with_faults(self, faults: Iterable[str]) -> RunResult:
        """Return the run with these faults of its shards as its first problems; incomplete if there are any."""
        lines = tuple(line[:LONGEST_NAME] for line in faults)
        if not lines:
            return self
        problems = tuple(dict.fromkeys((*lines, *self.problems)))
        return self.model_copy(update={"problems": problems[:MANY_NAMES], "incomplete": True})

    @property
    def builds(self) -> tuple[str, ...]:
        """Keys of the target and, where there is one, of the baseline."""
        return tuple(build.key for build in (self.target, self.baseline) if build is not None)

    @property
    def is_untouched(self) -> bool:
        """Whether the run fuzzed no api because the pull request changes no seed that calls one."""
        return self.mode == "pr" and not (self.figures.tests or self.incomplete or self.stopped)

    @property
    def fresh(self) -> tuple[BugEntry, ...]:
        """Open bugs that were not on record before."""
        return tuple(bug for bug in self.bugs if bug.new and bug.status == "open")

    @property
    def regressions(self) -> int:
        """Bugs that are back or not on the baseline, and changes for the worse."""
        return sum(bug.regression and bug.status == "open" for bug in self.bugs) + sum(
            change.kind == "regression" for change in self.changes
        )

    @property
    def fixed(self) -> int:
        """Bugs that this run has seen fixed."""
        return sum(turn.turn == "fixed" for turn in self.turns)


def schema() -> dict[str, Any]:
    """Return the published JSON schema of `RunResult`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        **TypeAdapter(RunResult).json_schema(by_alias=True),
    }


def read_result(path: Path, root: Path | None = None) -> RunResult:
    """Read a document that another job wrote.

    Args:
        root: the folder below which no part of the path may be a link; None for the file's folder.

    Raises:
        UserError: the file is no result; the message has its name and the first invalid value.
    """
    remedy = "write the file again with this version of nightfuzz: run the fuzz job again"
    try:
        return RunResult.model_validate_json(read_plain(path, BYTES, root))
    except OSError as error:
        raise UserError(f"cannot read {path.name}: {error.strerror}", remedy) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise UserError(f"{path.name}: {where[:200]}: {first['msg'][:200]}", remedy) from error


def merged(results: Sequence[RunResult]) -> RunResult:
    """Merge the shards of a run.

    Their order makes no difference; a bug that several have found is there once.

    If the shards ran different builds, the result names the build that most shards ran, with the devices of all shards.

    Raises:
        UserError: there is no result, or the results have several modes or libraries.
    """
    if not results:
        raise UserError(
            "the fuzz job has left no results to report",
            "correct the cause that the log of the fuzz job shows, and run the fuzz job again",
        )
    ordered = sorted(results, key=lambda each: (each.shard, each.to_json()))
    if len({(each.mode, each.target.library) for each in ordered}) > 1:
        raise UserError(
            "the results are of several modes or libraries", "report the results of each run in a job of its own"
        )
    counts = Counter(each.builds for each in ordered)
    alike = [each for each in ordered if each.builds == counts.most_common(1)[0][0]]
    first, backwards = alike[0], ordered[::-1]
    devices = tuple(dict.fromkeys(device for each in alike for device in each.target.devices))
    keys = {"bugs": "fingerprint", "changes": "fingerprint", "dropped": "api", "turns": "fingerprint"}
    return first.model_copy(
        update={
            "target": first.target.model_copy(update={"devices": devices[:MANY_NAMES]}),
            "shard": 0,
            "shards": 1,
            "figures": _summed([each.figures for each in ordered]),
            "growth": summed_curves([each.growth for each in ordered]),
            **{
                name: tuple({getattr(one, key): one for each in backwards for one in getattr(each, name)}.values())
                for name, key in keys.items()
            },
            "private": sum(each.private for each in ordered),
            **{
                name: tuple(dict.fromkeys(line for each in ordered for line in getattr(each, name)))
                for name in ("protection", "remarks", "problems")
            },
            "stopped": any(each.stopped for each in ordered),
            "incomplete": any(each.incomplete for each in ordered),
        }
    )


def _summed(parts: list[TotalsEntry]) -> TotalsEntry:
    """Add up the shards; they run side by side, so the time is that of the longest."""
    sums = {name: sum(getattr(part, name) for part in parts) for name in TotalsEntry.model_fields}
    return TotalsEntry(**sums | {"seconds": max(part.seconds for part in parts)})


def summed_curves(curves: Sequence[Sequence[tuple[float, int]]]) -> tuple[tuple[float, int], ...]:
    """Add up curves of shards that ran side by side; the sum has at most POINTS points, the last one included."""
    times = sorted({at for curve in curves for at, _ in curve})
    step = -(-len(times) // POINTS) or 1
    return tuple((at, sum(_amount(curve, at) for curve in curves)) for at in times[::-1][::step][::-1])


def _amount(curve: Sequence[tuple[float, int]], at: float) -> int:
    """Return the amount of a curve at a time; zero before its first point."""
    return max((amount for moment, amount in curve if moment <= at), default=0)
