"""Issues of a night: from the merged state through a plan to GitHub, and what of it is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.commands.handling import Listener
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.actions import Create
from nightfuzz.bot.issues.doing import Done, carry_out, look
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.filings import merged as filings_merged
from nightfuzz.bot.issues.planning import Plan, Rules, plan
from nightfuzz.bot.jobs.answers import answered
from nightfuzz.bot.jobs.context import Event, auth_elsewhere, auth_of
from nightfuzz.bot.jobs.upstream import Abroad, drafter, reviewed
from nightfuzz.bot.jobs.wanting import umbrellas, wanted
from nightfuzz.bot.state.place import FILINGS, Place, revise
from nightfuzz.reports.text import bounded

SHOWN = 20
LINE = 200


class Filed(NamedTuple):
    """filings: as they are remembered now. notes: lines for the summary."""

    filings: Filings
    notes: tuple[str, ...]


def file_issues(
    inputs: Inputs, event: Event, hub: Hub, place: Place, state: Path, clock: Callable[[], datetime]
) -> Filed:
    """Brings the issues up to what the state says. Claims what it is about to file before it files anything."""
    run = event.run
    with open_store(state) as store:
        clusters, batches = wanted(store), umbrellas(store)
    abroad = Abroad(inputs.upstream, auth_elsewhere(inputs), auth_of(inputs), event.api)
    existing, gone = look(hub, remembered(place))
    # People are heard first: what they do not want to hear of is not told once more.
    heard = Listener(hub, remembered(place), drafter(hub, abroad, clusters, clock()), clock()).sweep(existing)
    existing, gone = look(hub, heard.filings) if heard.filings.requests else (existing, gone)
    rules = Rules(daily=inputs.settings.max_new_issues, run=run, authors=frozenset({hub.login()}))
    first = plan(clusters, existing, heard.filings, rules, clock(), batches, gone)
    new = [action.id for action in first.actions if isinstance(action, Create)]
    claimed = revised(place, lambda now: filings_merged(now, heard.filings).with_claims(new, run, clock()), "claims")
    ours = plan(clusters, existing, claimed, rules, clock(), batches, gone)
    done = carry_out(hub, ours, claimed, clock)
    with open_store(state, read_only=True) as store:
        told = answered(hub, store, done.filings, clock())
        there = reviewed(hub, abroad, event.repository, store, clusters, told, clock())
    mine = _without_claims(there.filings, run)
    kept = revised(place, lambda now: filings_merged(_without_claims(now, run), mine), "filed")
    filed_there = [f"filed upstream: {url}" for url in there.filed]
    return Filed(kept, (*_notes(ours, done), *heard.problems, *filed_there, *there.problems))


def read(data: bytes) -> Filings:
    """What a place remembers. Raises UserError where that cannot be read."""
    try:
        return Filings.model_validate_json(data) if data.strip() else Filings()
    except ValidationError as error:
        raise UserError(f"{FILINGS} cannot be read", "delete it: issues are found again by their markers") from error


def remembered(place: Place) -> Filings:
    """What the place has of issues; nothing where there is none yet."""
    snapshot = place.load()
    return Filings() if snapshot is None else read(snapshot.files.get(FILINGS, b""))


def revised(place: Place, change: Callable[[Filings], Filings], what: str) -> Filings:
    """Changes what the place has of issues; `change` is called again where somebody else was faster."""
    return read(revise(place, FILINGS, lambda data: change(read(data)).to_json().encode(), what))


def _without_claims(filings: Filings, run: str) -> Filings:
    """What this run had claimed is filed, or free for others."""
    return filings.model_copy(update={"claims": {key: each for key, each in filings.claims.items() if each.run != run}})


def _notes(planned: Plan, done: Done) -> Iterator[str]:
    counts = ", ".join(f"{count} {name}" for name, count in sorted(done.counts.items())) or "nothing to do"
    yield f"issues: {counts}"
    for filed in done.filed[:SHOWN]:
        yield f"new issue {filed.number}: {bounded(filed.title, LINE)}"
    if planned.waiting:
        yield f"{len(planned.waiting)} causes wait for another day: max-new-issues are filed"
        yield from (f"waiting: {bounded(each.title, LINE)}" for each in planned.waiting[:SHOWN])
    if planned.silent:
        yield f"{planned.silent} causes of which people want to hear no more, or that are known"
    if planned.private:
        yield f"{planned.private} private causes: told nowhere"
    yield from (bounded(line, LINE) for line in (*planned.notes, *done.problems))
    yield from (f"left for the next run: {bounded(line, LINE)}" for line in done.left[:SHOWN])
