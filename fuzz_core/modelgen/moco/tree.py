"""The derivation tree, grown level by level: it hands out nodes to run and takes their results (MoCo 2024, III-D)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.moco.block_test import described
from fuzz_core.modelgen.moco.calls import as_written, fitted, parse_call
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
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
    Arrival,
    Result,
    TreeNode,
)
from fuzz_core.modelgen.moco.operators import Mutant, Taste, checks, equivalence, generated, replaced
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


class Child(NamedTuple):
    """A child before it becomes a node: its block, the mutation and the equivalence class."""

    block: Block
    mutant: Mutant
    equivalence: str


class Ground(NamedTuple):
    """The seed program of a tree, with its knowledge and settings."""

    program: Program
    knowledge: Knowledge
    names: ModuleNames
    seed: int
    options: TreeOptions

    def facts(self, api: str) -> Facts | None:
        """Return the known facts about an api, or None."""
        return self.knowledge.apis.get(api)


def steps_of(program: Program) -> list[list[Block]]:
    """Return the blocks that are inserted together, in the order of computation; head blocks are in no step."""
    found: dict[int, list[Block]] = {}
    for block in sorted(program.blocks):
        if block.number not in program.template.head:
            found.setdefault(block.step, []).append(block)
    return list(found.values())


def children(
    ground: Ground, parent: TreeNode, step: list[Block], ran: Collection[str] = (), failed: Mapping[str, int] = {}
) -> list[Child]:
    """Return the step as it was, and mutants of its blocks by AR or RG, chosen at random (section III-C).

    Args:
        ran: apis that programs of the tree have executed.
        failed: how often an api did not work in the tree.
    """
    options = ground.options
    around = ground.names.fitted if options.fitted else ""
    taste = Taste(ran, options.fresh, failed, around, options.fitted, options.favoured, ground.seed)
    rng = Rng(derive(ground.seed, "children", parent.number))
    original = _child(ground, step[0], _original(ground, step[0], parent))
    found = {(step[0].number, original.mutant.call.written): original}
    for _ in range(ground.options.times_mt):
        for _ in range(TRIES):
            block = rng.choice(step)
            mutant = _mutant(ground, block, parent, rng, taste)
            if mutant is not None and (key := (block.number, mutant.call.written)) not in found:
                found[key] = _child(ground, block, mutant)
                break
    return list(found.values())


def negatives(ground: Ground, base: TreeNode) -> list[Child]:
    """Return all BC mutants of a working node's block, in random order."""
    facts = ground.facts(base.api)
    if facts is None:
        return []
    rng = Rng(derive(ground.seed, "negatives", CHECKED, base.number))
    call = call_of(ground.program, base)
    plain = ground.names.resolved(call)
    found = [_in_words(mutant, plain, call) for mutant in checks(plain, facts, rng)]
    block = ground.program.blocks[_place(ground.program, base.block)]
    return [_child(ground, block, mutant) for mutant in sample(found, len(found), rng)]


def call_of(program: Program, node: TreeNode) -> Call:
    """Return the call that a node inserts.

    Raises:
        UserError: the node's text is no call.
    """
    block = program.blocks[_place(program, node.block)]
    return parse_call(node.call, node.api, block.call.applied)


def _place(program: Program, number: int | None) -> int:
    return next(place for place, block in enumerate(program.blocks) if block.number == number)


def _original(ground: Ground, block: Block, parent: TreeNode) -> Mutant:
    call = _fitted(ground, block.call, parent.arrives.get(block.number))
    return Mutant(call, ORIGINAL, "", "", "")


def _mutant(ground: Ground, block: Block, parent: TreeNode, rng: Rng, taste: Taste) -> Mutant | None:
    """Mutate a block by AR or RG, in random order, until one of them returns a mutant."""
    arrival = parent.arrives.get(block.number)
    call = _fitted(ground, block.call, arrival)
    facts = ground.facts(call.api)
    if facts is None:
        return None
    plain = ground.names.resolved(call)
    for operator in sample((REPLACED, GENERATED), 2, rng):
        if operator == REPLACED:
            made = replaced(plain, ground.knowledge, arrival, rng, ground.names.spelled, taste)
        else:
            made = generated(plain, facts, rng)
            made = made and _in_words(made, plain, call)
        if made is not None and _is_told(made, call, ground.names):
            return made
    return None


def _in_words(mutant: Mutant, plain: Call, call: Call) -> Mutant:
    return mutant._replace(call=as_written(mutant.call, plain, call))


def _is_told(mutant: Mutant, call: Call, names: ModuleNames) -> bool:
    """Return whether the program can express all new arguments, without names from a module that it lacks."""
    before = {INPUT, *(argument.source for argument in call.arguments)}
    sources = [argument.source for argument in mutant.call.arguments if argument.source not in before]
    return all(described(source, names.public) is not None for source in sources)


def _fitted(ground: Ground, call: Call, arrival: Arrival | None) -> Call:
    facts = ground.facts(call.api)
    return call if facts is None or arrival is None else fitted(call, facts, arrival.shape, ground.names.resolved)


def _child(ground: Ground, block: Block, mutant: Mutant) -> Child:
    return Child(block, mutant, equivalence(mutant, ground.facts(mutant.call.api)))


T = TypeVar("T")


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
        sample(numbers_, max(1, math.floor(len(numbers_) * keep + 0.5)), rng) for _, numbers_ in sorted(classes.items())
    ]
    if widest:
        kept = [_in_turn(sample(kept, len(kept), rng))[:widest]]
    return {number for each in kept for number in each}


def sample(items: Sequence[T], count: int, rng: Rng) -> list[T]:
    """Return this number of items, in random order."""
    left = list(items)
    return [left.pop(rng.below(len(left))) for _ in range(count)]


def _in_turn(classes: Sequence[Sequence[int]]) -> list[int]:
    longest = max(map(len, classes), default=0)
    return [each[place] for place in range(longest) for each in classes if place < len(each)]


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
        self.ground = Ground(program, knowledge, ModuleNames.of(program), seed, options)
        self.steps = steps_of(program)
        self.nodes = list(nodes)
        self._changed: dict[int, None] = {}
        self._out: set[int] = set()
        if not self.nodes:
            self._add(TreeNode(0, None, 0, None, "", "", ROOT, equivalence=ROOT))
        self._levels: defaultdict[int, list[int]] = defaultdict(list)
        # The children of the nodes above this level.
        self._children: defaultdict[int, list[int]] = defaultdict(list)
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
                name = self.ground.program.name
                raise UserError(
                    f"a derivation tree on record inserts blocks that the program {name} does not have", _ANEW
                )
        for node in self.nodes:
            self._levels[node.level].append(node.number)
        self.level = max(self._levels)
        for number in self._levels[self.level]:
            if (parent := self.nodes[number].parent) is not None:
                self._children[parent].append(number)
        above = self._levels.get(self.level - 1, [])
        self._parents = deque(number for number in above if self.nodes[number].kept and number not in self._children)
        self._waiting = deque(number for number in self._levels[self.level] if self.nodes[number].state == PENDING)
        self._ended = False

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
        wanted = {block.number for block in self._next_step(node)} if result.state == OK else set()
        arrives = {block: arrival for block, arrival in result.arrives.items() if block in wanted}
        self._change(node._replace(state=result.state, why=result.why, arrives=arrives))
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
        """Return the blocks of a node's program without the head: its own and those of its ancestors."""
        found: dict[int, Call] = {}
        for node in self.chain(number)[1:]:
            found.update((block.number, block.call) for block in self.steps[node.level - 1])
            if node.block is not None:
                found[node.block] = call_of(self.ground.program, node)
        return found

    def _next_step(self, node: TreeNode) -> list[Block]:
        return self.steps[node.level] if node.level < len(self.steps) else []

    def _go_on(self) -> None:
        """Make nodes until one waits, there are none to make, or missing results decide which nodes come next."""
        while not self._waiting:
            if self._parents:
                parent = self.nodes[self._parents.popleft()]
                for child in children(self.ground, parent, self.steps[parent.level], self._ran, self._failed):
                    self._grow(child, parent)
            elif self._out or self._ended or not self._prune():
                return

    def _prune(self) -> bool:
        """End a level; return whether there is a next one."""
        self._ended = self.level >= len(self.steps)
        if self._ended:
            return False
        level = [self.nodes[number] for number in self._levels[self.level]]
        options = self.ground.options
        rng = Rng(derive(self.ground.seed, "pruning", self.level))
        kept = survivors(level, rng, options.keep, options.widest)
        for node in level:
            self._change(node._replace(kept=node.number in kept))
        self._parents.extend(sorted(kept))
        self._children.clear()
        self._ended = not kept
        self.level += bool(kept)
        return bool(kept)

    def _check(self, base: TreeNode) -> None:
        """Add BC nodes for a working block.

        The rarest mutants of this tree come first; siblings differ.
        """
        parent, times = self.nodes[base.parent or 0], self.ground.options.times_bc
        there = {(node.block, node.call) for node in self._below(parent)}
        made = negatives(self.ground, base) if times else ()
        new = [each for each in made if (each.block.number, each.mutant.call.written) not in there]
        new.sort(key=lambda each: self._checked[each.equivalence, each.mutant.new])
        # A library checks a layer's arguments the same way, no matter which layers come before it.
        most = self.ground.options.same_check
        for child in new[:times]:
            if not most or self._checked[child.equivalence, child.mutant.new] < most:
                self._grow(child, parent, base.number)

    def _below(self, parent: TreeNode) -> list[TreeNode]:
        """Return the children of a node of the level above."""
        return [self.nodes[number] for number in self._children[parent.number]]

    def _grow(self, child: Child, parent: TreeNode, base: int | None = None) -> None:
        mutant = child.mutant
        node = TreeNode(
            number=len(self.nodes),
            parent=parent.number,
            level=parent.level + 1,
            block=child.block.number,
            api=mutant.call.api,
            call=mutant.call.written,
            operator=mutant.operator,
            parameter=mutant.parameter,
            old=mutant.old,
            new=mutant.new,
            line=child.block.line,
            positive=mutant.positive,
            base=base,
            equivalence=child.equivalence,
        )
        self._add(node)
        self._checked[node.equivalence, node.new] += not node.positive
        self._levels[node.level].append(node.number)
        self._children[parent.number].append(node.number)
        self._waiting.append(node.number)

    def _add(self, node: TreeNode) -> None:
        self.nodes.append(node)
        self._changed[node.number] = None

    def _change(self, node: TreeNode) -> None:
        self.nodes[node.number] = node
        self._changed[node.number] = None
