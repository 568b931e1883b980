"""The derivation tree, grown level by level: it hands out nodes to run and takes their results (MoCo 2024, III-D)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from itertools import islice, zip_longest
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.moco.block_test import described
from fuzz_core.modelgen.moco.calls import as_written, fitted, parse_call
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import (
    CHECKED,
    GENERATED,
    OK,
    ORIGINAL,
    PENDING,
    REPLACED,
    ROOT,
    STATES,
    Result,
    TreeNode,
)
from fuzz_core.modelgen.moco.operators import Mutant, Taste, checks, drawn, equivalence, generated, replaced
from fuzz_core.modelgen.moco.program import INPUT, Block, Call, Program

# Tries for each mutant: two children of a node are never the same.
TRIES = 4


class TreeOptions(NamedTuple):
    """The settings that decide how a tree grows."""

    times_mt: int = 4  # mutants of a block by AR or RG
    times_bc: int = 1  # mutants by BC of each working mutant
    # Extreme values of each working mutant, outside of the tree (`campaign.moco.extremes`); 0 in the paper.
    times_ev: int = 6
    keep: float = 0.5  # the share of each equivalence class that grows further
    # The most nodes of a level that grow further, so that large programs grow deep; 0, as in the paper, for all.
    widest: int = 8
    # How much likelier AR chooses an api that no program of the tree has executed than its similarity says. Failures
    # lower this factor; the paper has 1.
    fresh: float = 8.0
    # How much likelier still AR chooses one such api in eight, which each tree draws anew; 1 in the paper.
    favoured: float = 8.0
    # How often a layer that might take a block's place as it is gets inputs made for it. A layer that might not always
    # gets them; with 0, as in the paper, none does.
    fitted: float = 0.2
    same_check: int = 4  # how often a tree does the same BC; 0, as in the paper, for no limit


def steps_of(program: Program) -> list[list[Block]]:
    """Return the blocks that are inserted together, in the order of computation; head blocks are in no step."""
    found: dict[int, list[Block]] = {}
    for block in sorted(program.blocks):
        if block.number not in program.template.head:
            found.setdefault(block.step, []).append(block)
    return list(found.values())


def survivors(level: Iterable[TreeNode], rng: Rng, keep: float = 0.5, widest: int = 0) -> set[int]:
    """Return the numbers of the nodes that get children: a share of each class of working nodes, at least one.

    Negative nodes and failures are leaves.

    Args:
        keep: the share of each class.
        widest: the most nodes, taken from all classes in turn; 0 for no limit.
    """
    classes: dict[str, list[int]] = defaultdict(list)
    for node in level:
        if node.positive and node.state == OK:
            classes[node.equivalence].append(node.number)
    kept = [
        list(islice(drawn(numbers, rng), max(1, math.floor(len(numbers) * keep + 0.5))))
        for _, numbers in sorted(classes.items())
    ]
    if widest:
        in_turn = zip_longest(*drawn(kept, rng))
        kept = [[number for place in in_turn for number in place if number is not None][:widest]]
    return {number for each in kept for number in each}


_ANEW = "begin a new tree: name another directory with --state"


class Tree:
    """The tree of one seed program.

    The same seed and results give the same tree, however often it is interrupted.

    Args:
        nodes: the recorded nodes of an interrupted tree, empty for a new one. Nodes without a state are handed out
            again.
    """

    def __init__(
        self,
        program: Program,
        knowledge: Knowledge,
        seed: int,
        options: TreeOptions = TreeOptions(),  # noqa: B008 - immutable
        nodes: Iterable[TreeNode] = (),
    ) -> None:
        self.program, self.knowledge, self.seed, self.options = program, knowledge, seed, options
        self.names = ModuleNames.of(program)
        self.steps = steps_of(program)
        self.nodes = list(nodes)
        self._changed: dict[int, None] = {}
        self._out: set[int] = set()
        if not self.nodes:
            self._put(TreeNode(0, None, 0, None, "", "", ROOT, equivalence=ROOT))
        # Block and call of the children of the nodes above this level.
        self._children: defaultdict[int | None, set[tuple[int | None, str]]] = defaultdict(set)
        # Apis that programs of this tree have executed; the seed's were executed when it was verified.
        self._ran = {block.call.api for block in program.blocks}
        # How often further apis did not work.
        self._failed = Counter[str]()
        for node in self.nodes:
            self._count(node)
        self._checked = Counter((node.equivalence, node.new) for node in self.nodes if not node.positive)
        self._resume()

    def _resume(self) -> None:
        if any(node.number != place for place, node in enumerate(self.nodes)):
            raise UserError("a derivation tree on record has gaps", _ANEW)
        inserted = [{block.number for block in step} for step in self.steps]
        for node in self.nodes[1:]:
            if node.level > len(inserted) or node.block not in inserted[node.level - 1]:
                name = self.program.name
                raise UserError(
                    f"a derivation tree on record inserts blocks that the program {name} does not have", _ANEW
                )
        self.level = max(node.level for node in self.nodes)
        level = self._nodes_of(self.level)
        for node in level:
            self._children[node.parent].add((node.block, node.call))
        self._parents = deque(
            node.number for node in self._nodes_of(self.level - 1) if node.kept and node.number not in self._children
        )
        self._waiting = deque(node.number for node in level if node.state == PENDING)
        self._ended = False

    def _nodes_of(self, level: int) -> list[TreeNode]:
        return [node for node in self.nodes if node.level == level]

    @property
    def finished(self) -> bool:
        """Whether there will be no further node to run."""
        self._go_on()
        return not self._waiting and not self._out and not self._parents

    def take(self) -> TreeNode | None:
        """Return the next node to run; None if it depends on missing results, or if the tree is `finished`."""
        self._go_on()
        if not self._waiting:
            return None
        number = self._waiting.popleft()
        self._out.add(number)
        return self.nodes[number]

    def tell(self, number: int, result: Result) -> None:
        """Record the result of a node that was handed out.

        A node that works may get further BC nodes on this level.

        Raises:
            UserError: the node was not handed out, or the state does not exist.
        """
        if number not in self._out or result.state not in STATES:
            problem = f"node {number} of the derivation tree is not running, or {result.state!r} is not a state"
            raise UserError(problem, f"give a node of `take` with one of the states {', '.join(STATES)}")
        self._out.remove(number)
        node = self.nodes[number]
        next_step = self.steps[node.level] if result.state == OK and node.level < len(self.steps) else []
        wanted = {block.number for block in next_step}
        arrives = {block: arrival for block, arrival in result.arrives.items() if block in wanted}
        self._put(node._replace(state=result.state, why=result.why, arrives=arrives))
        self._count(self.nodes[number])
        if node.positive and result.state == OK and node.operator not in (ROOT, ORIGINAL):
            self._check(node)

    def _count(self, node: TreeNode) -> None:
        """Count the executions and failures of a node's api."""
        if node.positive and node.state == OK:
            self._ran.add(node.api)
        elif node.positive and node.state != PENDING:
            self._failed[node.api] += 1

    def changed(self) -> list[TreeNode]:
        """Return the new and changed nodes since the last call; record all of them at once."""
        found = [self.nodes[number] for number in self._changed]
        self._changed.clear()
        return found

    def chain(self, number: int) -> list[TreeNode]:
        """Return a node with all its ancestors, the root first."""
        found = [self.nodes[number]]
        while (parent := found[-1].parent) is not None:
            found.append(self.nodes[parent])
        return found[::-1]

    def calls(self, number: int) -> dict[int, Call]:
        """Return the blocks of a node's program without the head: its own and those of its ancestors.

        Raises:
            UserError: the text of a node is no call.
        """
        found: dict[int, Call] = {}
        for node in self.chain(number)[1:]:
            found.update((block.number, block.call) for block in self.steps[node.level - 1])
            found[self._block(node).number] = self._call(node)
        return found

    def _block(self, node: TreeNode) -> Block:
        return next(block for block in self.program.blocks if block.number == node.block)

    def _call(self, node: TreeNode) -> Call:
        return parse_call(node.call, node.api, self._block(node).call.applied)

    def _go_on(self) -> None:
        """Make nodes until one waits, there are none to make, or missing results decide which nodes come next."""
        while not self._waiting:
            if self._parents:
                self._grow_below(self.nodes[self._parents.popleft()])
            elif self._out or self._ended or not self._prune():
                return

    def _prune(self) -> bool:
        """End a level; return whether there is a next one."""
        self._ended = self.level >= len(self.steps)
        if self._ended:
            return False
        level = self._nodes_of(self.level)
        rng = Rng(derive(self.seed, "pruning", self.level))
        kept = survivors(level, rng, self.options.keep, self.options.widest)
        for node in level:
            self._put(node._replace(kept=node.number in kept))
        self._parents.extend(sorted(kept))
        self._children.clear()
        self._ended = not kept
        self.level += bool(kept)
        return bool(kept)

    def _grow_below(self, parent: TreeNode) -> None:
        """Add the next step as it was, and mutants of its blocks by AR or RG, chosen at random (section III-C)."""
        step, options = self.steps[parent.level], self.options
        around = self.names.fitted if options.fitted else ""
        taste = Taste(self._ran, options.fresh, self._failed, around, options.fitted, options.favoured, self.seed)
        rng = Rng(derive(self.seed, "children", parent.number))
        original = Mutant(self._fitted(step[0], parent), ORIGINAL, "", "", "")
        found = {(step[0].number, original.call.written): (step[0], original)}
        for _ in range(options.times_mt):
            for _ in range(TRIES):
                block = rng.choice(step)
                mutant = self._mutant(block, parent, rng, taste)
                if mutant is not None and (key := (block.number, mutant.call.written)) not in found:
                    found[key] = block, mutant
                    break
        for block, mutant in found.values():
            self._grow(parent, block, mutant)

    def _mutant(self, block: Block, parent: TreeNode, rng: Rng, taste: Taste) -> Mutant | None:
        """Mutate a block by AR or RG, in random order, until one of them returns a mutant."""
        call, facts = self._fitted(block, parent), self.knowledge.apis.get(block.call.api)
        if facts is None:
            return None
        plain, arrival = self.names.resolved(call), parent.arrives.get(block.number)
        for operator in list(drawn((REPLACED, GENERATED), rng)):
            if operator == REPLACED:
                made = replaced(plain, self.knowledge, arrival, rng, self.names.spelled, taste)
            else:
                made = generated(plain, facts, rng)
                made = made and _in_words(made, plain, call)
            if made is not None and self._is_told(made, call):
                return made
        return None

    def _fitted(self, block: Block, parent: TreeNode) -> Call:
        """Return the call of a block, fitted to what arrives there in its parent's program."""
        facts, arrival = self.knowledge.apis.get(block.call.api), parent.arrives.get(block.number)
        if facts is None or arrival is None:
            return block.call
        return fitted(block.call, facts, arrival.shape, self.names.resolved)

    def _is_told(self, mutant: Mutant, call: Call) -> bool:
        """Return whether the program can express all new arguments, without names from a module that it lacks."""
        before = {INPUT, *(argument.source for argument in call.arguments)}
        sources = [argument.source for argument in mutant.call.arguments if argument.source not in before]
        return all(described(source, self.names.public) is not None for source in sources)

    def _check(self, base: TreeNode) -> None:
        """Add BC nodes for a working block.

        The rarest mutants of this tree come first; siblings differ.
        """
        facts, times = self.knowledge.apis.get(base.api), self.options.times_bc
        if facts is None or not times:
            return
        parent, block, call = self.nodes[base.parent or 0], self._block(base), self._call(base)
        plain, rng = self.names.resolved(call), Rng(derive(self.seed, "negatives", CHECKED, base.number))
        made = [_in_words(mutant, plain, call) for mutant in checks(plain, facts, rng)]
        there = self._children[parent.number]
        new = [each for each in drawn(made, rng) if (block.number, each.call.written) not in there]
        new.sort(key=lambda each: self._checked[equivalence(each, facts), each.new])
        # A library checks a layer's arguments the same way, no matter which layers come before it.
        most = self.options.same_check
        for mutant in new[:times]:
            if not most or self._checked[equivalence(mutant, facts), mutant.new] < most:
                self._grow(parent, block, mutant, base.number)

    def _grow(self, parent: TreeNode, block: Block, mutant: Mutant, base: int | None = None) -> None:
        node = TreeNode(
            number=len(self.nodes),
            parent=parent.number,
            level=parent.level + 1,
            block=block.number,
            api=mutant.call.api,
            call=mutant.call.written,
            operator=mutant.operator,
            parameter=mutant.parameter,
            old=mutant.old,
            new=mutant.new,
            line=block.line,
            positive=mutant.positive,
            base=base,
            equivalence=equivalence(mutant, self.knowledge.apis.get(mutant.call.api)),
        )
        self._put(node)
        self._checked[node.equivalence, node.new] += not node.positive
        self._children[parent.number].add((node.block, node.call))
        self._waiting.append(node.number)

    def _put(self, node: TreeNode) -> None:
        """Add a node, or replace the node of its number."""
        self.nodes[node.number : node.number + 1] = [node]
        self._changed[node.number] = None


def _in_words(mutant: Mutant, plain: Call, call: Call) -> Mutant:
    return mutant._replace(call=as_written(mutant.call, plain, call))
