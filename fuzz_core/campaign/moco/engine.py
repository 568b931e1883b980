"""The fuzz of model programs: derivation trees of all seeds, grown in turn until the time-box ends."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz_core.campaign.examination import WAIT_SECONDS, ExaminationQueue
from fuzz_core.campaign.fuzz import LEAST_SHARE
from fuzz_core.campaign.listener import FindingRecorder
from fuzz_core.campaign.moco.plot import (
    MocoOptions,
    Plot,
    RefusedProgram,
    SeedProgram,
    TreeTurn,
    aliases_of,
    recorded,
    seeds,
)
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.campaign.plans import NO_SPACE, make_plan
from fuzz_core.campaign.session import Run, Session
from fuzz_core.execution.scratch import scratch, sweep
from fuzz_core.ir.errors import Interrupted, UserError
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.nodes import SKIPPED
from fuzz_core.modelgen.moco.program import Program

_REMEDY = "add --models DIR with programs of your own"
# Most of a time-box that one tree may have before others have begun.
LONGEST_SHARE = 0.25


@dataclass
class MocoReport:
    """Figures of one run."""

    run: int = 0
    grown: set[int] = field(default_factory=set)  # numbers of trees that have got nodes
    programs: int = 0  # number of executed programs
    extremes: int = 0  # number of executed extreme values, which are in no tree
    # Programs that could not be taken apart or do not run, with the reason.
    refused: dict[str, str] = field(default_factory=dict)
    nodes: Counter[str] = field(default_factory=Counter)  # number of nodes by state
    operators: Counter[str] = field(default_factory=Counter)
    apis: set[str] = field(default_factory=set)  # apis of the programs that ran
    seconds: float = 0.0
    findings: int = 0
    kept: int = 0
    finished: int = 0

    @property
    def trees(self) -> int:
        """How many trees have got nodes."""
        return len(self.grown)

    @property
    def executed_nodes(self) -> int:
        """How many nodes were executed, alone or in a program."""
        return self.nodes.total() - self.nodes[SKIPPED]

    @property
    def tests(self) -> int:
        """How many nodes and extreme values were executed."""
        return self.executed_nodes + self.extremes

    @property
    def headline(self) -> str:
        """A summary in one line."""
        states = ", ".join(f"{count} {state}" for state, count in sorted(self.nodes.items())) or "none"
        rate = 60 * self.programs / self.seconds if self.seconds else 0.0
        grown = f"{self.programs:,} programs of {self.trees} trees with {len(self.apis)} apis in {self.seconds:.0f} s"
        nodes = f"{self.executed_nodes:,} nodes: {states}"
        return f"{grown} ({rate:,.0f} per minute); {nodes}; {self.extremes:,} extreme values"

    def add(self, later: MocoReport) -> None:
        """Count a later run that went on with the same trees."""
        self.run = later.run
        self.grown |= later.grown
        self.programs += later.programs
        self.extremes += later.extremes
        self.refused |= later.refused
        self.nodes += later.nodes
        self.operators += later.operators
        self.apis |= later.apis
        self.seconds += later.seconds
        self.findings += later.findings
        self.kept += later.kept
        self.finished += later.finished

    def summary(self) -> dict[str, Any]:
        """Return the figures for the run's record."""
        counts = {"nodes": dict(self.nodes), "operators": dict(self.operators), "apis": sorted(self.apis)}
        return {**vars(self), **counts, "grown": sorted(self.grown), "trees": self.trees, "tests": self.tests}


def fuzz_models(
    session: Session,
    programs: Sequence[SeedProgram],
    knowledge: Knowledge,
    options: MocoOptions,
    queue: ExaminationQueue | None = None,
) -> MocoReport:
    """Grow the trees of these programs; findings are pending in the store.

    A tree on record of the same program and options is continued. A full-grown tree is followed by another one.

    Args:
        queue: examines findings meanwhile. The growth ends early if findings fill the time that is left.

    Raises:
        UserError: there is no program, or none can be taken apart.
    """
    if not programs:
        raise UserError(f"there is no model program for {session.target.library}", _REMEDY)
    report, began = MocoReport(), session.clock()
    run = Run(session, options.seed, options.as_json())
    report.run = run.number
    aliases = aliases_of(session)
    plots = [recorded(session, Plot(session, each, knowledge, options, aliases)) for each in programs]

    def over() -> bool:
        spent = 0.0 if options.seconds is None else (session.clock() - began) / options.seconds
        full = queue is not None and queue.is_full
        return session.stopped() or spent >= 1.0 or (full and spent >= LEAST_SHARE)

    session.watch.phase("mutating models", options.seconds or options.nodes or 0)
    keeping = FindingRecorder(session.store, session.target.key, report.run)
    with _workshops(session, options) as mine:
        for plot, turn in _turns(session, plots, mine, over, options, report, queue):
            _save(session, plot, turn, report, keeping)
            report.seconds = session.clock() - began
            run.tell(report)
            _show(session, report, options, {} if queue is None else queue.figures)
    report.seconds = session.clock() - began
    run.end(report)
    if report.refused.keys() >= {plot.origin.name for plot in plots}:
        why = next(iter(report.refused.values()))
        problem = f"no model program for {session.target.library} can be taken apart"
        raise UserError(f"{problem}; {why}", _REMEDY)
    return report


def take_apart(session: Session, models: Sequence[Path] = ()) -> Iterator[Program | RefusedProgram]:
    """Yield every seed program in parts; a program without a record runs once.

    Programs for tracing may be left out.

    Raises:
        UserError: a directory does not exist.
    """
    options, aliases = MocoOptions(), aliases_of(session)
    nothing = Knowledge(library=session.target.library, build=session.target.key)
    session.watch.phase("splitting programs into blocks")
    with _workshops(session, options) as mine:
        for count, each in enumerate(seeds(session, models)):
            if session.stopped():
                return
            session.watch.advance(count, program=each.name)
            if isinstance(each, RefusedProgram):
                yield each
                continue
            plot = recorded(session, Plot(session, each, nothing, options, aliases))
            try:
                yield plot.take_apart(mine())
            except UserError as error:
                if each.weight == 1:
                    yield RefusedProgram(each.name, error.problem)


@contextmanager
def _workshops(session: Session, options: MocoOptions) -> Iterator[Callable[[], BlockWorkshop]]:
    """Give each thread a workshop of its own; all workshops end with the context."""
    local = threading.local()
    sweep()
    with scratch() as folder, ExitStack() as stack:
        plan = folder / "plan.jsonl"
        make_plan(session, plan, (), seed=options.seed, oracles=options.oracles, space=NO_SPACE)

        def mine() -> BlockWorkshop:
            if not hasattr(local, "workshop"):
                made = BlockWorkshop(session, Path(plan), options.timeout, options.weighed_blocks)
                local.workshop = stack.enter_context(closing(made))
            workshop: BlockWorkshop = local.workshop
            return workshop

        yield mine


def _turns(
    session: Session,
    plots: Sequence[Plot],
    mine: Callable[[], BlockWorkshop],
    over: Callable[[], bool],
    options: MocoOptions,
    report: MocoReport,
    queue: ExaminationQueue | None,
) -> Iterator[tuple[Plot, TreeTurn]]:
    """Yield the trees, `workers` at a time, with the result of each turn.

    The caller records it before the next turn.

    A tree that has begun goes on until it is full-grown, or has had LONGEST_SHARE of the time-box. A program shows
    new behaviour only when many of its blocks are mutated. The tree that has cost least is next.
    """

    def order(plot: Plot) -> tuple[bool, int]:
        lasting = options.seconds is not None and plot.seconds > LONGEST_SHARE * options.seconds
        return lasting or plot.growth is None, plot.spent

    waiting, running = list(plots), dict[Future[TreeTurn], Plot]()

    def enough() -> bool:
        return over() or (options.nodes is not None and report.nodes.total() >= options.nodes)

    with ThreadPoolExecutor(session.workers, "moco") as threads:
        while True:
            if queue is not None:
                queue.step(fuzzing=True)
            places = max(session.workers - (0 if queue is None else queue.running), 1)
            while waiting and len(running) < places and not enough():
                plot = min(waiting, key=order)
                waiting.remove(plot)
                running[threads.submit(lambda plot=plot: plot.turn(mine(), over))] = plot  # type: ignore[misc]
            if not running:
                return
            done, _ = wait(running, None if queue is None else WAIT_SECONDS, FIRST_COMPLETED)
            for future in done:
                plot = running.pop(future)
                try:
                    turn = future.result()
                except UserError as error:
                    if plot.origin.weight == 1:
                        report.refused[plot.origin.name] = error.problem
                        session.watch.note(error.problem)
                    continue
                except Interrupted:
                    # The user stopped during the import of the library: the turns of other trees are to be kept.
                    continue
                yield plot, turn
                if plot.growth is not None and plot.growth.tree.finished:
                    report.finished += 1
                    plot.replant()
                waiting.append(plot)


def _save(session: Session, plot: Plot, turn: TreeTurn, report: MocoReport, keeping: FindingRecorder) -> None:
    """Save findings first: a node that is on record is not run again."""
    store, target = session.store, session.target.key
    if plot.apart is None:
        return
    for found in turn.found:
        report.findings += 1
        report.kept += keeping.keep(*found).added
    if plot.number is None:
        plot.number = store.begin_tree(target, plot.origin.name, plot.origin.digest, plot.seed, plot.as_options())
    elif not plot.told:
        store.tell_tree(plot.number, plot.as_options())
    plot.told = plot.verified
    store.save_nodes(plot.number, turn.changed)
    report.nodes.update(node.state for node in turn.ran)
    report.operators.update(node.operator for node in turn.ran)
    report.apis |= turn.apis
    report.programs += turn.programs
    report.extremes += turn.extremes
    if plot.growth is not None:
        report.grown.add(plot.number)


def _show(session: Session, report: MocoReport, options: MocoOptions, examined: Mapping[str, int]) -> None:
    session.watch.advance(
        report.seconds if options.seconds is not None else report.nodes.total(),
        programs=report.programs,
        extremes=report.extremes,
        apis=len(report.apis),
        findings=report.kept,
        **examined,
        **{state.replace(" ", "_"): count for state, count in sorted(report.nodes.items())},
    )
