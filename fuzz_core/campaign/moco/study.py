"""Knowledge of a target's apis for MoCo, from its inventory, the state file, experiments, and extractors.

`learn(session)` returns `facts.Knowledge`, which `modelgen.moco.knowledge.file` writes and reads. Learning compares the
words of definitions if there is no encoder.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache

from fuzz_core.campaign.inventory import take_inventory
from fuzz_core.campaign.moco.study_subject import Course, probed
from fuzz_core.campaign.moco.study_trials import Run
from fuzz_core.campaign.plans import NO_SPACE, make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.collect.constraints import from_docstring
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.scratch import scratch
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.codec import decode_invocation
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import CodecError, NightfuzzError, UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Tensor, TestCase, Value
from fuzz_core.ir.wire import ModeRun
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, Extractor, Spell, enriched, homes, of_homes
from fuzz_core.modelgen.moco.knowledge.similarity import Encoder, with_similar
from fuzz_core.triage.script import Writer

SECONDS, COMPILING_SECONDS, TIMEOUT = 120.0, 600.0, 5.0
PLAIN = "cpu"
MAX_CALLS, MAX_DOC = 400, 100_000
# How a call of an instance begins in the stored text of an invocation.
_APPLIED = '["__call__",['
Keep = Callable[[Knowledge], object]


def learn(
    session: Session,
    encoder: Encoder | None = None,
    extractors: Sequence[Extractor] = (),
    seconds: float | None = None,
    *,
    deadline: float | None = None,
    taken: Mapping[str, Facts] = {},
    keep: Keep = lambda knowledge: None,
) -> Knowledge:
    """Return the facts of recorded calls, documentation and experiments on every api that models are made of.

    Experiments find working calls, ranks, axes that bind numbers, and bounds.

    Args:
        extractors: further readers of the documentation, asked for facts that are not known yet. After one fails, it is
            asked no more, and a note says so.
        seconds: seconds for the experiments; None for the usual time. All further apis keep recorded facts.
        deadline: clock time after which no experiment begins; apis without an experiment are `unfinished`.
        taken: facts of apis that stay as they are.
        keep: gets the facts before the extractors are asked, which may take long.

    Raises:
        NightfuzzError: the target cannot list its apis, or does not start.
        UserError: no call of the target has been traced.
    """
    evidence, target = gathered(session), session.target
    if not evidence:
        problem = f"the state has no call of {target.key} for an api that models are made of"
        raise UserError(problem, f"run `nightfuzz trace --target {target.key}` first")
    limit = usual_seconds(session) if seconds is None else seconds
    end = session.clock() + limit
    course = Course(limit, end if deadline is None else min(end, deadline), deadline is not None, taken)
    with running(session) as run:
        found = probed(session, evidence, run, course)

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


def usual_seconds(session: Session) -> float:
    """Return SECONDS, or COMPILING_SECONDS for a library that compiles while it runs, which takes seconds."""
    return COMPILING_SECONDS if session.dialect.compiled else SECONDS


@contextmanager
def running(session: Session) -> Iterator[Run]:
    """Run calls on the target; each thread has processes of its own, kept until a call kills one."""
    target, local = session.target, threading.local()
    with scratch() as folder, ExitStack() as stack:
        plan = folder / "plan.jsonl"
        make_plan(session, plan, (), seed=0, space=NO_SPACE)

        def run(call: Invocation) -> ModeRun:
            if not hasattr(local, "replayer"):
                zygote = stack.enter_context(Zygote(target.python, target.library, "fuzz", plan, session.stopped))
                local.replayer = stack.enter_context(closing(Replayer(zygote, TIMEOUT)))
            told = local.replayer.tell(TestCase(call, 0), (PLAIN,)).get(PLAIN)
            return told[0] if told else ModeRun(Outcome("skipped"))

        yield run


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


def gathered(session: Session) -> list[ApiEvidence]:
    """Return the evidence of every api that models are made of, by name.

    It is in the target's inventory, with documentation that the state file does not keep, and in the calls and refusals
    that the state file has.

    Raises:
        NightfuzzError: the target cannot list its apis.
    """
    target = session.target
    with Zygote(target.python, target.library, "list", None, session.stopped) as zygote:
        listed = take_inventory(session, zygote)
    apis = [api._replace(doc=api.doc[:MAX_DOC]) for api in listed.apis]
    chosen = list(of_homes(apis, homes(apis, session.store.apis_with(target.key, _APPLIED))))
    calls = _calls(session, {api.name for api in chosen})
    refusals: defaultdict[str, list[str]] = defaultdict(list)
    for name, message in session.store.refusals(target.key):
        refusals[name].append(message)
    constraints: defaultdict[str, list[Constraint]] = defaultdict(list)
    for constraint in (*listed.declared, *(found for api in chosen for found in from_docstring(api))):
        constraints[constraint.api].append(constraint)
    spell = _remembering(Writer(session.dialect).source)
    return [ApiEvidence(api, constraints[api.name], calls[api.name], spell, refusals[api.name]) for api in chosen]


def _remembering(spell: Spell) -> Spell:
    """Cache spellings: large tensors are slow to write, and equal ones come again and again."""
    remembered = cache(spell)

    def spelled(value: Value) -> str:
        return remembered(value) if isinstance(value, Tensor) else spell(value)

    return spelled


def _calls(session: Session, chosen: set[str]) -> defaultdict[str, list[Invocation]]:
    """Return recorded calls by api, of each the first MAX_CALLS, those of instances before constructions alone."""
    found: defaultdict[str, list[Invocation]] = defaultdict(list)
    for number, api, body in session.store.samples(session.target.key, chosen, _APPLIED, MAX_CALLS):
        try:
            found[api].append(decode_invocation(json.loads(body)))
        except CodecError as error:
            raise NightfuzzError(f"invocation {number} of the state cannot be read: {error}") from error
    return found
