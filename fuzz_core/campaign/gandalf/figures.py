"""The options and the figures of one comparison of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz_core.campaign.gandalf.findings import Symptom
from fuzz_core.campaign.gandalf.lacking import Takings
from fuzz_core.modelgen.gandalf.diversity import diversity
from fuzz_core.modelgen.gandalf.generation import Options
from fuzz_core.modelgen.gandalf.table import Domain, Library

# Of so many effective inputs the mean edit distance is told: the pairs grow with the square.
COMPARED = 300
# So many known faults are named, and other apis.
SHOWN = 20
# What a graph is worth that is apart by no operator's doing, as a share of an inconsistency.
APART = 0.1


@dataclass
class GandalfOptions:
    """seconds or graphs bound the run. seed: of the stream of graphs. domains: in turn. growth: how graphs are made.

    models: directories of programs that tell of the order of operators, besides those that are shipped. guidance: who
    chooses operators, a name of `guides.GUIDANCE`. beta, gamma, delta: what an inconsistency, a crash and a result that
    is not finite are worth to it (equation 3; the data are all alike here, and with them the means that it weighs by).
    kept_guidance, rewarded_selections, between_libraries, added_operators, further_checks: see
    `campaign.papers.GandalfSettings`.
    """

    seconds: float | None = 60.0
    graphs: int | None = None
    seed: int = 0
    domains: Sequence[Domain] = ("cv", "nlp", "asr")
    growth: Options = Options()  # noqa: RUF009 - immutable
    models: Sequence[Path] = ()
    guidance: str = "random"
    kept_guidance: bool = True
    rewarded_selections: bool = False
    between_libraries: bool = False
    added_operators: bool = True
    further_checks: bool = True
    beta: float = 1.0
    gamma: float = 1.0
    delta: float = 1.0

    def worth(self, symptom: Symptom) -> float:
        """What a finding of this symptom is worth to guidance."""
        return {"inconsistency": self.beta, "crash": self.gamma, "nan or inf": self.delta}[symptom]

    def as_json(self) -> dict[str, Any]:
        """What the runs' records keep of them."""
        plain = {"domains": list(self.domains), "growth": self.growth._asdict(), "models": list(map(str, self.models))}
        return {"engine": "gandalf", **vars(self), **plain}


@dataclass
class GandalfReport:
    """Figures of one run.

    graphs: executed, by domain. effective: those that triggered a finding (section 5.4), by domain. symptoms: of
    findings, by domain and symptom (table 5). models: effective ones, with their domains. repeated: generated anew and
    left out. trapped: executed although a graph of the same operators, in the same order of computation, had been
    there. refused: by library and operator, what it did not take. relations: how often each was asked, training and
    other ways among them. hits: how often each did not hold. known, new: findings by library and api, of faults that
    the table knows and asks each build again for, and all others. skipped: how often a library has no such way.
    absent: how many operators each build does not have. rounded: graphs that were apart by no operator's doing.
    signatures: the different ones of findings, by library. worth: of a graph's nodes by equation 3, where asked for.
    """

    graphs: Counter[str] = field(default_factory=Counter)
    effective: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    symptoms: Counter[tuple[str, str]] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    operators: set[str] = field(default_factory=set)
    signatures: set[tuple[Library, str]] = field(default_factory=set)
    takings: Takings = field(default_factory=Takings)
    worth: list[float] = field(default_factory=list)
    absent: dict[str, int] = field(default_factory=dict)
    models: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    repeated: int = 0
    trapped: int = 0
    rounded: int = 0
    findings: int = 0
    kept: int = 0
    seconds: float = 0.0

    @property
    def tests(self) -> int:
        """Executed graphs."""
        return self.graphs.total()

    @property
    def told(self) -> str:
        """All of it in a line."""
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
        """The mean edit distance of effective models, of one domain where it is named (table 7)."""
        return diversity([operators for of, operators in self.models if domain in ("", of)])

    def summary(self) -> dict[str, Any]:
        """What the runs' records keep of it."""
        plain = {name: dict(each) if isinstance(each, Counter) else each for name, each in vars(self).items()}
        return {
            **{name: each for name, each in plain.items() if name != "worth"},
            "tests": self.tests,
            "operators": sorted(self.operators),
            "apis": len(self.operators),
            "signatures": len(self.signatures),
            "takings": sorted(self.takings.left_out),
            "symptoms": {" ".join(each): count for each, count in sorted(self.symptoms.items())},
            "models": {domain: self.diversity(domain) for domain in ("", *sorted(self.graphs))},
        }

    def add(self, other: GandalfReport) -> None:
        """Counts what another one counted; of models, those that are compared with each other."""
        for name, each in vars(other).items():
            if name == "worth":
                continue
            mine = getattr(self, name)
            if isinstance(each, Counter | set):
                mine.update(each)
            elif isinstance(each, dict):
                mine |= each
            elif isinstance(each, Takings):
                mine.add(each)
            elif isinstance(each, list):
                mine += each[: COMPARED - len(mine)]
            else:
                setattr(self, name, mine + each)
