"""The bugs of the dashboard: a line for each, and a page for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from fuzz_core.adapters.dialect import Dialect, dialect_of
from fuzz_core.campaign.cases import JudgedBug, judged, modes_tried
from fuzz_core.campaign.history import came_with, release
from fuzz_core.ir.errors import BuildError, CodecError
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.gandalf.picture import svg
from fuzz_core.modelgen.gandalf.scripts import SAID
from fuzz_core.store.checks import CheckRow
from fuzz_core.store.records import BugRow
from fuzz_core.store.store import Store
from fuzz_core.targets.facts import Environment
from fuzz_core.triage.assess import goes_alone
from fuzz_core.triage.known import Registry
from fuzz_core.triage.script import render_printing
from nightfuzz.reports.case import BugCase
from nightfuzz.reports.contradiction import blame_sentence, contradiction, title
from nightfuzz.reports.dashboard.model import SiteBug, SiteBugDetail
from nightfuzz.reports.text import CALL, SPAN, call_of, clean, clipped, one_line

TEXT, FRAMES = 4_000, 30


class BugPages:
    """Reader of all public bugs of a state, with the records that several bugs share read once."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self.store = store
        self.registry = registry
        self.targets = {target.key: target for target in store.targets()}
        self.runs = {run.id: run for run in store.runs()}
        self.first_runs = store.first_runs()
        self.entries = store.entries_matched()
        self.judgements = store.judgements()
        self.checks: dict[int, list[CheckRow]] = defaultdict(list)
        for check in store.checks():
            self.checks[check.bug].append(check)
        self.bugs = [each for each in judged(store, store.bugs(), across=True) if each.row.id == each.first]

    def lines(self) -> list[SiteBug]:
        """Return a line for each bug, the most urgent first."""
        return [self._line(each) for each in self.bugs]

    def pages(self) -> Iterator[tuple[int, SiteBugDetail]]:
        """Yield the page of each bug, with its number."""
        for each in self.bugs:
            yield each.row.id, self._page(each)

    def _line(self, each: JudgedBug) -> SiteBug:
        row, how = each.row, each.severity
        judgement = self.judgements.get(row.id)
        entry = self.entries.get(row.id, "")
        known = self.registry.own.get(entry) or self.registry.shipped.get(entry)
        return SiteBug(
            id=row.id,
            cluster=each.cluster.first.id,
            title=title(row),
            call=call_of(row.script, row.api, CALL),
            said=contradiction(row),
            api=row.api,
            kind=row.kind,
            oracle=row.oracle,
            grade=how.grade,
            validity=how.validity.status,
            status=row.status,
            regression=how.regression,
            alone=goes_alone(row, how.validity),
            hits=row.hits,
            runs=row.runs,
            findings=row.findings,
            found=row.first_found,
            build=row.target,
            since=came_with(self.store, each.first).version,
            engine=engine_of(self.runs[self.first_runs[row.id]].options) if row.id in self.first_runs else "",
            verdict=judgement.verdict if judgement else "",
            issue=(known.issue or "") if known else "",
        )

    def _page(self, each: JudgedBug) -> SiteBugDetail:
        row, target = each.row, self.targets[each.row.target]
        came = came_with(self.store, each.first)
        modes = modes_tried(self.store, row, target.library)
        judgement = self.judgements.get(row.id)
        dialect = dialect_of(target.library)
        traced = self._traced(row, dialect)
        shown = BugCase(row, target, each.severity, Environment(), modes, first_bad=came.version)
        return SiteBugDetail(
            reason=clean(each.severity.validity.reason),
            script=clean(row.script),
            one_line=one_line(row.script, SPAN) or "",
            expected=shown.expected,
            observed=_observed(row),
            blame=blame_sentence(row),
            frames=tuple(clean(frame) for frame in row.outcome.frames[:FRAMES]),
            modes=modes,
            trials=self._trials(each),
            probes=self._probes(each.first),
            first_bad=came.version,
            last_good=came.good.build.rpartition("==")[2] if came.good else "",
            events=self._events(each),
            rules=row.test.rules,
            origin=clean(row.origin),
            traced=traced,
            minimal=call_script(row.test.invocation, dialect) if traced else "",
            minimised=row.minimised,
            picture=(svg(row.script) or "") if any(said in row.script for said in SAID) else "",
            judged=clean(judgement.reason) if judgement else "",
            entry=self.entries.get(row.id, ""),
            unchecked=shown.unchecked(),
        )

    def _trials(self, each: JudgedBug) -> dict[str, Sequence[object]]:
        """Return the newest check of the bug on each build, and the runs that confirmed it on its own build."""
        row = each.row
        own = {row.target: ("shown", row.hits, row.runs, row.first_found[:10])}
        newest = {one.target: (one.status, one.hits, one.runs, one.checked_at[:10]) for one in self.checks[each.first]}
        return {**own, **newest}

    def _probes(self, bug: int) -> list[Sequence[object]]:
        probes = self.store.probes(bug).values()
        lines = [(each.build.rpartition("==")[2], each) for each in probes]
        lines.sort(key=lambda line: (release(line[0]), line[0]))
        return [(version, one.status, one.hits, one.runs, str(one.info.get("commit", ""))) for version, one in lines]

    def _events(self, each: JudgedBug) -> list[Sequence[str]]:
        days = {check.target: check.checked_at[:10] for check in self.checks[each.first]}
        return [
            (each.row.first_found[:10], "found", each.row.target),
            *((days.get(event.build, ""), event.kind, event.build) for event in each.standing.past),
        ]

    def _traced(self, row: BugRow, dialect: Dialect) -> str:
        """Return the script of the recorded call that the bug's test case comes from; empty if it is not on record."""
        if not row.test.rules or row.test.program or not row.test.origin:
            return ""
        invocation = self.store.recorded_call(row.test.origin)
        return call_script(invocation, dialect) if invocation else ""


def _observed(row: BugRow) -> str:
    """Return what the library did: its text, below the kind of the outcome unless the call returned."""
    outcome = row.outcome
    head = "" if outcome.kind == "ok" else f"{outcome.kind} {outcome.name}".strip()
    return clean("\n".join(filter(None, (head, clipped(outcome.text, TEXT)))))


def engine_of(options: Mapping[str, object]) -> str:
    """Return the name of a run's engine."""
    return str(options.get("engine", "freefuzz"))


def call_script(invocation: Invocation, dialect: Dialect) -> str:
    """Return a script that makes a recorded call, cut to a length; empty if the call cannot be written."""
    try:
        return clean(clipped(render_printing(TestCase(invocation, 0), dialect), TEXT))
    except (CodecError, BuildError):
        return ""
