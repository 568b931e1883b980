"""Knowledge of a target's apis for MoCo, from its inventory, the state file, experiments, and extractors.

`known(session)` takes what is recorded and documented and executes no call; `learn(session)` tries every api out. Both
return `facts.Knowledge`, which `modelgen.moco.knowledge.file` writes and reads. Learning compares the
words of definitions if there is no encoder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fuzz_core.campaign.moco.study_course import Course, StudyResult, probed
from fuzz_core.campaign.moco.study_evidence import gathered
from fuzz_core.campaign.moco.study_trials import Run
from fuzz_core.campaign.plans import make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.scratch import scratch
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.ir.wire import ModeRun
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, Extractor, enriched, facts_of
from fuzz_core.modelgen.moco.knowledge.similarity import Encoder, with_similar

SECONDS, COMPILING_SECONDS, TIMEOUT = 120.0, 600.0, 5.0
PLAIN = "cpu"
Keep = Callable[[Knowledge], object]


def known(
    session: Session,
    encoder: Encoder | None = None,
    extractors: Sequence[Extractor] = (),
    apis: Collection[str] = (),
) -> Knowledge:
    """Return the facts of recorded calls and documentation on every api that models are made of; no call is executed.

    Args:
        extractors: further readers of the documentation, asked for facts that are not known yet. After one fails, it is
            asked no more, and a note says so.
        apis: only these apis; empty for all.

    Raises:
        NightfuzzError: the target cannot list its apis.
    """
    evidence = _chosen(session, apis)
    found = StudyResult([facts_of(each) for each in evidence], ())
    return _assembled(session, evidence, found, encoder, extractors, lambda knowledge: None)


def learn(
    session: Session,
    encoder: Encoder | None = None,
    extractors: Sequence[Extractor] = (),
    apis: Collection[str] = (),
    seconds: float | None = None,
    *,
    deadline: float | None = None,
    taken: Mapping[str, Facts] = {},
    keep: Keep = lambda knowledge: None,
) -> Knowledge:
    """Return the facts of `known`, with those of experiments: working calls, ranks, axes that bind numbers, bounds.

    Args:
        seconds: seconds for the experiments; None for the usual time. All further apis keep recorded facts.
        deadline: clock time after which no experiment begins; apis without an experiment are `unfinished`.
        taken: facts of apis that stay as they are.
        keep: gets the facts before the extractors are asked, which may take long.

    Raises:
        ZygoteError: the target does not start.
        UserError: no call of the target has been traced.
    """
    evidence = _chosen(session, apis)
    if not evidence and not apis:
        key = session.target.key
        problem = f"the state has no call of {key} for an api that models are made of"
        raise UserError(problem, f"run `nightfuzz trace --target {key}` first")
    limit = usual_seconds(session) if seconds is None else seconds
    end = session.clock() + limit
    course = Course(limit, end if deadline is None else min(end, deadline), deadline is not None, taken)
    with running(session) as run:
        found = probed(session, evidence, run, course)
    return _assembled(session, evidence, found, encoder, extractors, keep)


def usual_seconds(session: Session) -> float:
    """Return SECONDS, or COMPILING_SECONDS for a library that compiles while it runs, which takes seconds."""
    return COMPILING_SECONDS if session.dialect.compiled else SECONDS


def _chosen(session: Session, apis: Collection[str]) -> list[ApiEvidence]:
    return [each for each in gathered(session) if not apis or each.api.name in apis]


@contextmanager
def running(session: Session) -> Iterator[Run]:
    """Run calls on the target; each thread has processes of its own, kept until a call kills one."""
    with scratch() as folder, ExitStack() as stack:
        plan = folder / "plan.jsonl"
        make_plan(session, plan, (), seed=0, mutating=False)
        local = threading.local()

        def run(call: Invocation) -> ModeRun:
            if not hasattr(local, "replayer"):
                local.replayer = _replayer(session, plan, stack)
            told = local.replayer.tell(TestCase(call, 0), (PLAIN,)).get(PLAIN)
            return told[0] if told else ModeRun(Outcome("skipped"))

        yield run


def _replayer(session: Session, plan: Path, stack: ExitStack) -> Replayer:
    zygote = Zygote(session.target.python, session.target.library, "fuzz", plan, session.stopped)
    stack.callback(zygote.close)
    replayer = Replayer(zygote, TIMEOUT)
    stack.callback(replayer.close)
    return replayer


def _assembled(
    session: Session,
    evidence: Sequence[ApiEvidence],
    found: StudyResult,
    encoder: Encoder | None,
    extractors: Sequence[Extractor],
    keep: Keep,
) -> Knowledge:
    target = session.target

    def compared(facts: Sequence[Facts]) -> Knowledge:
        session.watch.phase("comparing definitions", len(facts))
        by = encoder
        try:
            similar = with_similar(facts, by)
        except UserError as error:
            session.watch.note(f"{error.problem}; definitions are compared by their words ({error.remedy})")
            by, similar = None, with_similar(facts, None)
        return Knowledge(
            library=target.library,
            build=target.key,
            embedding="" if by is None else by.model,
            unfinished=found.unfinished,
            apis={each.api: each for each in similar},
        )

    knowledge = compared(found.facts)
    if not extractors:
        return knowledge
    keep(knowledge)
    facts = found.facts
    for extractor in extractors:
        facts = _told(session, evidence, facts, extractor)
    return compared(facts)


def _told(
    session: Session, evidence: Sequence[ApiEvidence], facts: Sequence[Facts], extractor: Extractor
) -> list[Facts]:
    """Return the facts with those that an extractor adds, until it fails or the user stops."""
    session.watch.phase("importing knowledge", len(facts))
    whole = list(facts)
    for place, each in enumerate(evidence):
        if session.stopped():
            break
        try:
            whole[place] = enriched(whole[place], each, [extractor])
        except UserError as error:
            session.watch.note(f"{error.problem}; the facts from other sources are kept ({error.remedy})")
            break
        session.watch.advance(place + 1, api=each.api.name)
    return whole
