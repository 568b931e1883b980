"""Experiments on apis: the facts that evidence gives, the facts that each step adds, and the course of all steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, NamedTuple

from fuzz_core.campaign.moco.study_trials import (
    Late,
    Over,
    Run,
    Trial,
    TrialBench,
    accepted_ranks,
    bounds_to_axes,
    pool_of,
    returned,
    simplified,
    trials,
)
from fuzz_core.campaign.session import Session
from fuzz_core.ir.values import Value, prim
from fuzz_core.modelgen.moco.facts import Facts, Origin
from fuzz_core.modelgen.moco.knowledge.extraction import ApiEvidence, facts_of, seen_calls, spelled_all
from fuzz_core.modelgen.moco.knowledge.seen import SeenCall, inputs_of, kept

MAX_TRIALS = 80
# A parameter that takes this number is no integer, though its default may be 0.
FRACTION = prim(0.5)


class Subject:
    """An api and its bench.

    The steps are taken in their order; each may be cut short by the time that it is given.
    """

    def __init__(self, evidence: ApiEvidence, run: Run) -> None:
        self.evidence = evidence
        self.documented: Facts = facts_of(evidence)
        own = self.documented.parameters
        self.parameters = own[1:] if self.documented.kind == "function" else own
        self.seen = seen_calls(evidence.api, evidence.calls)
        self.bench = TrialBench(run)
        self.trial: Trial | None = None
        self.returns = ""
        self.hopeless = False
        self.shapes: Mapping[int, tuple[int, ...]] = {}
        self.learnt: dict[str, dict[str, Any]] = {}  # facts from experiments, by parameter

    def find(self, pool: Mapping[str, Value], over: Over) -> None:
        """Look for a trial that works and gives a tensor, or several; then for the simplest such."""
        with self._until(over):
            for trial in islice(trials(self.documented, self.seen, pool), MAX_TRIALS):
                if spelled_all(trial.arguments, self.evidence.spell) is None:
                    continue
                self.returns = returned(self.bench.tried(trial).value)
                if self.returns:
                    self.trial = trial
                    required = {each.name for each in self.parameters if each.required}
                    self.trial = simplified(self.bench, trial, required)
                    return
            self.hopeless = True

    def bind(self, over: Over) -> None:
        """Learn which ranks it accepts, which numbers have to be the size of an axis, and which may be fractions."""
        if self.trial is None:
            return
        with self._until(over):
            self.shapes = accepted_ranks(self.bench, self.trial)
            axes = bounds_to_axes(self.bench, self.trial, self.parameters, self.shapes)
            self.trial = self.trial._replace(axes=axes)
            self.learnt = {each.name: {"binds": axes.get(each.name)} for each in self.documented.parameters}
            for parameter in self.parameters:
                if parameter.dtype == "int" and self.bench.works(self.trial.having(parameter.name, FRACTION)):
                    self.learnt[parameter.name] |= {"dtype": "float", "structure": ""}

    @contextmanager
    def _until(self, over: Over) -> Iterator[None]:
        self.bench.over = over
        with suppress(Late):
            yield

    def facts(self) -> Facts:
        """Return all known facts of the api."""
        facts = facts_of(self.evidence._replace(refusals=[*self.evidence.refusals, *self.bench.messages]))
        if self.trial is None:
            # The recorded call may be of another build, or need more than tensors. A structure of tensors cannot be
            # tried out here.
            hopeless = self.hopeless and (bool(facts.inputs) or not facts.takes)
            nothing: dict[str, Any] = {"example": {}, "inputs": (), "takes": (), "origin": None}
            return facts.model_copy(update=nothing) if hopeless else facts
        # Without an experiment, the recorded facts stay.
        parameters = tuple(each.model_copy(update=self.learnt.get(each.name)) for each in facts.parameters)
        dtypes = tuple(dict.fromkeys((self.trial.inputs[0].dtype, *facts.dtypes)))
        worked = [SeenCall(each.arguments) for each in self.bench.worked]
        learnt = {
            "relations": kept(facts.relations, worked, facts.parameters),
            "parameters": parameters,
            "returns": self.returns,
            "ranks": tuple(self.shapes) or facts.ranks,
            "dtypes": dtypes,
            "example": spelled_all(self.trial.arguments, self.evidence.spell) or {},
            "inputs": tuple(each.shape for each in self.trial.inputs),
            "takes": inputs_of(self.trial.inputs),
            "origin": Origin(source="probe"),
        }
        return facts.model_copy(update=learnt)


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
