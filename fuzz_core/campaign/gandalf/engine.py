"""The fuzz of whole models by several libraries at once (Gandalf 2023, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from fuzz_core.campaign.gandalf.culprits import culprit
from fuzz_core.campaign.gandalf.findings import Found, crashed, died, disagreed, first_failing, violated
from fuzz_core.campaign.gandalf.lacking import Takings, absent
from fuzz_core.campaign.gandalf.learnt import keep, recall
from fuzz_core.campaign.gandalf.looking import Runs, precisions, ran, suspicious
from fuzz_core.campaign.gandalf.ordering import order_of
from fuzz_core.campaign.gandalf.relating import PRECISIONS, miscompiled, mixed, violations
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.campaign.gandalf.training import deadly, mistrained, trained
from fuzz_core.campaign.keeping import Keeping
from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.execution.scratch import scratch, sweep
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.diversity import diversity, operators_of
from fuzz_core.modelgen.gandalf.generation import Grammar, Options, generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph, canonical
from fuzz_core.modelgen.gandalf.guidance import Noting
from fuzz_core.modelgen.gandalf.guides import GUIDANCE
from fuzz_core.modelgen.gandalf.order import Order
from fuzz_core.modelgen.gandalf.table import Domain, Library, Operator

# Of so many effective inputs the mean edit distance is told: the pairs grow with the square.
COMPARED = 300
# The data are all alike here, and with them the means that equation 3 weighs crashes by.
WORTH = {"wrong-result": 1.0, "crash": 1.0, "internal-error": 1.0, "nonfinite": 1.0, "apart": 0.1}
# How often a graph that agrees is trained as well, and compiled, which takes as long as all else together.
TRAINED, COMPILED = 0.5, 0.125
# What a graph is worth that has been there already (trick 2).
TRAP = -1.0


@dataclass
class GandalfOptions:
    """seconds or graphs bound the run. seed: of the stream of graphs. domains: in turn. growth: how graphs are made.

    models: directories of programs that tell of the order of operators, besides those that are shipped. guidance: who
    chooses operators, a name of `guides.GUIDANCE`. worth: equation 3's beta, gamma and delta, by kind
    of finding; `apart` is that of graphs whose results are apart by no operator's doing.
    """

    seconds: float | None = 60.0
    graphs: int | None = None
    seed: int = 0
    domains: Sequence[Domain] = ("cv", "nlp", "asr")
    growth: Options = Options()  # noqa: RUF009 - immutable
    models: Sequence[Path] = ()
    guidance: str = "random"
    worth: Mapping[str, float] = field(default_factory=lambda: dict(WORTH))

    def as_json(self) -> dict[str, Any]:
        """What the runs' records keep of them."""
        plain = {"domains": list(self.domains), "growth": self.growth._asdict(), "models": list(map(str, self.models))}
        return {"engine": "gandalf", **vars(self), **plain}


@dataclass
class GandalfReport:
    """Figures of one run. graphs: executed, by domain. effective: those that triggered a finding (section 5.4), by
    domain. repeated: generated anew and left out. refused: by library and operator, what it did not take. relations:
    how often each was asked, training and other ways among them. skipped: how often a library has no such way.
    absent: how many operators each build does not have. rounded: graphs that were apart by no operator's doing.
    """

    graphs: Counter[str] = field(default_factory=Counter)
    effective: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    operators: set[str] = field(default_factory=set)
    takings: Takings = field(default_factory=Takings)
    absent: Counter[str] = field(default_factory=Counter)
    models: list[tuple[str, ...]] = field(default_factory=list)
    repeated: int = 0
    rounded: int = 0
    findings: int = 0
    kept: int = 0
    seconds: float = 0.0

    @property
    def told(self) -> str:
        """All of it in a line."""
        rate = self.graphs.total() / self.seconds if self.seconds else 0.0
        made = f"{self.graphs.total():,} graphs of {len(self.operators)} operators"
        found = f"{self.effective.total():,} effective, mean edit distance {diversity(self.models):.2f}"
        return f"{made} in {self.seconds:.0f} s ({rate:.1f} per second), {found}"

    def summary(self) -> dict[str, Any]:
        """What the runs' records keep of it."""
        plain = {name: dict(each) if isinstance(each, Counter) else each for name, each in vars(self).items()}
        return {
            **plain,
            "tests": self.graphs.total(),
            "operators": sorted(self.operators),
            "takings": sorted(self.takings.lacking),
            "models": diversity(self.models),
        }


def fuzz_graphs(
    sessions: Mapping[Library, Session], table: Mapping[str, Operator], options: GandalfOptions
) -> GandalfReport:
    """Generates graphs and compares what the libraries make of them; findings are pending in the store, by target.

    Raises UserError for fewer than two libraries, and domains without operators that all of them have.
    """
    if len(sessions) < 2:
        raise UserError("one library alone has nothing to be compared with", "name two or three with --libraries")
    order = order_of(table, sessions, options.models)
    session, report = next(iter(sessions.values())), GandalfReport()
    began = session.clock()
    runs = {
        library: each.store.start_run(each.target.key, options.seed, options.as_json())
        for library, each in sessions.items()
    }
    keeping = {library: Keeping(each.store, each.target.key, runs[library]) for library, each in sessions.items()}
    session.watch.phase("comparing graphs", options.seconds or options.graphs or 0)
    with sides_of(sessions, table, options.seed) as sides:
        left_out = _left_out(sides, report)
        grammars = _grammars(table, left_out, sessions, options, order)
        guidance = GUIDANCE[options.guidance](Rng(derive(options.seed, "guidance")), _names(grammars.values()))
        recall(session, options.guidance, guidance)
        guide = Noting(guidance)
        for domain, graph in _graphs(grammars, options, report, guide):
            report.seconds = session.clock() - began
            _show(session, report, options)
            if session.stopped() or _enough(report, options):
                break
            rounded = report.rounded
            every = judged(sides, graph, domain, report)
            for library, found in every:
                report.findings += 1
                report.kept += keeping[library].keep(*found).added
            kinds = [found.verdict.kind for _, found in every] + ["apart"] * (report.rounded - rounded)
            guide.told(max((options.worth.get(kind, 0.0) for kind in kinds), default=0.0))
            if not report.takings.lacking <= left_out:
                left_out |= report.takings.lacking
                grammars |= _grammars(table, left_out, sessions, options, order)
        keep(session, options.guidance, guidance)
    report.seconds = session.clock() - began
    for library, each in sessions.items():
        each.store.finish_run(runs[library], "interrupted" if session.stopped() else "done", report.summary())
    return report


def judged(sides: Sides, graph: Graph, domain: str, report: GandalfReport) -> list[tuple[Library, Found]]:
    """Executes a graph everywhere; what is wrong with it in which library."""
    report.graphs[domain] += 1
    report.operators.update(node.operator for node in graph.nodes)
    found = _found(sides, graph, report)
    if found:
        report.effective[domain] += 1
        report.kinds.update(each.verdict.kind for _, each in found)
        report.models += [operators_of(graph)] if len(report.models) < COMPARED else []
    return found


def _found(sides: Sides, graph: Graph, report: GandalfReport) -> list[tuple[Library, Found]]:
    came = ran(sides, graph)
    if isinstance(came, Runs):
        report.takings.note(graph, set(sides.sides), {})
        return _compared(sides, graph, came, report)
    places = {library: first_failing(sides, graph, library) for library in came}
    # Those that did not fail may have been asked in one precision alone.
    report.takings.note(graph, set(places), places)
    if found := list(crashed(sides, graph, came, places, report.refused)):
        return found
    # What a library did wrong before may be what it does not take here.
    begun = graph.model_copy(update={"nodes": graph.nodes[: min(places.values())]})
    came = ran(sides, begun) if begun.nodes else {}
    return _compared(sides, begun, came, report) if isinstance(came, Runs) else []


def _compared(sides: Sides, graph: Graph, runs: Runs, report: GandalfReport) -> list[tuple[Library, Found]]:
    if suspicious(runs, precisions(sides, graph)):
        guilty = culprit(sides, graph, runs)
        report.rounded += guilty is None
        return [] if guilty is None else [disagreed(sides, graph, guilty)]
    rng = Rng(derive("relations", operators_of(graph), graph.model_dump_json()))
    every = [*violations(sides, graph, runs, rng, report.relations, report.refused)]
    every += mixed(sides, graph, runs, rng, report.relations)
    if rng.chance(COMPILED):
        every += miscompiled(sides, graph, runs, rng.choice(PRECISIONS), report.relations, report.skipped)
    found = [violated(sides, graph, each) for each in every]
    return [*found, *_trained(sides, graph, runs, report)] if rng.chance(TRAINED) else found


def _trained(sides: Sides, graph: Graph, runs: Runs, report: GandalfReport) -> list[tuple[Library, Found]]:
    came = trained(sides, graph)
    if not isinstance(came, Runs):
        return [died(sides, graph, each) for each in deadly(sides, graph, runs, came, report.skipped)]
    report.relations.update(["training"])
    guilty = mistrained(sides, graph, runs, came)
    return [] if guilty is None else [disagreed(sides, graph, guilty)]


def _left_out(sides: Sides, report: GandalfReport) -> set[str]:
    """What these builds do not have; the report counts it, by library."""
    missing = absent(sides)
    report.absent.update({library: len(each) for library, each in missing.items() if each})
    return set[str]().union(*missing.values())


def _grammars(
    table: Mapping[str, Operator],
    left_out: Set[str],
    sessions: Mapping[Library, Session],
    options: GandalfOptions,
    order: Order,
) -> dict[Domain, Grammar]:
    known = {name: each for name, each in table.items() if name not in left_out}
    found = {domain: grammar(known, tuple(sessions), domain, order) for domain in options.domains}
    for domain, each in found.items():
        if not (each.starts and each.inner and each.ends):
            problem = f"no operators for {domain} that {', '.join(sessions)} all have"
            raise UserError(problem, "name fewer libraries, or other domains")
    return found


def _names(grammars: Iterable[Grammar]) -> list[str]:
    return sorted(set[str]().union(*(each.names for each in grammars)))


def _graphs(
    grammars: Mapping[Domain, Grammar], options: GandalfOptions, report: GandalfReport, guide: Noting
) -> Iterator[tuple[Domain, Graph]]:
    """A stream of graphs, the domains in turn; none twice."""
    seen: set[int] = set()
    for number in count():
        domain = options.domains[number % len(options.domains)]
        graph = generate(grammars[domain], derive(options.seed, domain, number), guide, options.growth)
        identity = derive(canonical(graph).model_dump_json())
        if identity in seen:
            report.repeated += 1
            guide.told(TRAP)
            continue
        seen.add(identity)
        yield domain, graph


@contextmanager
def sides_of(sessions: Mapping[Library, Session], table: Mapping[str, Operator], seed: int) -> Iterator[Sides]:
    """Processes of all libraries, for as long as the context lasts."""
    sweep()
    with scratch() as folder:
        plans = {library: folder / f"{library}.jsonl" for library in sessions}
        for library, each in sessions.items():
            make_plan(each, plans[library], (), seed=seed, mutating=False)
        with Sides(sessions, table, plans) as sides:
            yield sides


def _enough(report: GandalfReport, options: GandalfOptions) -> bool:
    if options.graphs is not None:
        return report.graphs.total() >= options.graphs
    return options.seconds is not None and report.seconds >= options.seconds


def _show(session: Session, report: GandalfReport, options: GandalfOptions) -> None:
    graphs = report.graphs.total()
    session.watch.advance(
        report.seconds if options.graphs is None else graphs,
        graphs=graphs,
        rate=f"{graphs / report.seconds if report.seconds else 0:.1f}/s",
        effective=report.effective.total(),
        findings=report.kept,
    )
