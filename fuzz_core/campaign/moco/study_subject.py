"""Experiments on one api: the facts that evidence gives, and the facts that each step adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from fuzz_core.campaign.moco.study_probes import accepted_ranks, bounds_to_axes, returned, simplified
from fuzz_core.campaign.moco.study_trials import Late, Over, Run, Trial, TrialBench, trials
from fuzz_core.ir.values import Value, prim
from fuzz_core.modelgen.moco.facts import Facts, Origin, Parameter
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
        self.seen = seen_calls(evidence.api, evidence.calls)
        self.bench = TrialBench(run)
        self.trial: Trial | None = None
        self.returns = ""
        self.hopeless = False
        self.shapes: Mapping[int, tuple[int, ...]] = {}
        self.bound = False
        self.fractions: set[str] = set()

    def find(self, pool: Mapping[str, Value], over: Over) -> None:
        """Look for a trial that works and gives a tensor, or several; then for the simplest such."""
        with self._until(over):
            for trial in islice(trials(self.documented, self.seen, pool), MAX_TRIALS):
                if spelled_all(trial.arguments, self.evidence.spell) is None:
                    continue
                self.returns = returned(self.bench.tried(trial).value)
                if self.returns:
                    self.trial = trial
                    required = {each.name for each in self._parameters() if each.required}
                    self.trial = simplified(self.bench, trial, required)
                    return
            self.hopeless = True

    def bind(self, over: Over) -> None:
        """Learn which ranks it accepts, which numbers have to be the size of an axis, and which may be fractions."""
        if self.trial is None:
            return
        with self._until(over):
            self.shapes = accepted_ranks(self.bench, self.trial)
            found = bounds_to_axes(self.bench, self.trial, self._parameters(), self.shapes)
            self.trial = self.trial._replace(axes={each.parameter: each.axis for each in found})
            self.bound = True
            for parameter in self._parameters():
                if parameter.dtype == "int" and self.bench.works(self.trial.having(parameter.name, FRACTION)):
                    self.fractions.add(parameter.name)

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
        parameters = tuple(each.model_copy(update=self._learnt_of(each)) for each in facts.parameters)
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

    def _learnt_of(self, parameter: Parameter) -> dict[str, Any]:
        """Return a parameter with the facts of experiments; without an experiment, the recorded facts stay."""
        found: dict[str, Any] = {}
        if self.trial is not None and self.bound:
            found["binds"] = self.trial.axes.get(parameter.name)
        if parameter.name in self.fractions:
            found |= {"dtype": "float", "structure": ""}
        return found

    def _parameters(self) -> Sequence[Parameter]:
        own = self.documented.parameters
        return own[1:] if self.documented.kind == "function" else own
