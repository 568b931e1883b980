"""What leaves a state: the `reports.results.Result` of a run, and the parts of a state that may be public or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from fuzz_core.campaign.cases import Judged, case, guarded
from fuzz_core.campaign.changes import Dropped
from fuzz_core.campaign.comparison import worst_first
from fuzz_core.campaign.history import libraries, origin_of, review_standings
from fuzz_core.collect.places import Place
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.checks import FIXED, Change
from fuzz_core.store.findings import signature_digest
from fuzz_core.store.merging import Merged, merge
from fuzz_core.store.opening import now, open_store
from fuzz_core.store.parting import Apart, Shown, part, shown_changes
from fuzz_core.store.records import BugRow, FindingRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import suspected_death, suspicion, withheld
from fuzz_core.triage.recheck import FIXED as FIXED_TURN
from fuzz_core.triage.recheck import REGRESSED
from fuzz_core.triage.simplify import cost
from nightfuzz.reports import results
from nightfuzz.reports.text import clean, title

_TURNS: dict[str, results.Way] = {FIXED_TURN: "fixed", REGRESSED: "regression"}
TEXT, NAME = 20_000, 500
SITES, APIS, FRAMES = 200, 200, 50
PENDING = "pending"


@dataclass(frozen=True)
class Ran:
    """What is known of a run beside the store. apis: those it was about; None for all.

    was: as `standings_now` gave it before the run. place: where a seed by name calls an api.
    """

    mode: results.Mode
    target: str
    baseline: str | None = None
    apis: Collection[str] | None = None
    was: Mapping[str, str] = field(default_factory=dict)
    dropped: Sequence[Dropped] = ()
    figures: results.Figures = field(default_factory=results.Figures)
    protection: Sequence[str] = ()
    problems: Sequence[str] = ()
    stopped: bool = False
    shard: int = 0
    shards: int = 1
    place: Callable[[str, str], Place | None] = lambda name, api: None


def standings_now(store: Store) -> dict[str, str]:
    """The status of every bug on record, by fingerprint."""
    later = store.later_rows()
    return {bug.signature: bug.status for bug in store.bugs() if bug.id not in later}


def result_of(store: Store, ran: Ran) -> results.Result:
    """The document of a run. Of private bugs, and of what looks like their cause, it has the number alone."""
    target = store.target(ran.target)
    builds = {each.key for each in store.targets() if each.library == target.library}
    rows = [bug for bug in store.bugs() if bug.target in builds]
    found = [each for each in guarded(store, rows, across=True) if each.row.id == each.first]
    told = [each for each in found if ran.apis is None or each.row.api in ran.apis]
    public = [each for each in told if not each.severity.private]
    compared = [] if ran.baseline is None else worst_first(store.changes(ran.target, ran.baseline))
    harmless = [one for one in compared if not _is_deadly(one)]
    private = sum(each.severity.private and each.row.status != FIXED for each in told)
    return results.Result(
        **{name: getattr(ran, name) for name in ("mode", "shard", "shards", "figures", "stopped")},
        target=_build(target),
        baseline=None if ran.baseline is None else _build(store.target(ran.baseline)),
        bugs=tuple(_bug(store, each, ran) for each in public)[: results.MANY],
        changes=tuple(_change(store, change, ran) for change in harmless)[: results.MANY],
        dropped=tuple(_part(results.Dropped, each, sites=_sites(each.seeds, each.api, ran)) for each in ran.dropped),
        turns=tuple(_turns(public, ran.was)),
        private=private + len(compared) - len(harmless),
        protection=tuple(map(_cut, ran.protection)),
        problems=tuple(map(_cut, ran.problems)),
    )


def _is_deadly(change: Change | Shown) -> bool:
    return bool(suspected_death(change.before) or suspected_death(change.after))


def _cut(text: str, limit: int = NAME) -> str:
    """Text that fits the schema; the end says that something is left out."""
    shown = clean(text[:limit])
    return shown if len(text) <= limit else f"{shown[: limit - 1]}…"


P = TypeVar("P", bound=results.Part)


def _part(kind: type[P], source: object, **own: Any) -> P:
    """A part of the document out of its own values, and for others those of `source` by name, cut to what fits."""
    told = {name: own.get(name, getattr(source, name, None)) for name in kind.model_fields}
    for name, value in told.items():
        if isinstance(value, str):
            limits = [each.max_length for each in kind.model_fields[name].metadata if hasattr(each, "max_length")]
            told[name] = _cut(value, min(TEXT, *limits)) if limits else value
    return kind(**told)


def _build(target: TargetRecord) -> results.Build:
    day, commit = origin_of(target.info)
    devices = tuple(_cut(str(each)) for each in target.info.get("devices", ("cpu",)))
    return _part(results.Build, target, day=day, commit=commit, devices=devices)


def _said(outcome: Outcome) -> results.Said:
    return _part(results.Said, outcome, text=outcome.text.strip())


def _bug(store: Store, each: Judged, ran: Ran) -> results.Bug:
    row, told, severity = each.row, case(store, each), each.severity
    return _part(
        results.Bug,
        row,
        fingerprint=row.signature,
        cluster=each.cluster.first.signature,
        number=row.id,
        title=title(row.script, row.api, row.kind, row.outcome),
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


def _change(store: Store, change: Change, ran: Ran) -> results.Change:
    return _part(
        results.Change,
        change,
        fingerprint=signature_digest(change.signature),
        title=f"{change.api}: {change.signature.partition(': ')[2]}",
        before=_said(change.before),
        after=_said(change.after),
        sites=_sites(store.seeds_of(change.test.origin), change.api, ran),
    )


def _sites(names: Iterable[str], api: str, ran: Ran) -> tuple[results.Site, ...]:
    places = (ran.place(name, api) for name in names)
    found = [results.Site(path=each.path, line=each.line, test=_cut(each.test)) for each in places if each]
    return tuple(found[:SITES])


def _turns(found: Iterable[Judged], was: Mapping[str, str]) -> Iterable[results.Turn]:
    """Bugs that stand otherwise than before the run."""
    for each in found:
        row = each.row
        before = was.get(row.signature)
        if before is None or before == row.status or FIXED not in (before, row.status):
            continue
        past = each.standing.past
        turn: results.Way = _TURNS[past[-1].kind] if past else "reopened"
        yield _part(results.Turn, row, fingerprint=row.signature, number=row.id, turn=turn, build=each.standing.build)


class Split(NamedTuple):
    """What was kept apart. fingerprints: of private bugs, sorted. pending: how many findings wait for examination.

    there: whether there is a private part at all; what nobody has examined may be private too.
    """

    there: bool
    fingerprints: tuple[str, ...]
    pending: int


def split(source: Path, public: Path, private: Path, clock: Callable[[], datetime] = now) -> Split:
    """Writes the public and the private part of a state as two state files; the source stays as it is.

    Private are bugs that `withheld` names, with all that belongs to them; findings that nobody has examined; checks and
    changes that died as those do. `joined` makes the two one again. Raises UserError for a file that cannot be read.
    """
    with open_store(source, read_only=True, clock=clock) as store:
        bugs, library = {bug.id: bug for bug in store.bugs()}, libraries(store)
        # On whichever build of a library: by cause and by signature.
        named = {(library[bugs[each].target], bugs[each].signature) for each in withheld(list(bugs.values()))}
        hidden = frozenset(bug.id for bug in bugs.values() if (library[bug.target], bug.signature) in named)
        findings = [finding for key in library for finding in store.findings(key)]
        apart = Apart(
            hidden,
            frozenset(each.id for each in findings if _may_be_private(each, bugs.get(each.bug or 0), hidden)),
            frozenset(each.id for each in store.checks() if suspected_death(_examined(each.outcome, bugs[each.bug]))),
            frozenset(each.id for each in shown_changes(store) if _is_deadly(each)),
        )
    fingerprints = tuple(sorted({bugs[number].signature for number in hidden}))
    pending = sum(each.status == PENDING for each in findings)
    return Split(part(source, public, private, apart, clock), fingerprints, pending)


def joined(into: Store, others: Sequence[Path]) -> Merged:
    """Folds other states of the same kind into one, and brings up where bugs stand with what all of them have seen."""
    done = merge(into, others, cost)
    review_standings(into)
    return done


def _may_be_private(finding: FindingRow, bug: BugRow | None, hidden: frozenset[int]) -> bool:
    if finding.status == PENDING or finding.bug in hidden:
        return True
    outcome = finding.outcome if bug is None else _examined(finding.outcome, bug)
    return bool(suspicion(finding.verdict.kind, outcome))


def _examined(outcome: Outcome, bug: BugRow) -> Outcome:
    """What was seen in passing has no native stack: that of the bug, which has its signature, says where it was."""
    return outcome if outcome.frames else outcome._replace(frames=bug.outcome.frames)
