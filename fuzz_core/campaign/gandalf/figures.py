"""The options and the figures of one comparison of models, with the diversity of models (definition 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from fuzz_core.campaign.gandalf.finding import Symptom
from fuzz_core.modelgen.gandalf.generation import GraphOptions
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.table import Domain, Library

# The mean edit distance is computed of so many effective inputs: the number of pairs grows with the square.
COMPARED = 300
# So many known faults are named, and other apis.
SHOWN = 20
# The worth of a graph whose results differ although no single operator is wrong, as a share of an inconsistency.
APART = 0.1
# As often a library may refuse an operator that it has never taken.
PATIENCE = 2
# An operator that a library takes is left out after so many failures, if they are so large a share of its executions.
# More failures would show no new bug, and each death costs a process that has imported the library.
ENOUGH, SHARE = 8, 0.1


@dataclass
class GandalfOptions:
    """Options of a comparison of libraries."""

    seconds: float | None = 60.0  # seconds of the run; None: no limit
    graphs: int | None = None  # number of graphs of the run; None: no limit
    seed: int = 0  # seed of the stream of graphs
    domains: Sequence[Domain] = ("cv", "nlp", "asr")  # domains of models, in turn
    # How graphs are made.
    growth: GraphOptions = GraphOptions()  # noqa: RUF009 - immutable
    # Directories of programs that show the order of operators, besides those that are shipped.
    models: Sequence[Path] = ()
    guidance: str = "random"  # chooses operators: a name of `experience.GUIDANCE`
    kept_guidance: bool = True  # this option and the next four: see `campaign.papers.GandalfSettings`
    rewarded_selections: bool = False
    between_libraries: bool = False
    added_operators: bool = True
    further_checks: bool = True
    # Worth to guidance of an inconsistency (equation 3). All data have the same distribution, so that the means by
    # which the paper weighs are equal.
    beta: float = 1.0
    gamma: float = 1.0  # worth of a crash
    delta: float = 1.0  # worth of a result that is not finite

    def worth(self, symptom: Symptom) -> float:
        """Return the worth to guidance of a finding with this symptom."""
        return {"inconsistency": self.beta, "crash": self.gamma, "nan or inf": self.delta}[symptom]

    def as_json(self) -> dict[str, Any]:
        """Return the options for the runs' records."""
        plain = {"domains": list(self.domains), "growth": self.growth._asdict(), "models": list(map(str, self.models))}
        return {"engine": "gandalf", **vars(self), **plain}


@dataclass
class OperatorOutcomes:
    """How often libraries have taken operators so far, refused them, or failed with them: by library and operator."""

    taken: Counter[tuple[Library, str]] = field(default_factory=Counter)
    refused: Counter[tuple[Library, str]] = field(default_factory=Counter)
    failed: Counter[tuple[Library, str]] = field(default_factory=Counter)

    def note(
        self, graph: Graph, libraries: Set[Library], failing: Mapping[Library, int], crashed: bool = False
    ) -> None:
        """Count the operators that libraries took in a graph, and those that they refused or failed with.

        Args:
            failing: the nodes with which some of the libraries failed.
            crashed: whether any of them failed by more than a refusal.
        """
        for library in libraries:
            most = failing.get(library, len(graph.nodes))
            self.taken.update((library, operator) for operator in graph.operators[:most])
        counted = self.failed if crashed else self.refused
        counted.update((library, graph.operators[place]) for library, place in failing.items())

    def add(self, other: OperatorOutcomes) -> None:
        """Count what another one counted."""
        self.taken += other.taken
        self.refused += other.refused
        self.failed += other.failed

    @property
    def left_out(self) -> set[str]:
        """The operators that some library never takes, or fails with so often that more tries would show no new bug."""
        return {operator for _, operator in filter(self._is_hopeless, self.refused + self.failed)}

    def _is_hopeless(self, each: tuple[Library, str]) -> bool:
        bad, good = self.refused[each] + self.failed[each], self.taken[each]
        return (self.refused[each] >= PATIENCE and not good) or (bad >= ENOUGH and bad >= SHARE * (bad + good))


@dataclass
class GandalfReport:
    """Figures of one run."""

    graphs: Counter[str] = field(default_factory=Counter)  # executed graphs, by domain
    effective: Counter[str] = field(default_factory=Counter)  # graphs that triggered a finding (section 5.4), by domain
    refused: Counter[str] = field(default_factory=Counter)  # refusals by library and operator
    symptoms: Counter[tuple[str, str]] = field(default_factory=Counter)  # findings by domain and symptom (table 5)
    # How often each relation was asked, training and other probes included.
    relations: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)  # how often each relation did not hold
    # Findings by library and api, of faults that the table knows and asks each build again for.
    known: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)  # all other findings, by library and api
    skipped: Counter[str] = field(default_factory=Counter)  # how often a library lacks a way to execute
    operators: set[str] = field(default_factory=set)
    signatures: set[tuple[Library, str]] = field(default_factory=set)  # different signatures of findings, by library
    operator_outcomes: OperatorOutcomes = field(default_factory=OperatorOutcomes)
    worth: list[float] = field(default_factory=list)  # rewards of a graph's nodes by equation 3, if they are asked for
    absent: dict[str, int] = field(default_factory=dict)  # how many operators each build does not have
    models: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # effective graphs, with their domains
    repeated: int = 0  # graphs that were generated again and left out
    trapped: int = 0  # executed graphs whose operators, in the same order of computation, were there before
    rounded: int = 0  # graphs whose results differ although no single operator is wrong
    findings: int = 0
    kept: int = 0
    seconds: float = 0.0

    @property
    def tests(self) -> int:
        """Executed graphs."""
        return self.graphs.total()

    @property
    def headline(self) -> str:
        """A summary in one line."""
        rate = self.tests / self.seconds if self.seconds else 0.0
        made = f"{self.tests:,} graphs of {len(self.operators)} operators"
        found = f"{self.effective.total():,} effective, mean edit distance {self.diversity():.2f}"
        return f"{made} in {self.seconds:.0f} s ({rate:.1f} per second), {found}"

    @property
    def lines(self) -> list[str]:
        """Graphs by domain, asks and hits by relation, and findings, known faults apart, each in a short line."""
        domains = ", ".join(f"{domain} {times}" for domain, times in sorted(self.graphs.items()))
        asked = sorted(self.relations.items(), key=lambda each: (len(each[0]), each[0]))
        said = {name: f"{name.removeprefix('relation ')}: {times} ({self.hits[name]})" for name, times in asked}
        relations = ", ".join(each for name, each in said.items() if name.startswith("relation "))
        others = ", ".join(each for name, each in said.items() if not name.startswith("relation "))
        return [
            f"graphs: {self.tests:,} ({domains or 'none'}), of {len(self.operators)} operators",
            f"relations of table 4, how often each was asked (and did not hold): {relations or 'none'}",
            f"other checks, the same: {others or 'none'}",
            f"findings of {len(self.known)} known faults, for which each build is asked again, "
            f"and of {len(self.new)} other apis",
            *(f"known fault: {name} ({times})" for name, times in self.known.most_common(SHOWN)),
            *(f"not known: {name} ({times})" for name, times in self.new.most_common(SHOWN)),
        ]

    def diversity(self, domain: str = "") -> float:
        """Return the mean edit distance of effective models, of one domain if it is named (table 7)."""
        return diversity([operators for of, operators in self.models if domain in ("", of)])

    def summary(self) -> dict[str, Any]:
        """Return the figures for the runs' records."""
        plain = {name: dict(each) if isinstance(each, Counter) else each for name, each in vars(self).items()}
        return {
            **{name: each for name, each in plain.items() if name != "worth"},
            "tests": self.tests,
            "operators": sorted(self.operators),
            "apis": len(self.operators),
            "signatures": len(self.signatures),
            "operator_outcomes": sorted(self.operator_outcomes.left_out),
            "symptoms": {" ".join(each): count for each, count in sorted(self.symptoms.items())},
            "models": {domain: self.diversity(domain) for domain in ("", *sorted(self.graphs))},
        }

    def add(self, other: GandalfReport) -> None:
        """Count what another one counted; of models, those that are compared with each other."""
        for name, each in vars(other).items():
            if name == "worth":
                continue
            mine = getattr(self, name)
            if isinstance(each, Counter | set):
                mine.update(each)
            elif isinstance(each, dict):
                mine |= each
            elif isinstance(each, OperatorOutcomes):
                mine.add(each)
            elif isinstance(each, list):
                mine += each[: COMPARED - len(mine)]
            else:
                setattr(self, name, mine + each)


def diversity(models: Sequence[Sequence[str]]) -> float:
    """Return the mean edit distance between any two models (equations 1 and 2); 0 if there are fewer than two."""
    distances = [Levenshtein.distance(one, other) for one, other in combinations(models, 2)]
    return sum(distances) / len(distances) if distances else 0.0
