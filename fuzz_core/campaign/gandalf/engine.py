"""The fuzz of whole models by several libraries at once (Gandalf 2023, section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from fuzz_core.campaign.gandalf.experience import GUIDANCE, Experience, keep, recall
from fuzz_core.campaign.gandalf.figures import APART, GandalfOptions, GandalfReport
from fuzz_core.campaign.gandalf.judge import DrawnGraph, GraphWorkshop, JudgedGraph, of_choices
from fuzz_core.campaign.gandalf.schedule import Schedule
from fuzz_core.campaign.gandalf.sides import Sides, absent, sides_of
from fuzz_core.campaign.listener import FindingRecorder
from fuzz_core.campaign.session import Run, Session
from fuzz_core.collect.files import provenance
from fuzz_core.collect.programs import programs_in
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.generation import Grammar, generate, grammar
from fuzz_core.modelgen.gandalf.graph import canonical, structure
from fuzz_core.modelgen.gandalf.guidance import Guidance, Noting
from fuzz_core.modelgen.gandalf.order import Order, mined, pairs_of, recorded, reviewed
from fuzz_core.modelgen.gandalf.table import Domain, Library, Operator

# The worth of a graph that has no new structure and no new finding (trick 2).
TRAP = -1.0


def fuzz_graphs(
    sessions: Mapping[Library, Session],
    table: Mapping[str, Operator],
    options: GandalfOptions,
    experience: Experience | None = None,
) -> GandalfReport:
    """Generate graphs and compare what the libraries make of them; findings are pending in the store, by target.

    Args:
        experience: experience of earlier rounds of the session, which this round adds to; None: the round begins anew.

    Raises:
        UserError: there are fewer than two libraries, or a domain has no operator that all of them have.
    """
    if len(sessions) < 2:
        problem = f"{', '.join(sessions)} alone cannot be compared: models need two libraries or more"
        raise UserError(problem, "name two or three libraries with --libraries")
    experience = experience or Experience()
    order = order_of(table, sessions, options.models)
    session, report = next(iter(sessions.values())), GandalfReport()
    began = session.clock()
    runs = {library: Run(each, options.seed, options.as_json()) for library, each in sessions.items()}
    keeping = {
        library: FindingRecorder(each.store, each.target.key, runs[library].number)
        for library, each in sessions.items()
    }
    session.watch.phase("comparing graphs", options.seconds or options.graphs or 0)
    with ExitStack() as stack:
        every = [stack.enter_context(sides_of(sessions, table, options.seed)) for _ in range(session.workers)]
        workshop = GraphWorkshop(every, session.stopped)
        stack.callback(workshop.close)
        left_out = _left_out(every[0], report)
        grammars = _grammars(table, left_out, sessions, options, order)
        guidance = experience.guidance
        if guidance is None:
            names = sorted(set[str]().union(*(each.operators for each in grammars.values())))
            guidance = GUIDANCE[options.guidance](Rng(derive(options.seed, "guidance")), names)
            if options.kept_guidance:
                recall(session, options.guidance, guidance)
            experience.guidance = guidance

        def over() -> bool:
            report.seconds = session.clock() - began
            for run in runs.values():
                run.tell(report)
            _show(session, report, options)
            return session.stopped() or (options.seconds is not None and report.seconds >= options.seconds)

        schedule = Schedule(table, sessions, Rng(derive(options.seed, "relations")), options.added_operators)
        graphs = _graphs(grammars, options, report, Noting(guidance), experience, schedule)
        for judged in workshop(graphs, options.graphs, over):
            report.add(judged.report)
            _kept(judged, keeping, report)
            known = report.signatures <= experience.signatures
            experience.signatures |= report.signatures
            _teach(guidance, judged, options, known)
            if not report.operator_outcomes.left_out <= left_out:
                left_out |= report.operator_outcomes.left_out
                grammars |= _grammars(table, left_out, sessions, options, order)
        if options.kept_guidance:
            keep(session, options.guidance, guidance)
    report.seconds = session.clock() - began
    for run in runs.values():
        run.end(report)
    return report


def _kept(judged: JudgedGraph, keeping: Mapping[Library, FindingRecorder], report: GandalfReport) -> None:
    """Put findings on record."""
    kept = [(library, keeping[library].keep(*found[:4])) for library, found in judged.found]
    report.findings += len(kept)
    report.kept += sum(each.added for _, each in kept)
    report.signatures.update((library, each.signature) for library, each in kept)


def _worth(judged: JudgedGraph, options: GandalfOptions) -> float:
    worth = [options.worth(found.symptom) for _, found in judged.found if found.place < judged.drawn.own]
    return max([*worth, *[APART * options.beta] * judged.report.rounded], default=0.0)


def _teach(guidance: Guidance, judged: JudgedGraph, options: GandalfOptions, known: bool) -> None:
    """Reward the guidance for a graph.

    Args:
        known: whether the graph has found no new fault.
    """
    drawn = judged.drawn
    if drawn.trap and known:
        guidance.learn_reward(drawn.chosen, TRAP)
    elif options.rewarded_selections:
        guidance.learn_rewards(drawn.chosen, of_choices(drawn.chosen, drawn.graph.operators, judged.report.worth))
    else:
        guidance.learn_reward(drawn.chosen, _worth(judged, options) * (guidance.again if known else 1.0))


def _left_out(sides: Sides, report: GandalfReport) -> set[str]:
    """Return the operators that these builds do not have; the report counts them by library."""
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
            problem = f"the domain {domain} has no operators that all of {', '.join(sessions)} have"
            raise UserError(problem, "name fewer libraries with --libraries")
    return found


def _graphs(
    grammars: Mapping[Domain, Grammar],
    options: GandalfOptions,
    report: GandalfReport,
    guide: Noting,
    experience: Experience,
    schedule: Schedule,
) -> Iterator[DrawnGraph]:
    """Yield a stream of graphs, the domains in turn, none twice.

    A graph is a trap if its structure is not new.
    """
    for number in count():
        domain = options.domains[number % len(options.domains)]
        graph = generate(grammars[domain], derive(options.seed, domain, number), guide, options.growth)
        chosen = guide.taken()
        identity = derive(canonical(graph).model_dump_json())
        if identity in experience.graphs:
            report.repeated += 1
            guide.guidance.learn_reward(chosen, TRAP)
            continue
        experience.graphs.add(identity)
        trap = (alike := structure(graph)) in experience.structures
        experience.structures.add(alike)
        report.trapped += trap
        whole = schedule.extended(graph, grammars[domain], derive(options.seed, domain, number, "beside"))
        asks = schedule.asks(whole)._replace(
            between=options.between_libraries,
            further=options.further_checks,
            rewarded=options if options.rewarded_selections else None,
        )
        yield DrawnGraph(domain, whole, chosen, asks, trap, len(graph.nodes))


def _show(session: Session, report: GandalfReport, options: GandalfOptions) -> None:
    graphs = report.tests
    session.watch.advance(
        report.seconds if options.graphs is None else graphs,
        graphs=graphs,
        rate=f"{graphs / report.seconds if report.seconds else 0:.1f}/s",
        effective=report.effective.total(),
        findings=report.kept,
    )


def order_of(table: Mapping[str, Operator], libraries: Iterable[Library], models: Sequence[Path] = ()) -> Order:
    """Return the order that programs of these libraries show, with the reviewed one.

    Args:
        models: directories of the user's programs; files that cannot be read are left out.

    Raises:
        UserError: a directory of models does not exist.
    """
    unread: list[tuple[str, str]] = []
    programs = [(root, each) for root in models for each in programs_in(root, unread)]
    own = [(provenance(root, each.relative), pairs_of(each.code)) for root, each in programs]
    return Order(mined((*recorded(libraries), *own), table), reviewed())
