"""The derivation tree, grown level by level: it hands out nodes to run and takes their results (section III-D)."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.generation import Child, Ground, TreeOptions, call_of, children, negatives, steps_of
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import OK, ORIGINAL, PENDING, ROOT, STATES, Result, TreeNode
from fuzz_core.modelgen.moco.program import Block, Call, Program
from fuzz_core.modelgen.moco.selection import survivors

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
