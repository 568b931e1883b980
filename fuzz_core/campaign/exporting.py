"""What a run leaves for the job that reports it: the store's bugs and changes as a `reports.results.Result`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from fuzz_core.campaign.cases import Judged, case, guarded
from fuzz_core.campaign.changes import Dropped
from fuzz_core.campaign.comparison import worst_first
from fuzz_core.campaign.history import origin_of
from fuzz_core.collect.places import Place
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.changes import Change
from fuzz_core.store.checks import FIXED
from fuzz_core.store.findings import signature_digest
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import suspected_death
from fuzz_core.triage.recheck import FIXED as FIXED_TURN
from fuzz_core.triage.recheck import REGRESSED
from reports import results
from reports.text import clean, title

_TURNS: dict[str, results.Way] = {FIXED_TURN: "fixed", REGRESSED: "regression"}
TEXT, LINE, NAME = 20_000, 2_000, 500
SITES, APIS, FRAMES = 200, 200, 50


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
    library = {each.key for each in store.targets() if each.library == target.library}
    rows = [bug for bug in store.bugs() if bug.target in library]
    found = [each for each in guarded(store, rows, across=True) if each.row.id == each.first]
    told = [each for each in found if ran.apis is None or each.row.api in ran.apis]
    public = [each for each in told if not each.severity.private]
    compared = [] if ran.baseline is None else worst_first(store.changes(ran.target, ran.baseline))
    harmless = [one for one in compared if not (suspected_death(one.before) or suspected_death(one.after))]
    return results.Result(
        mode=ran.mode,
        target=_build(target),
        baseline=None if ran.baseline is None else _build(store.target(ran.baseline)),
        shard=ran.shard,
        shards=ran.shards,
        figures=ran.figures,
        bugs=tuple(_bug(store, each, ran) for each in public)[: results.MANY],
        changes=tuple(_change(store, change, ran) for change in harmless)[: results.MANY],
        dropped=tuple(_dropped(each, ran) for each in ran.dropped),
        turns=tuple(_turns(public, ran.was)),
        private=sum(each.severity.private and each.row.status != FIXED for each in told)
        + len(compared)
        - len(harmless),
        protection=tuple(_cut(line, NAME) for line in ran.protection),
        problems=tuple(_cut(line, NAME) for line in ran.problems),
        stopped=ran.stopped,
    )


def _cut(text: str, limit: int) -> str:
    """Text that fits the schema; the end says that something is left out."""
    shown = clean(text[:limit])
    return shown if len(text) <= limit else f"{shown[: limit - 1]}…"


def _build(target: TargetRecord) -> results.Build:
    day, commit = origin_of(target.info)
    devices = tuple(_cut(str(each), NAME) for each in target.info.get("devices", ("cpu",)))
    return results.Build(
        key=target.key, library=target.library, version=target.version, day=day, commit=commit, devices=devices
    )


def _said(outcome: Outcome) -> results.Said:
    return results.Said(kind=outcome.kind, name=_cut(outcome.name, NAME), text=_cut(outcome.text.strip(), TEXT))


def _bug(store: Store, each: Judged, ran: Ran) -> results.Bug:
    row, told = each.row, case(store, each)
    return results.Bug(
        fingerprint=row.signature,
        cluster=each.cluster.first.signature,
        number=row.id,
        title=_cut(title(row.script, row.api, row.kind, row.outcome), LINE),
        api=_cut(row.api, NAME),
        also=tuple(_cut(api, NAME) for api in told.also[:APIS]),
        oracle=row.oracle,
        kind=row.kind,
        grade=each.severity.grade,
        validity=each.severity.validity.status,
        reason=_cut(each.severity.validity.reason, LINE),
        status=cast(results.Status, row.status),
        new=row.signature not in ran.was,
        regression=each.severity.regression,
        signature=_cut(row.signature_text, TEXT),
        script=_cut(row.script, TEXT),
        expected=_cut(told.expected, LINE),
        observed=_said(row.outcome),
        frames=tuple(_cut(frame, NAME) for frame in row.outcome.frames[:FRAMES]),
        hits=row.hits,
        runs=row.runs,
        first_found=row.first_found,
        modes={_cut(mode, NAME): shown for mode, shown in told.modes.items()},
        sites=_sites(store.seeds_of(row.test.origin, row.target), row.api, ran),
    )


def _change(store: Store, change: Change, ran: Ran) -> results.Change:
    said = change.signature.partition(": ")[2]
    return results.Change(
        fingerprint=signature_digest(change.signature),
        title=_cut(f"{change.api}: {said}", LINE),
        api=_cut(change.api, NAME),
        kind=cast(results.Kind, change.kind),
        signature=_cut(change.signature, TEXT),
        script=_cut(change.script, TEXT),
        before=_said(change.before),
        after=_said(change.after),
        hits=change.hits,
        runs=change.runs,
        sites=_sites(store.seeds_of(change.test.origin), change.api, ran),
    )


def _dropped(each: Dropped, ran: Ran) -> results.Dropped:
    sites = _sites(each.seeds, each.api, ran)
    return results.Dropped(api=_cut(each.api, NAME), kind=each.kind, said=_cut(each.said, LINE), sites=sites)


def _sites(names: Iterable[str], api: str, ran: Ran) -> tuple[results.Site, ...]:
    places = (ran.place(name, api) for name in names)
    found = [results.Site(path=each.path, line=each.line, test=_cut(each.test, NAME)) for each in places if each]
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
        yield results.Turn(
            fingerprint=row.signature, number=row.id, api=_cut(row.api, NAME), turn=turn, build=each.standing.build
        )
