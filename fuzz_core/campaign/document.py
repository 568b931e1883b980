"""The results document of a run (`nightfuzz.reports.results.RunResult`), made from its state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from fuzz_core.campaign.cases import JudgedBug, case, with_privacy
from fuzz_core.campaign.changes import Dropped
from fuzz_core.campaign.comparison import worst_first
from fuzz_core.campaign.coverage import coverage_line
from fuzz_core.campaign.gaps import gap_line
from fuzz_core.campaign.history import flavours_differ, growth, origin_of
from fuzz_core.campaign.partition import is_deadly
from fuzz_core.campaign.session import Session
from fuzz_core.collect.files import FilePlace
from fuzz_core.execution.protection import read_protection
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.checks import FIXED, Change
from fuzz_core.store.findings import signature_digest
from fuzz_core.store.records import RunRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import FIXED as FIXED_TURN
from fuzz_core.triage.recheck import REGRESSED
from nightfuzz.reports import results, summary
from nightfuzz.reports.contradiction import title
from nightfuzz.reports.text import clean

_TURNS: dict[str, results.Way] = {FIXED_TURN: "fixed", REGRESSED: "regression"}
TEXT, NAME = 20_000, 500
SITES, APIS, FRAMES = 200, 200, 50


@dataclass(frozen=True)
class RunFacts:
    """Facts of a run that the store does not hold."""

    mode: results.Mode
    target: str
    baseline: str | None = None
    plan: str = ""  # digest of the plan that the run followed
    apis: Collection[str] | None = None  # the run's selection; None for all
    was: Mapping[str, str] = field(default_factory=dict)  # result of `statuses_now` before the run
    dropped: Sequence[Dropped] = ()
    figures: results.TotalsEntry = field(default_factory=results.TotalsEntry)
    since: datetime | None = None  # when the run began; None if its curve is not wanted
    protection: Sequence[str] = ()
    remarks: Sequence[str] = ()
    problems: Sequence[str] = ()
    stopped: bool = False
    shard: int = 0
    shards: int = 1
    place: Callable[[str, str], FilePlace | None] = lambda name, api: (
        None
    )  # returns where a seed of this name calls an api


def statuses_now(store: Store) -> dict[str, str]:
    """Return the status of every bug on record, by fingerprint."""
    later = store.later_rows()
    return {bug.signature: bug.status for bug in store.bugs() if bug.id not in later}


def result_of(store: Store, ran: RunFacts) -> results.RunResult:
    """Return the document of a run.

    Private bugs, and bugs that look like their cause, appear only in a count.
    """
    target = store.target(ran.target)
    builds = {each.key for each in store.targets() if each.library == target.library}
    rows = [bug for bug in store.bugs() if bug.target in builds]
    found = [each for each in with_privacy(store, rows, across=True) if each.row.id == each.first]
    told = [each for each in found if ran.apis is None or each.row.api in ran.apis]
    public = [each for each in told if not each.severity.private]
    compared = [] if ran.baseline is None else worst_first(store.changes(ran.target, ran.baseline))
    harmless = [one for one in compared if not is_deadly(one)]
    baseline = None if ran.baseline is None else store.target(ran.baseline)
    unlike = "" if baseline is None else flavours_differ(target, baseline)
    asked = [row for row in store.coverage(ran.target) if ran.apis is None or row.api in ran.apis]
    # A run about a project's own tests traces no more than these.
    gaps = gap_line(asked) if ran.mode == "nightly" else ""
    private = sum(each.severity.private and each.row.status != FIXED for each in told)
    return results.RunResult(
        **{name: getattr(ran, name) for name in ("mode", "plan", "shard", "shards", "figures", "stopped")},
        target=_build(target),
        baseline=None if baseline is None else _build(baseline),
        growth=() if ran.since is None else new_classes(_runs_since(store, ran.target, ran.since)),
        bugs=tuple(_bug(store, each, ran) for each in public)[: results.MANY],
        changes=tuple(_change(store, change, ran) for change in harmless)[: results.MANY],
        dropped=tuple(
            _part(results.RemovalEntry, each, sites=_sites(each.seeds, each.api, ran)) for each in ran.dropped
        ),
        turns=tuple(_turns(public, ran.was)),
        private=private + len(compared) - len(harmless),
        protection=tuple(map(_cut, ran.protection)),
        remarks=tuple(map(_cut, filter(None, (*ran.remarks, coverage_line(store, ran.target), gaps)))),
        problems=tuple(map(_cut, (*filter(None, [unlike]), *ran.problems))),
    )


def write_report(path: Path, session: Session, notes: Sequence[str] = ()) -> Path:
    """Write the report of a session and return its path.

    Bugs are new if they are on record since the session began.

    Args:
        notes: further lines for the head of the report.
    """
    found = result_since(session.store, session.target.key, session.began, read_protection(session.state_dir))
    return summary.write_report(path, found, notes)


def result_since(store: Store, key: str, since: datetime, protection: Sequence[str]) -> results.RunResult:
    """Return the document of all runs on a target since a time.

    A bug that was first found before it is not new.
    """
    began = since.isoformat(timespec="milliseconds")
    was = {bug.signature: bug.status for bug in store.bugs() if bug.first_found < began}
    figures = run_totals(store, key, since)
    return result_of(store, RunFacts("nightly", key, was=was, figures=figures, since=since, protection=protection))


def run_totals(store: Store, key: str, since: datetime) -> results.TotalsEntry:
    """Add up what the runs on a target have recorded since a time.

    One that was cut short counts as far as it came.
    """
    runs = _runs_since(store, key, since)
    return results.TotalsEntry(
        seconds=sum(run.seconds for run in runs),
        tests=sum(run.tests for run in runs),
        cells=sum(run.summary.get("cells", 0) for run in runs),
        apis=max((_api_count(run.summary) for run in runs), default=0),
        findings=sum(run.summary.get("kept", 0) for run in runs),
        pending=len(store.pending_findings(key)),
    )


def _runs_since(store: Store, key: str, since: datetime) -> list[RunRow]:
    began = since.isoformat(timespec="milliseconds")
    return [run for run in store.runs(key) if run.started >= began]


def new_classes(runs: Sequence[RunRow]) -> tuple[tuple[float, int], ...]:
    """Return seconds and new outcome classes over runs that follow each other, for a results document."""
    points = [(round(float(seconds), 2), int(classes)) for seconds, _, classes, _ in growth(runs)]
    return results.summed_curves([[(at, max(classes - points[0][1], 0)) for at, classes in points]])


def _api_count(summary: Mapping[str, Any]) -> int:
    """Return how many apis a run has tested.

    A run of model programs keeps their names.
    """
    found = summary.get("tested_apis", summary.get("apis", 0))
    return found if isinstance(found, int) else len(found)


def _cut(text: str, limit: int = NAME) -> str:
    """Return text that fits the schema; its end says how much was cut off."""
    shown = clean(text[:limit])
    return shown if len(text) <= limit else f"{shown[: limit - 1]}…"


P = TypeVar("P", bound=results.StrictModel)


def _part(kind: type[P], source: object, **own: Any) -> P:
    """Return a part of the document from its own values, and from values of `source` by name, cut to their limits."""
    told = {name: own.get(name, getattr(source, name, None)) for name in kind.model_fields}
    for name, value in told.items():
        if isinstance(value, str):
            limits = [each.max_length for each in kind.model_fields[name].metadata if hasattr(each, "max_length")]
            told[name] = _cut(value, min(TEXT, *limits)) if limits else value
    return kind(**told)


def _build(target: TargetRecord) -> results.BuildEntry:
    day, commit = origin_of(target.info)
    devices = tuple(_cut(str(each)) for each in target.info.get("devices", ("cpu",)))
    flavour = _cut(str(target.info.get("flavour", "")))
    return _part(results.BuildEntry, target, day=day, commit=commit, devices=devices, flavour=flavour)


def _said(outcome: Outcome) -> results.OutcomeEntry:
    return _part(results.OutcomeEntry, outcome, text=outcome.text.strip())


def _bug(store: Store, each: JudgedBug, ran: RunFacts) -> results.BugEntry:
    row, told, severity = each.row, case(store, each), each.severity
    return _part(
        results.BugEntry,
        row,
        fingerprint=row.signature,
        cluster=each.cluster.first.signature,
        number=row.id,
        title=title(row),
        also=tuple(map(_cut, told.also[:APIS])),
        grade=severity.grade,
        validity=severity.validity.status,
        reason=severity.validity.reason,
        new=row.signature not in ran.was,
        regression=severity.regression,
        signature=row.signature_text,
        expected=told.expected,
        observed=_said(row.outcome),
        frames=tuple(map(_cut, row.outcome.frames[:FRAMES])),
        modes={_cut(mode): shown for mode, shown in told.modes.items()},
        sites=_sites(store.seeds_of(row.test.origin, row.target), row.api, ran),
    )


def _change(store: Store, change: Change, ran: RunFacts) -> results.ChangeEntry:
    return _part(
        results.ChangeEntry,
        change,
        fingerprint=signature_digest(change.signature),
        title=f"{change.api}: {change.signature.partition(': ')[2]}",
        before=_said(change.before),
        after=_said(change.after),
        sites=_sites(store.seeds_of(change.test.origin), change.api, ran),
    )


def _sites(names: Iterable[str], api: str, ran: RunFacts) -> tuple[results.Site, ...]:
    places = (ran.place(name, api) for name in names)
    found = [results.Site(path=each.path, line=each.line, test=_cut(each.test)) for each in places if each]
    return tuple(found[:SITES])


def _turns(found: Iterable[JudgedBug], was: Mapping[str, str]) -> Iterable[results.StatusEntry]:
    """Yield bugs whose status changed in the run."""
    for each in found:
        row = each.row
        before = was.get(row.signature)
        if before is None or before == row.status or FIXED not in (before, row.status):
            continue
        past = each.standing.past
        turn: results.Way = _TURNS[past[-1].kind] if past else "reopened"
        yield _part(
            results.StatusEntry, row, fingerprint=row.signature, number=row.id, turn=turn, build=each.standing.build
        )
