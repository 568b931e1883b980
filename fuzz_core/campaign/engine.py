"""Loop for every engine: fuzz, examine the findings, and repeat while enough of the time-box is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

from fuzz_core.campaign.examination import ExaminationQueue, TriageReport, examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.gandalf.engine import fuzz_graphs
from fuzz_core.campaign.gandalf.experience import Experience
from fuzz_core.campaign.gandalf.figures import GandalfOptions, GandalfReport
from fuzz_core.campaign.listener import FuzzReport
from fuzz_core.campaign.moco.engine import MocoReport, fuzz_models
from fuzz_core.campaign.moco.knowledge import KNOWING_SHARE, hindrance, knowledge_of
from fuzz_core.campaign.moco.plot import MocoOptions, SeedProgram, seeds
from fuzz_core.campaign.session import Session
from fuzz_core.ir.errors import NightfuzzError
from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf.table import Library, load
from fuzz_core.modelgen.moco.facts import Knowledge

# Share of the time that is left of a time-box as a round begins.
TRIAGE_SHARE = 0.4
# The same share, if findings are examined beside the fuzz.
LATE_TRIAGE_SHARE = 0.15
# A further round shorter than this share of the time-box is not worth its start.
LEAST_SHARE = 0.1
# A further round has to be so many times as long as it takes until the first test.
LEAST_STARTS = 3


class Round(NamedTuple):
    """A round of fuzzing."""

    seed: int
    seconds: float | None = None  # seconds for fuzzing; None: no limit
    examining: float | None = None  # seconds that are left for examination


class FuzzEngine(Protocol):
    """Fuzzes targets round by round.

    Its findings are pending in the store.
    """

    @property
    def sessions(self) -> Sequence[Session]:
        """Sessions whose findings are examined, in one store."""

    @property
    def least(self) -> float:
        """Seconds that a further round needs to be worth its start."""

    def fuzz(self, turn: Round) -> None:
        """Fuzz for one round."""


def rounds(
    session: Session, seed: int, seconds: float, end: float | None, share: float = TRIAGE_SHARE
) -> Iterator[Round]:
    """Yield the rounds of a time-box of so many seconds until the clock says `end`; the caller examines between them.

    A further round has a seed of its own, derived from the first. A counted run (`end` is None) has one round and no
    limit. A stop by the user ends the rounds.

    Args:
        share: the share of the remaining time that is for examination alone.
    """
    if end is None:
        yield Round(seed)
        return
    for number in count(1):
        left = end - session.clock()
        if number > 1 and (session.stopped() or left < LEAST_SHARE * seconds):
            return
        fuzzing = max(left * (1 - share), 1.0)
        yield Round(seed if number == 1 else derive(seed, "round", number) % 2**31, fuzzing, left - fuzzing)


def fuzz_and_examine(
    engine: FuzzEngine, options: TriageOptions, seed: int, seconds: float, end: float | None
) -> list[TriageReport]:
    """Fuzz for the larger share of the time left and examine for the smaller one, in rounds.

    Single calls are examined beside the fuzz as well, if there is a worker to spare and a time limit. A counted run
    never does this, so that it is the same each time. Arguments as in `rounds`. The rounds end early if findings have
    to wait for the next run. Hangs may wait for the end of the time-box.

    Returns:
        One report for each session.
    """
    reports = [TriageReport() for _ in engine.sessions]
    with ExitStack() as opened:
        queue = None
        if isinstance(engine, CallEngine) and end is not None and engine.sessions[0].workers > 1:
            queue = opened.enter_context(ExaminationQueue(engine.sessions[0], replace(options, deadline=end)))
            engine.queue = queue
        share = TRIAGE_SHARE if queue is None else LATE_TRIAGE_SHARE
        for turn in rounds(engine.sessions[0], seed, seconds, end, share):
            if turn.seconds is not None and turn.seconds < engine.least:
                break
            engine.fuzz(turn)
            for report, later in zip(
                reports, _examined(engine.sessions, options, end, queue, end is None), strict=True
            ):
                report.add(later)
            if (left := sum(report.left - report.hangs for report in reports)) and not engine.sessions[0].stopped():
                engine.sessions[0].watch.note(f"no further round of fuzzing: {left} findings wait to be examined")
                break
        if end is not None and not engine.sessions[0].is_over(end):
            # Bugs are minimised to the end in the time that no round of fuzzing wants.
            for report, later in zip(reports, _examined(engine.sessions, options, end, queue, True), strict=True):
                report.add(later)
    return reports


def _examined(
    sessions: Sequence[Session],
    options: TriageOptions,
    end: float | None,
    queue: ExaminationQueue | None,
    further: bool,
) -> list[TriageReport]:
    """Examine each session; the one with the fewest pending findings comes first, and leaves its spare time.

    Args:
        queue: the queue of the only session, if findings were examined beside the fuzz.
        further: see `examine`.
    """
    left = [len(session.store.pending_findings(session.target.key)) for session in sessions]
    reports = [TriageReport(left=each) for each in left]
    for done, place in enumerate(sorted(range(len(left)), key=left.__getitem__)):
        session = sessions[place]
        if not session.stopped():
            now = session.clock()
            deadline = None if end is None else now + max(end - now, 0.0) / (len(left) - done)
            reports[place] = examine(session, replace(options, deadline=deadline), queue, further)
    return reports


class MocoEngine:
    """Grow derivation trees of model programs.

    Trees go on from their last state, so all rounds have one seed.

    Attributes:
        queue: examines findings beside the growth.
    """

    least = 0.0

    def __init__(self, session: Session, options: MocoOptions, models: Sequence[Path]) -> None:
        self.sessions = [session]
        self.options = options
        self.models = models
        self.report = MocoReport()
        self.queue: ExaminationQueue | None = None
        self.ground: tuple[list[SeedProgram], Knowledge] | None = None

    def fuzz(self, turn: Round) -> None:
        """Grow; the first round learns what is not known yet, in a share of its time."""
        session, seconds = self.sessions[0], turn.seconds
        began = session.clock()
        if self.ground is None:
            knowledge = knowledge_of(session, None if seconds is None else seconds * KNOWING_SHARE)
            self.ground = self._seeds(), knowledge
        left = None if seconds is None else max(seconds - (session.clock() - began), 1.0)
        self.report.add(fuzz_models(session, *self.ground, replace(self.options, seconds=left), self.queue))

    def _seeds(self) -> list[SeedProgram]:
        """Return the programs that can be read."""
        session, found = self.sessions[0], list[SeedProgram]()
        for each in seeds(session, self.models):
            if isinstance(each, SeedProgram):
                found.append(each)
            else:
                session.watch.note(f"{each.name}: {each.reason}")
        return found


class CallEngine:
    """Fuzzes single calls.

    In a share of each round with a time limit, another engine grows models.

    Attributes:
        left_out: why no models grow any more; empty as long as they do.
        queue: examines findings beside the fuzz.
    """

    def __init__(
        self, session: Session, options: FuzzOptions, models: MocoEngine | None = None, share: float = 0.0
    ) -> None:
        self.sessions = [session]
        self.options = options
        self.models = models
        self.share = share
        self.report = FuzzReport()
        self.left_out = ""
        self.least = 0.0
        self.queue: ExaminationQueue | None = None

    @property
    def grown(self) -> MocoReport | None:
        """Return the report on models; None if no models have grown."""
        return self.models.report if self.models is not None and self.models.report.run else None

    def fuzz(self, turn: Round) -> None:
        """Fuzz calls, then grow models.

        A time limit leaves seconds for examining what calls show.
        """
        session = self.sessions[0]
        began = session.clock()
        models = self._models_seconds(turn.seconds)
        seconds = None if turn.seconds is None else turn.seconds - models
        options = replace(self.options, seed=turn.seed, seconds=seconds, examining=turn.examining)
        if self.queue is not None:
            self.queue.reserved = models
        tested = fuzz(session, options, self.queue)
        self.least = LEAST_STARTS * (session.clock() - began - tested.seconds)
        self.report.add(tested)
        if self.models is not None and models and not session.stopped():
            try:
                if self.queue is not None:
                    self.queue.reserved = 0.0
                    self.models.queue = self.queue
                self.models.fuzz(turn._replace(seconds=models))
            except NightfuzzError as error:
                # Findings of single calls are examined even if models fail.
                self._leave_out(str(error).partition("\n")[0])

    def _models_seconds(self, seconds: float | None) -> float:
        """Return the seconds of a round in which models grow; 0 if they cannot.

        The first round says why.
        """
        if seconds is None or self.models is None or not self.share or self.left_out:
            return 0.0
        why = hindrance(self.sessions[0], self.models.models, seconds * self.share)
        if why and self.grown is None:
            self._leave_out(why)
        return 0.0 if why else seconds * self.share

    def _leave_out(self, why: str) -> None:
        self.sessions[0].watch.note(f"no model programs are fuzzed: {why}")
        self.left_out = why


class GandalfEngine:
    """Fuzzes whole models that several libraries compute."""

    least = 0.0

    def __init__(self, sessions: Mapping[Library, Session], options: GandalfOptions) -> None:
        self.libraries = sessions
        self.sessions = list(sessions.values())
        self.options = options
        self.experience = Experience()
        self.report = GandalfReport()

    def fuzz(self, turn: Round) -> None:
        """Compare graphs for one round."""
        options = replace(self.options, seed=turn.seed, seconds=turn.seconds)
        self.report.add(fuzz_graphs(self.libraries, load(), options, self.experience))
