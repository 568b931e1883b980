"""The course of experiments: all apis through the steps of `Subject`, as far as the time goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from fuzz_core.campaign.moco.study_subject import Subject
from fuzz_core.campaign.moco.study_trials import Over, Run, pool_of
from fuzz_core.campaign.session import Session
from fuzz_core.ir.values import Value
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, seen_calls

# An api may take so many times its share of the time.
PATIENCE = 4.0
# The number of apis for each worker that go through all steps together. All further apis wait, and may have to wait for
# another call.
GROUP = 8
Step = Callable[[Subject, Over], None]


class Course(NamedTuple):
    """The limits of a course of experiments."""

    seconds: float  # seconds for experiments on all apis
    end: float  # clock time after which no experiment begins
    patient: bool = False  # whether a later call goes on with the apis that `end` leaves out
    taken: Mapping[str, Facts] = {}  # facts that are known and stay as they are


class StudyResult(NamedTuple):
    """The result of a course of experiments."""

    facts: list[Facts]  # facts of each api, in the order of the evidence
    unfinished: tuple[str, ...]  # apis that there was no time for


def probed(session: Session, evidence: Sequence[ApiEvidence], run: Run, course: Course) -> StudyResult:
    """Take every api through the steps of `Subject`, all of them one step before any the next, classes first."""
    ordered = sorted(evidence, key=lambda each: each.api.kind)
    taken = [each for each in ordered if each.api.name in course.taken]
    subjects = [Subject(each, run) for each in ordered if each.api.name not in course.taken]
    pool = pool_of([*(each.seen for each in subjects), *(seen_calls(each.api, each.calls) for each in taken)])
    session.watch.phase("running experiments on apis", len(subjects))
    cut = set(_steps(session, subjects, pool, course))
    found = {**course.taken, **{each.evidence.api.name: each.facts() for each in subjects}}
    return StudyResult([found[each.api.name] for each in evidence], tuple(sorted(cut)))


def _steps(session: Session, subjects: Sequence[Subject], pool: Mapping[str, Value], course: Course) -> Iterator[str]:
    """Take the subjects through all steps; yield the names of those that the end has cut short."""
    steps: tuple[Step, ...] = (lambda subject, over: subject.find(pool, over), Subject.bind)
    share = PATIENCE * course.seconds / max(1, len(subjects))

    def over() -> bool:
        return session.stopped() or session.clock() >= course.end

    def cut(step: Step, subject: Subject) -> bool:
        limit = session.clock() + share
        if not over():
            step(subject, lambda: over() or session.clock() >= limit)
        return over()

    size = GROUP * session.workers if course.patient else max(1, len(subjects))
    with ThreadPoolExecutor(session.workers, "knowing") as threads:
        for first in range(0, len(subjects), size):
            group = subjects[first : first + size]
            for number, step in enumerate(steps):
                for place, short in enumerate(threads.map(lambda each, step=step: cut(step, each), group)):
                    done = first + (number * len(group) + place + 1) / len(steps)
                    session.watch.advance(done, api=group[place].documented.api)
                    if short:
                        yield group[place].documented.api
