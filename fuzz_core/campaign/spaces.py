"""Space files on their way in and out of a campaign: the value space of a build that this machine need not trace."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.carryover import TakenSpace, TraceReport, recheck
from fuzz_core.campaign.session import Session
from fuzz_core.execution.scratch import explained, scratch
from fuzz_core.ir.errors import UserError
from fuzz_core.store.intake import look_over, take_in
from fuzz_core.store.spacefile import REMEDY, take, unpack
from fuzz_core.store.statefile import open_store

# The number of taken-over calls that are run again. If more than this share of them fail, all calls are run again.
SAMPLE, LOST_SHARE = 200, 0.05


class SpaceFile(NamedTuple):
    """A space file."""

    path: Path
    vouched: bool = False  # its hash is one that this installation names, so its rows need not be checked


def take_space(session: Session, file: SpaceFile, report: TraceReport) -> str:
    """Put the value space of a file on record, and return the key of its build; empty if that is the target.

    Raises:
        UserError: the file is damaged, holds foreign rows, or is of another library. The state is then as it was.
    """
    session.watch.phase(f"loading {file.path.name}")
    with scratch() as folder, explained(folder):
        plain = clean = folder / "space.db"
        unpack(file.path, plain)
        if file.vouched:
            look_over(plain)
        else:
            clean = folder / "clean.db"
            if dropped := take_in(plain, clean).dropped:
                raise UserError(f"{file.path} has rows that a space file must not have: {next(iter(dropped))}", REMEDY)
        key = _build_of(session, file.path, clean)
        report.space = TakenSpace(file.path.name, key, take(session.store, clean))
    if key == session.target.key:
        return ""
    session.watch.note(
        f"{file.path.name} is of another build, {key}: nightfuzz traces the differences to {session.target.key}"
    )
    return key


def _build_of(session: Session, path: Path, clean: Path) -> str:
    """Return the key of the only build in an unpacked file."""
    own = session.target
    # An older file is brought to the newest schema here.
    with open_store(clean) as store:
        builds = store.targets()
        if len(builds) != 1 or store.runs() or store.bugs():
            raise UserError(
                f"{path} is not a space file: it holds several builds, no build, or results of fuzzing", REMEDY
            )
        [build] = builds
        if build.library != own.library:
            raise UserError(
                f"{path} holds calls of {build.library}, but {own.key} is a build of {own.library}",
                f"give --space a file that `nightfuzz pack` wrote for {own.library}",
            )
    return build.key


def check_sample(session: Session, report: TraceReport, deadline: float | None) -> None:
    """Run some of the calls that were taken over again; if too many fail, run all valid calls on record again."""
    if report.space is None:
        return
    store, target = session.store, session.target.key
    valid = [row.id for row in store.bodies(target) if row.valid and row.expected == "ok"]
    sample = set(valid[:: max(len(valid) // SAMPLE, 1)])
    store.mark_unchecked(target, sample)
    recheck(session, report, deadline)
    ran = [row.valid for row in store.bodies(target) if row.id in sample and row.valid is not None]
    report.space = report.space._replace(sample=len(ran), held=sum(ran))
    lost = ran.count(False)
    if lost > len(ran) * LOST_SHARE and not session.is_over(deadline):
        session.watch.note(
            f"{lost} of {len(ran)} calls of the space file fail on this build: nightfuzz runs all of its calls again"
        )
        store.mark_unchecked(target, valid)
        recheck(session, report, deadline)
