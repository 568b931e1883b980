"""What a time-box is for: fuzzing and examining, in rounds, by the engine that was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzz_core.campaign.examination import TriageReport
from fuzz_core.campaign.listener import FuzzReport
from fuzz_core.campaign.moco.engine import MocoReport
from fuzz_core.campaign.moco.share import hindrance
from fuzz_core.campaign.session import Session
from fuzz_core.cli.config import Settings
from fuzz_core.cli.rounds import rounds
from fuzz_core.cli.work import drawn_seed, fuzz_phase, grow, grow_phase, prepare_ground, rest, triage_phase
from fuzz_core.ir.errors import NightfuzzError

# A further round has to be so many times as long as it takes until the first test.
LEAST_STARTS = 3


@dataclass
class Worked:
    """What came of a fuzz. grown: of its share for model programs, None where it had none; left_out: why that is so."""

    fuzzed: FuzzReport | MocoReport
    triaged: TriageReport = field(default_factory=TriageReport)
    grown: MocoReport | None = None
    left_out: str = ""


def fuzz_and_triage(session: Session, settings: Settings, end: float | None, share: float = 0.0) -> Worked:
    """Fuzzes for the larger share of the time left and examines in the rest, in rounds; a counted run has no deadline.

    share: of the fuzzing, in which model programs grow. A counted run has none: nothing in it depends on the clock.
    Trees go on where they stopped, so that they have one seed in all rounds.
    """
    end = None if settings.tests_count is not None else end
    settings = settings.model_copy(update={"seed": drawn_seed(settings)})
    if settings.engine == "moco":
        return _grown_and_examined(session, settings, end)
    return _fuzzed_and_examined(session, settings, end, share)


def _grown_and_examined(session: Session, settings: Settings, end: float | None) -> Worked:
    grown, triaged, ground = MocoReport(), TriageReport(), None
    for _, seconds in rounds(session, settings, end):
        began = session.clock()
        ground = ground or prepare_ground(session, settings, seconds)
        grown.add(grow(session, settings, ground, rest(session, began, seconds)))
        triaged.add(_examined(session, settings, end))
        if triaged.left:
            break
    return Worked(grown, triaged)


def _fuzzed_and_examined(session: Session, settings: Settings, end: float | None, share: float) -> Worked:
    fuzzed, starting = FuzzReport(), 0.0
    worked = Worked(fuzzed)
    for each, seconds in rounds(session, settings, end):
        if seconds is not None and seconds < LEAST_STARTS * starting:
            break
        began = session.clock()
        models = _models_time(session, settings, worked, share, seconds)
        tested = fuzz_phase(session, each, *_parts(began, seconds, models, end))
        starting = session.clock() - began - tested.seconds
        fuzzed.add(tested)
        if models and not session.stopped():
            _grow_beside(session, settings, worked, models)
        worked.triaged.add(_examined(session, settings, end))
        if worked.triaged.left:
            break
    return worked


def _parts(began: float, seconds: float | None, models: float, end: float | None) -> tuple[float | None, float | None]:
    """Seconds for single apis, and for examining what the round finds."""
    if seconds is None or end is None:
        return None, None
    return seconds - models, end - began - seconds


def _models_time(session: Session, settings: Settings, worked: Worked, share: float, seconds: float | None) -> float:
    """Seconds of a round in which model programs grow. None again once they could not; said in the first round."""
    if seconds is None or not share or worked.left_out:
        return 0.0
    why = hindrance(session, settings.models, seconds * share)
    if why and worked.grown is None:
        _leave_out(session, worked, why)
    return 0.0 if why else seconds * share


def _grow_beside(session: Session, settings: Settings, worked: Worked, seconds: float) -> None:
    """Grows models, or says why it could not: what single apis have shown is examined all the same."""
    try:
        grown = grow_phase(session, settings, seconds)
    except NightfuzzError as error:
        _leave_out(session, worked, str(error).partition("\n")[0])
        return
    if worked.grown is None:
        worked.grown = grown
    else:
        worked.grown.add(grown)


def _leave_out(session: Session, worked: Worked, why: str) -> None:
    session.watch.note(f"no model programs are grown: {why}")
    worked.left_out = why


def _examined(session: Session, settings: Settings, end: float | None) -> TriageReport:
    """What is pending; nothing of it where the user has asked to stop."""
    if session.stopped():
        return TriageReport(left=len(session.store.pending_findings(session.target.key)))
    return triage_phase(session, settings, end)
