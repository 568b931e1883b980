"""A seed program with the tree that grows from it, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from fuzz_core.campaign.moco.extremes import Allowance
from fuzz_core.campaign.moco.growth import NodeFinding, ProgramBench, TreeGrowth
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.campaign.session import Session
from fuzz_core.collect.files import provenance
from fuzz_core.collect.programs import programs_in
from fuzz_core.ir.errors import CodecError, UserError
from fuzz_core.modelgen.moco.disassembly import Disassembly
from fuzz_core.modelgen.moco.disassembly_steps import RunObservations, steps
from fuzz_core.modelgen.moco.facts import Knowledge, with_model_ranges
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import OK, ORIGINAL, ROOT, TreeNode
from fuzz_core.modelgen.moco.program import Call, Program
from fuzz_core.modelgen.moco.tree import Tree, TreeOptions
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.programs.texts import grown_programs, traced_programs
from fuzz_core.worker.programs_ran import FlowRecord, ProgramResult

# The share of time of a program that is written for tracing is smaller by this factor.
TRACED = 4


class SeedProgram(NamedTuple):
    """A program to take apart."""

    name: str
    source: str
    weight: int = 1  # factor of its cost

    @property
    def digest(self) -> str:
        """The identity of its text."""
        return blake2b(self.source.encode("utf-8", "replace"), digest_size=16).hexdigest()


class RefusedProgram(NamedTuple):
    """A file that is no program, or a program that cannot be taken apart, and why."""

    name: str
    reason: str


def seeds(session: Session, models: Sequence[Path] = ()) -> Iterator[SeedProgram | RefusedProgram]:
    """Yield every seed program: those shipped for growing, those for tracing, and the user's.

    Raises:
        UserError: a directory does not exist.
    """
    library = session.target.library
    problems: list[tuple[str, str]] = []
    own = [(provenance(root, each.relative), each.code) for root in models for each in programs_in(root, problems)]
    yield from (RefusedProgram(*problem) for problem in problems)
    yield from (SeedProgram(*each) for each in grown_programs(library))
    yield from (SeedProgram(*each, weight=TRACED) for each in traced_programs(library))
    yield from (SeedProgram(*each) for each in own)


def aliases_of(session: Session) -> dict[str, str]:
    """Return further names of the target's apis, each with the canonical one."""
    return {alias: api.name for api in session.store.apis(session.target.key) for alias in api.aliases}


# A tree's turn ends after so many nodes, or so many seconds of a time-box.
TURN_NODES, TURN_SECONDS = 64, 10.0


@dataclass
class MocoOptions:
    """Options of a fuzz of model programs."""

    seconds: float | None = 60.0  # seconds of the run; None: no limit
    # Nodes of the run; with `nodes` alone and one worker, the run does not depend on the clock.
    nodes: int | None = None
    seed: int = 0  # seed of the random streams
    oracles: Sequence[str] = tuple(ORACLES)
    timeout: float = 3.0  # seconds for a block alone; programs have more
    # How trees grow.
    growth: TreeOptions = TreeOptions()  # noqa: RUF009 - immutable
    assembled_negatives: bool = False  # this option and the next three: see `campaign.papers.MocoSettings`
    model_ranges: bool = False
    further_modes: bool = True
    weighed_blocks: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the options for the run's record."""
        return {"engine": "moco", **vars(self), "oracles": list(self.oracles), "growth": self.growth._asdict()}


@dataclass
class TreeTurn:
    """The result of one turn of a tree, for the record."""

    changed: list[TreeNode] = field(default_factory=list)
    ran: list[TreeNode] = field(default_factory=list)
    found: list[NodeFinding] = field(default_factory=list)
    apis: set[str] = field(default_factory=set)
    programs: int = 0  # number of executed programs
    extremes: int = 0  # number of executed extreme values


class Plot:
    """A seed program with its tree, begun when its turn comes; `seed` is that of the tree's random stream.

    Args:
        aliases: further names of apis of the library, each with the canonical one.
    """

    def __init__(
        self,
        session: Session,
        seed: SeedProgram,
        knowledge: Knowledge,
        options: MocoOptions,
        aliases: Mapping[str, str] = {},
    ) -> None:
        self.session = session
        self.aliases = aliases
        self.origin = seed
        # The record of a run of the program, and the parts that the program was taken apart into.
        self.flow: FlowRecord | None = None
        self.apart: Program | None = None
        self.beside = frozenset[str]()  # known apis that the program calls in any blocks
        self.knowledge = with_model_ranges(knowledge) if options.model_ranges else knowledge
        self.options = options
        self.seed = options.seed
        self.number: int | None = None
        self.nodes: list[TreeNode] = []
        self.growth: TreeGrowth | None = None
        self.verified = False
        # Whether the record of its tree says what it was verified to be.
        self.told = False
        # The results of the program with these blocks as they are in the seed.
        self.runs: dict[frozenset[int], RunObservations | None] = {}
        # A seed of higher weight begins after the first turns of other seeds: the start takes long if the library
        # compiles.
        self.executed = seed.weight**2
        self.allowance = Allowance()
        # The seconds of its turns in this run.
        self.seconds = 0.0

    @property
    def spent(self) -> int:
        """About what it has cost so far, in executed lines, by weight: the tree that has cost least is next."""
        return self.executed * (self.origin.source.count("\n") + 1) * self.origin.weight

    @property
    def program(self) -> Program:
        """The parts of the program; known after its first turn."""
        assert self.apart is not None
        return self.apart

    def turn(self, workshop: BlockWorkshop, over: Callable[[], bool]) -> TreeTurn:
        """Verify and grow the tree for a while; end at the first finding, so that the caller records it at once.

        Raises:
            UserError: the program does not run, or cannot be taken apart.
        """
        began = self.session.clock()
        try:
            return self._turn(workshop, over)
        finally:
            self.seconds += self.session.clock() - began

    def _turn(self, workshop: BlockWorkshop, over: Callable[[], bool]) -> TreeTurn:
        turn, clock = TreeTurn(), self.session.clock
        # The run with hooks happens once and is not counted: the first turn verifies the steps as well.
        self.take_apart(workshop)
        timed, end = self.options.seconds is not None, clock() + TURN_SECONDS

        def past() -> bool:
            return over() or (timed and clock() > end)

        growth = self.growth or self._begun(workshop, past)
        if growth is None:
            return turn
        tree = growth.tree
        while len(turn.ran) < TURN_NODES and not turn.found and not past():
            node = tree.take()
            if node is None:
                break
            began = clock()
            grown = growth.grown(workshop, node)
            self.allowance.spend(clock() - began if timed else 1)
            self.executed += 1
            tree.tell(node.number, grown.result)
            turn.ran.append(tree.nodes[node.number])
            turn.found.extend(grown.found)
            turn.apis.update(grown.apis, self.beside if grown.apis else ())
            turn.programs += grown.programs
            if node.positive and grown.result.state == OK and node.operator not in (ROOT, ORIGINAL):
                self._extremes(turn, growth, workshop, node, past)
        turn.changed.extend(tree.changed())
        return turn

    def _extremes(
        self, turn: TreeTurn, growth: TreeGrowth, workshop: BlockWorkshop, node: TreeNode, past: Callable[[], bool]
    ) -> None:
        """Execute extreme values of a block that works, as many as the options and the tree's allowance have."""
        clock, timed = self.session.clock, self.options.seconds is not None
        for number in range(self.options.growth.times_ev):
            if past() or not self.allowance.is_left:
                return
            began = clock()
            found = growth.extreme(workshop, node, number)
            if found is None:
                return
            turn.found.extend(found)
            self.allowance.spend(clock() - began if timed else 1, extreme=True)
            turn.extremes += 1

    def replant(self) -> None:
        """Begin another tree of the same program, with the next random stream."""
        self.seed += 1
        self.number, self.nodes, self.growth, self.told = None, [], None, False
        self.seconds = 0.0

    def take_apart(self, workshop: BlockWorkshop) -> Program:
        """Return the parts of the program; the first call runs the program.

        Raises:
            UserError: the program does not run, or has no hidden layers.
        """
        if self.apart is None:
            text = self._disassembly()
            ran = workshop.flow(text.hooked)
            if ran.outcome.kind != "ok" or ran.flow is None:
                said = f"{ran.outcome.kind} {ran.outcome.name} {ran.outcome.text}".strip()
                raise UserError(
                    f"{self.origin.name} does not run: {said}", "run the program by itself to see why, and correct it"
                )
            try:
                self._take(text, ran.flow)
            except CodecError as error:
                raise UserError(
                    f"{self.origin.name} ran otherwise than its text says: {error}",
                    "make the program run its layers in the same order each time, or leave the program out of --models",
                ) from None
        return self.program

    def _disassembly(self) -> Disassembly:
        return Disassembly(self.origin.name, self.origin.source, self.session.target.library, self.aliases)

    def _take(self, text: Disassembly, flow: FlowRecord) -> None:
        self.apart, self.flow = text.program(flow), flow
        beside = ModuleNames.of(self.apart).beside(self.apart)
        self.beside = frozenset(self.aliases.get(path, path) for path in beside) & self.knowledge.apis.keys()

    def _begun(self, workshop: BlockWorkshop, over: Callable[[], bool]) -> TreeGrowth | None:
        if not self.verified and not self._verify(workshop, over):
            return None
        bench = ProgramBench(self.program, self.knowledge, self.seed)
        tree = Tree(self.program, self.knowledge, bench.seed, self.options.growth, self.nodes)
        self.growth = TreeGrowth(bench, tree, self.options.further_modes, self.options.assembled_negatives)
        return self.growth

    def _verify(self, workshop: BlockWorkshop, over: Callable[[], bool]) -> bool:
        """Join the blocks into steps that run; return False if that goes on at the next turn."""
        bench = ProgramBench(self.program, self.knowledge, self.seed)
        heads: dict[int, Call] = bench.heads()

        def runs(calls: Mapping[int, Call]) -> RunObservations | None:
            if (key := frozenset(calls)) not in self.runs:
                if over():
                    raise _NotYet
                self.executed += 1
                ran, made = bench.run(workshop, {**calls, **heads})
                self.runs[key] = _told(ran)
                # A call that a head was made to fit fits most of the next programs.
                heads.update((number, made[number]) for number in heads if ran.outcome.kind == "ok")
            return self.runs[key]

        with suppress(_NotYet):
            self.apart = steps(self.program, runs)
            self.verified = True
        return self.verified

    def as_options(self) -> dict[str, Any]:
        """Return for the record of the tree how it grows, and the steps of its program.

        The record has `flow`, by which the program is taken apart again without a run, and `parts`, the identity of the
        program's blocks: other parts have other steps. Until the steps are known, it has `runs`, the executions that
        look for them.
        """
        growth = {**self.options.growth._asdict(), "parts": self.parts, "flow": self.flow and self.flow.as_json()}
        if not self.verified:
            return {**growth, "runs": [[sorted(key), told and told.as_json()] for key, told in self.runs.items()]}
        found = [block.step for block in self.program.blocks]
        return {**growth, "head": list(self.program.template.head), "steps": found}

    @property
    def parts(self) -> str:
        """The identity of its template."""
        return blake2b(repr(self.program.template.pieces).encode("utf-8", "replace"), digest_size=16).hexdigest()

    def take_again(self, told: Mapping[str, Any]) -> None:
        """Take the program apart by a record, unless it is apart.

        Raises:
            CodecError: the record is not of this program.
            UserError: the record has no hidden layers.
        """
        if self.apart is None and "flow" in told:
            self._take(self._disassembly(), FlowRecord.from_json(told["flow"]))

    def recall(self, told: Mapping[str, Any]) -> None:
        """Take over from a record what its program was found to be, or what was executed to find that out."""
        if "steps" not in told:
            self.runs |= {frozenset(key): ran and RunObservations.from_json(ran) for key, ran in told.get("runs", ())}
            return
        blocks = zip(self.program.blocks, told["steps"], strict=True)
        self.apart = self.program._replace(
            template=self.program.template._replace(head=tuple(told["head"])),
            blocks=tuple(block._replace(step=step) for block, step in blocks),
        )
        self.verified = self.told = True


def _told(ran: ProgramResult) -> RunObservations | None:
    if ran.outcome.kind != "ok":
        return None
    took = {number: each.took for number, each in ran.saw.items()}
    arrived = {number: (kind.shape, kind.dtype) for number, kind in {**ran.passed, **took}.items() if kind is not None}
    return RunObservations(
        [number for number, kind in took.items() if kind is not None and kind == ran.saw[number].gave], arrived
    )


class _NotYet(Exception):  # noqa: N818 - never leaves this file
    """A turn is over."""


def recorded(session: Session, plot: Plot) -> Plot:
    """Return the plot with the recorded nodes of the tree that goes on, if there is one."""
    growth, seed = dict(plot.options.growth._asdict()), plot.origin
    trees = session.store.trees(session.target.key)
    rows = [row for row in trees if (row.program, row.digest) == (seed.name, seed.digest)]
    for row in rows:
        # The record is data of untrusted jobs: another record is as good as none.
        with suppress(CodecError, UserError):
            plot.take_again(row.options)
    same = [row for row in rows if plot.apart is not None and row.options.get("parts") == plot.parts]
    for row in same:
        plot.recall(row.options)
    alike = {row.seed: row for row in same if growth.items() <= {**TreeOptions()._asdict(), **row.options}.items()}
    while plot.seed in alike and alike[plot.seed].nodes and not alike[plot.seed].pending:
        plot.replant()
    if plot.seed in alike:
        plot.number, plot.told = alike[plot.seed].id, "steps" in alike[plot.seed].options
        plot.nodes = session.store.tree_nodes(plot.number)
    return plot
