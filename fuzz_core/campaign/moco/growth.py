"""A derivation tree, grown on a target: what becomes of each node (MoCo 2024, sections III-A3 and III-D)."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fuzz_core.campaign.moco.extremes import Mutations
from fuzz_core.campaign.moco.judge import (
    Gave,
    Verdicts,
    accepted,
    block_results,
    failing_block_input,
    is_drawn,
    origin,
    state_alone,
    state_whole,
    verdicts_in_words,
    with_known_sizes,
)
from fuzz_core.campaign.moco.workshop import BlockWorkshop
from fuzz_core.execution.replay import COMPILED, DOUBLED, is_lost, verdicts_on
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.rng import derive
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.moco.block_test import as_test
from fuzz_core.modelgen.moco.calls import fitted
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import (
    FINDING,
    OK,
    ORIGINAL,
    REFUSED,
    RESOURCES,
    ROOT,
    SKIPPED,
    Arrival,
    Result,
    TreeNode,
)
from fuzz_core.modelgen.moco.program import Call, Program, Slot, assemble
from fuzz_core.modelgen.moco.tree import Tree
from fuzz_core.worker.programs_ran import MAKE, OWN, ProgramResult

# How often a program is made to fit its inputs before it counts as one that does not fit.
MOST_FITS = 6
# Said of a node that works.
LOST = "the loss is not finite"


class NodeFinding(NamedTuple):
    """A finding, as the fuzz of single apis has them."""

    test: TestCase
    verdict: Verdict
    outcome: Outcome
    origin: str = ""  # see `store.records.FindingRow`


class NodeResult(NamedTuple):
    """The result of a node."""

    result: Result
    found: tuple[NodeFinding, ...] = ()
    apis: tuple[str, ...] = ()  # apis of its program, if that works
    programs: int = 0  # number of executed programs


class ProgramBench:
    """Programs of one seed: assembled, made to fit, and run."""

    def __init__(self, program: Program, knowledge: Knowledge, seed: int) -> None:
        self.program = program
        self.knowledge = knowledge
        self.names = ModuleNames.of(program)
        self.seed = derive(seed, program.name) & 0x7FFFFFFF
        self.originals = {block.number: block.call for block in program.blocks}
        self.data = _data(program)
        self.outputs: Gave | None = None

    def heads(self) -> dict[int, Call]:
        """Return the layers that stay."""
        return {number: self.originals[number] for number in self.program.template.head}

    def run(self, workshop: BlockWorkshop, calls: Mapping[int, Call]) -> tuple[ProgramResult, dict[int, Call]]:
        """Return the outcome of a program, and its calls as they were made to fit."""
        calls = dict(calls)
        for _ in range(MOST_FITS):
            ran = workshop.program(self.text(calls, watched=True), self.data, self.seed)
            better = self._fitted(calls, ran)
            if better is None:
                break
            calls = better
        return ran, calls

    def text(self, calls: Mapping[int, Call], watched: bool = False) -> str:
        """Return a program with these calls in it."""
        return assemble(self.program.template, calls, watched, self.names.imports(calls.values()))

    def _fitted(self, calls: dict[int, Call], ran: ProgramResult) -> dict[int, Call] | None:
        """Return the calls, with the failing call fitted to the input that arrived there; None if it fits already."""
        number = ran.inside
        if ran.outcome.kind != "exception" or number is None or number not in calls or number not in ran.saw:
            return None
        took, facts = ran.saw[number].took, self.knowledge.apis.get(calls[number].api)
        if took is None or facts is None:
            return None
        made = fitted(calls[number], facts, with_known_sizes(took.shape), self.names.resolved)
        return None if made == calls[number] else {**calls, number: made}

    def is_trained_alike(self, workshop: BlockWorkshop, ran: ProgramResult) -> bool:
        """Return whether output layers gave the results of the seed program's, so that its training is as it was."""
        wanted = self._wanted(workshop)
        return bool(wanted) and block_results(ran, self.program.template.head) == wanted

    def is_refused_midway(self, workshop: BlockWorkshop, ran: ProgramResult) -> bool:
        """Return whether a library refused a call between the first block that was used and the last output layer.

        An outcome that is no exception, or an exception of the program's own, could have happened in any place.
        """
        if ran.inside is not None or ran.outcome.kind != "exception" or ran.how == OWN or not ran.saw:
            return False
        return not self._wanted(workshop).keys() <= ran.saw.keys()

    def _wanted(self, workshop: BlockWorkshop) -> Gave:
        """Return the results of the output layers of the seed program."""
        if self.outputs is None:
            self.outputs = block_results(self.run(workshop, self.originals)[0], self.program.template.head)
        return self.outputs


def _data(program: Program) -> int:
    """Return the number of characters of a program before the statement with its first block."""
    text = assemble(program.template, {block.number: block.call for block in program.blocks})
    before = 0
    for piece in program.template.pieces:
        if isinstance(piece, Slot):
            break
        before += len(piece)
    lines = text[:before].count("\n") + 1
    first = next((each for each in ast.parse(text).body if (each.end_lineno or 0) >= lines), None)
    if first is None:
        return 0
    line = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))])
    return sum(len(each) + 1 for each in text.split("\n")[: line - 1])


class TreeGrowth:
    """Says what becomes of the nodes of a tree."""

    def __init__(
        self, bench: ProgramBench, tree: Tree, further_modes: bool = True, assembled_negatives: bool = False
    ) -> None:
        self.bench = bench
        self.tree = tree
        self.mutations = Mutations(bench.names.public)
        self.further_modes = further_modes
        self.assembled_negatives = assembled_negatives
        # The calls of nodes that worked, as they were made to fit: their children begin with these calls.
        self.fits: dict[int, dict[int, Call]] = {}
        self.level = 0
        # Results of blocks alone: many nodes have the same block in the same place.
        self.alone: dict[Invocation, tuple[Outcome, Verdicts]] = {}

    def grown(self, workshop: BlockWorkshop, node: TreeNode) -> NodeResult:
        """Execute a node: its block alone, and if that works, its program."""
        calls = self._calls(node)
        if node.operator in (ROOT, ORIGINAL) or node.block is None:
            return self._whole(workshop, node, calls)
        call = calls[node.block]
        test = self._test(node, call)
        if test is None:
            return (
                self._whole(workshop, node, calls) if node.positive else NodeResult(Result(SKIPPED, "nothing to test"))
            )
        known = self.alone.get(test.invocation)
        outcome, verdicts = known or self.alone.setdefault(test.invocation, workshop.alone(test))
        # A known result has been reported before.
        found = () if known else self._findings(node, test, verdicts)
        state = state_alone(node, outcome, [verdict for verdict, _ in verdicts])
        if self.assembled_negatives and state in (OK, REFUSED):
            return self._negative(workshop, node, calls, outcome)
        if state is not None:
            return NodeResult(Result(state, verdicts_in_words(outcome, verdicts)), found)
        grown = self._whole(workshop, node, calls)
        return grown._replace(found=found + grown.found)

    def extreme(self, workshop: BlockWorkshop, node: TreeNode, number: int) -> tuple[NodeFinding, ...] | None:
        """Execute an extreme value of the block of a node that works, alone.

        Each number gives another value.

        Returns:
            None if there is none left.
        """
        call = self._calls(node)[-1 if node.block is None else node.block]
        test, facts = self._test(node, call), self.bench.knowledge.apis.get(call.api)
        mutant = None if test is None or facts is None else self.mutations.mutant(test, facts, number)
        if mutant is None:
            return None
        _, verdicts = workshop.alone(mutant, extreme=True)
        return self._findings(node, mutant, verdicts, rules=mutant.rules)

    def _negative(self, workshop: BlockWorkshop, node: TreeNode, calls: dict[int, Call], alone: Outcome) -> NodeResult:
        """Return the result of a negative node whose program is executed as well, however its block ended alone."""
        text = self.bench.text(calls)
        ran = workshop.program(text, self.bench.data, self.bench.seed)
        if ran.outcome.kind == "ok":
            state, facts = FINDING, self.bench.knowledge.apis[node.api]
            text, verdicts = accepted(node, facts, text, alone, workshop.dialect)
        else:
            verdicts = workshop.judge(ran)
            state = state_whole(ran, verdicts)
        found = self._programs(node, calls, ran.inside, verdicts, text)
        state = state if state in (FINDING, RESOURCES) else REFUSED
        return NodeResult(Result(state, verdicts_in_words(ran.outcome, verdicts)), found, programs=1)

    def _calls(self, node: TreeNode) -> dict[int, Call]:
        """Return the calls of the node's parent, as they were made to fit there, and the node's own."""
        calls = {**self.bench.heads(), **self.tree.calls(node.number)}
        parent = self.fits.get(-1 if node.parent is None else node.parent, {})
        own = set() if node.parent is None else {block.number for block in self.tree.steps[node.level - 1]}
        calls.update((number, call) for number, call in parent.items() if number in calls and number not in own)
        return calls

    def _test(self, node: TreeNode, call: Call) -> TestCase | None:
        """Return the node's block alone as a test case, on an input of the kind that arrives there."""
        parent = self.tree.nodes[node.parent or 0]
        test = self._alone(call, parent.arrives.get(-1 if node.block is None else node.block))
        return None if test is None else test._replace(rules=(node.operator,))

    def _alone(self, call: Call, arrival: Arrival | None) -> TestCase | None:
        facts = self.bench.knowledge.apis.get(call.api)
        if facts is None or arrival is None:
            return None
        seed = derive(self.bench.seed, call.written, str(arrival)) & 0x7FFFFFFF
        names = self.bench.names
        return as_test(names.resolved(call), facts, arrival.shape, arrival.dtype, seed, names.public)

    def _whole(self, workshop: BlockWorkshop, node: TreeNode, calls: dict[int, Call]) -> NodeResult:
        ran, calls = self.bench.run(workshop, calls)
        if ran.outcome.kind == "ok":
            return self._works(workshop, node, calls, ran)._replace(programs=1)
        verdicts = self._failed(workshop, node, calls, ran)
        state = state_whole(ran, verdicts, self.bench.is_refused_midway(workshop, ran))
        found = self._programs(node, calls, ran.inside, verdicts) if state == FINDING else ()
        return NodeResult(Result(state, verdicts_in_words(ran.outcome, verdicts)), found, programs=1)

    def _works(self, workshop: BlockWorkshop, node: TreeNode, calls: dict[int, Call], ran: ProgramResult) -> NodeResult:
        apis = tuple(call.api for call in calls.values())
        for mode in self._modes(node, ran):
            if verdicts := workshop.verdicts_in_mode(self._program(node, calls, None), mode):
                blamed, its = self._blamed(workshop, node, calls, mode)
                found = self._programs(blamed, its, None, verdicts)
                return NodeResult(Result(FINDING, verdicts_in_words(ran.outcome, verdicts)), found, apis)
        self._keep(node, calls)
        passed = [(number, kind) for number, kind in ran.passed.items() if kind is not None]
        arrives = {number: Arrival(with_known_sizes(kind.shape), kind.dtype) for number, kind in passed}
        return NodeResult(Result(OK, LOST if is_lost(ran) else "", arrives), apis=apis)

    def _modes(self, node: TreeNode, ran: ProgramResult) -> list[str]:
        """Return the modes that a working program is examined in; a loss that is infinite in the parent is not new."""
        if not self.further_modes:
            return []
        doubled = is_lost(ran) and self.tree.nodes[node.parent or 0].why != LOST
        return [*([DOUBLED] if doubled else []), *([COMPILED] if is_drawn(self.bench.seed, node) else [])]

    def _blamed(
        self, workshop: BlockWorkshop, node: TreeNode, calls: dict[int, Call], mode: str
    ) -> tuple[TreeNode, dict[int, Call]]:
        """Return the first node on the path to this one whose program shows the same fault, and its calls."""
        for above in self.tree.chain(node.number)[1:-1]:
            ran, its = self.bench.run(workshop, self._calls(above))
            if ran.outcome.kind == "ok" and workshop.verdicts_in_mode(self._program(above, its, None), mode):
                return above, its
        return node, calls

    def _failed(self, workshop: BlockWorkshop, node: TreeNode, calls: dict[int, Call], ran: ProgramResult) -> Verdicts:
        """Return every verdict on a program that does not run although its block does."""
        if verdicts := workshop.judge(ran):
            return verdicts
        if is_lost(ran):
            return workshop.verdicts_in_mode(self._program(node, calls, None), DOUBLED)
        return verdicts_on(ran, workshop.dialect) if ran.unexplained and self._holds(workshop, node, calls, ran) else ()

    def _holds(self, workshop: BlockWorkshop, node: TreeNode, calls: dict[int, Call], ran: ProgramResult) -> bool:
        """Return whether the failing block works alone on its input; if no block fails, whether training fits."""
        if ran.inside is None:
            return self.bench.is_trained_alike(workshop, ran)
        call = calls.get(ran.inside)
        if call is None:
            return False
        making = ran.phase == MAKE and ran.inside == node.block
        test = self._test(node, call) if making else self._alone(call, failing_block_input(ran, call))
        if test is None:
            return False
        outcome, told = self.alone.get(test.invocation) or workshop.alone(test)
        return outcome.kind == "ok" and not any(verdict.oracle == "crash" for verdict, _ in told)

    def _keep(self, node: TreeNode, calls: dict[int, Call]) -> None:
        """Keep what fits for the children, and forget it of those that have had theirs."""
        if node.level > self.level:
            self.level = node.level
            above = node.level - 1
            self.fits = {n: fit for n, fit in self.fits.items() if self.tree.nodes[n].level == above}
        self.fits[node.number] = calls

    def _programs(
        self, node: TreeNode, calls: Mapping[int, Call], inside: int | None, verdicts: Verdicts, script: str = ""
    ) -> tuple[NodeFinding, ...]:
        """Return verdicts on a program as findings about the block that shows them.

        Args:
            script: the program, if it is more than the calls.
        """
        if node.block is None and inside not in calls:
            return ()
        test = self._program(node, calls, inside)
        return self._findings(node, test._replace(program=script or test.program), verdicts, inside, calls)

    def _findings(
        self,
        node: TreeNode,
        test: TestCase,
        verdicts: Verdicts,
        inside: int | None = None,
        calls: Mapping[int, Call] = {},
        rules: Sequence[str] = (),
    ) -> tuple[NodeFinding, ...]:
        program = self.bench.program
        return tuple(
            NodeFinding(test, verdict, outcome, origin(program, node, verdict, inside, calls, rules))
            for verdict, outcome in verdicts
        )

    def _program(self, node: TreeNode, calls: Mapping[int, Call], inside: int | None) -> TestCase:
        """Return the program as a test case of the api of the block that it fails in, or else of the node's own."""
        number = inside if inside is not None and inside in calls else node.block
        call = calls.get(-1 if number is None else number)
        own = self._test(node, call) if call is not None and number == node.block else None
        test = own or TestCase(Invocation("" if call is None else call.api), 0, rules=(node.operator,))
        return test._replace(program=self.bench.text(calls), seed=self.bench.seed)
