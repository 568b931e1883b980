"""`nightfuzz action export`: packs a fuzz job's results for the report job, also after a cancelled job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from fuzz_core.campaign.carryover import TakenSpace
from fuzz_core.campaign.changes import Dropped
from fuzz_core.campaign.document import RunFacts, result_of, run_totals
from fuzz_core.campaign.partition import split
from fuzz_core.collect.files import FilePlaces
from fuzz_core.execution.protection import read_protection
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.action.inputs import PULLS, Inputs
from nightfuzz.bot.jobs.documents import write_documents
from nightfuzz.bot.jobs.workspace import EndNote, StartNote, Workspace
from nightfuzz.bot.state.place import pack
from nightfuzz.bot.state.private import encrypt
from nightfuzz.bot.state.shards import SEALED
from nightfuzz.reports.results import RunResult, TotalsEntry

UNTRACED = 20


def export_job(inputs: Inputs, work: Workspace, now: datetime, workflow: str = "") -> RunResult:
    """Write the folder `results` and return its document.

    Args:
        workflow: the file that runs, for SARIF.

    Raises:
        UserError: the job never began to fuzz.
    """
    start, end = work.start_note(), work.end_note()
    folder = inputs.results.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with open_store(work.state_file) as store:
        ran = _ran(inputs, work, start, end, now)
        if not ran.figures.tests:
            # A killed command has printed no answer.
            recorded = run_totals(store, start.target, datetime.fromisoformat(start.at))
            ran = replace(ran, figures=recorded.model_copy(update={"seeds": ran.figures.seeds}))
        result = result_of(store, ran)
    problems = _state(inputs, work, folder)
    result = result.model_copy(update={"problems": (*result.problems, *problems)}).with_faults(_own(end.problems, work))
    write_documents(folder, result, workflow)
    return result


def _ran(inputs: Inputs, work: Workspace, start: StartNote, end: EndNote, now: datetime) -> RunFacts:
    seeds = [work.sources / folder for folder in (*inputs.tests, *inputs.settings.models, *inputs.settings.docs)]
    bump, ran = (answer if isinstance(answer := work.answer(name), dict) else {} for name in ("bump", "run"))
    return RunFacts(
        mode=start.mode,
        target=start.target,
        baseline=start.baseline,
        plan=start.plan,
        apis=_apis(start, work),
        was=dict(start.was),
        dropped=[Dropped(**each) for each in bump.get("dropped_apis", ())],
        figures=_figures(ran, bump, (now - datetime.fromisoformat(start.at)).total_seconds()),
        since=datetime.fromisoformat(start.at),
        protection=read_protection(work.state),
        remarks=_taken(ran),
        problems=_own((*_untraced(bump), *_untraced(ran)), work),
        stopped=end.stopped,
        shard=inputs.shard,
        shards=inputs.settings.shards,
        place=FilePlaces(seeds, work.sources).of,
    )


def _own(lines: Iterable[str], work: Workspace) -> list[str]:
    """Return the lines with files of the caller's as the caller names them."""
    return [line.replace(f"{work.sources}/", "") for line in lines]


def _apis(start: StartNote, work: Workspace) -> set[str] | None:
    """Return the apis of a pull request's changed seeds; for a bump, the empty set."""
    if start.mode == "bump":
        return set()
    return None if start.mode != "pr" else set(work.answer("run").get("apis", ()))


def _figures(ran: dict[str, Any], bump: dict[str, Any], seconds: float) -> TotalsEntry:
    """Add up the engines of a run, or take those of a bump.

    An api that several engines have tested counts once.
    """
    fuzz, models, compared = ran.get("fuzz", {}), ran.get("models", {}), ran.get("baseline", {})
    named = {*fuzz.get("costs", ()), *models.get("apis", ())}
    return TotalsEntry(
        seconds=max(seconds, 0.0),
        tests=sum(part.get("tests", 0) for part in (fuzz, models, compared, bump)),
        cells=fuzz.get("cells", 0) + compared.get("cells", 0),
        apis=max(len(named), *(part.get("apis", 0) for part in (fuzz, compared, bump))),
        seeds=ran.get("seeds", 0) or bump.get("traced", {}).get("tests", 0),
        findings=fuzz.get("kept", 0) + models.get("kept", 0),
        pending=ran.get("triage", {}).get("left", 0),
    )


def _taken(answer: dict[str, Any]) -> list[str]:
    """Return a line about the space file that a run took over; no line without one."""
    return [] if (space := answer.get("space")) is None else [TakenSpace(**space).summary()]


def _untraced(answer: dict[str, Any]) -> Iterator[str]:
    untraced: Sequence[dict[str, Any]] = answer.get("untraced", ())
    yield from (f"{each['file']}: not traced: {each['reason']}"[:400] for each in untraced[:UNTRACED])
    if len(untraced) > UNTRACED:
        yield f"{len(untraced) - UNTRACED} more files of tests were not traced"


def _state(inputs: Inputs, work: Workspace, folder: Path) -> list[str]:
    """Pack the public part, and encrypt the private part if there is a key.

    Returns:
        Notes about the private part.
    """
    public, private = work.root / "public.db", work.root / "private.db"
    parted = split(work.state_file, public, private)
    for name, data in pack(public).items():
        (folder / name).write_bytes(data)
    what = f"{len(parted.fingerprints)} private bugs and {parted.pending} unexamined findings"
    if not parted.there:
        return []
    if inputs.settings.private_recipient is not None:
        (folder / SEALED).write_bytes(encrypt(private, [inputs.settings.private_recipient]))
        return []
    if inputs.state == "directory" and inputs.mode not in PULLS:
        return [f"{what} stay in the state directory of the runner"]
    return [f"{what} are not kept: the setting private-recipient names no key to encrypt them"]
