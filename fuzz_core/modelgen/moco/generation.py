"""The children of a node: the block of the next level, original or mutated, fitted to its input."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.moco.adaptation import as_written, fitted
from fuzz_core.modelgen.moco.block_test import described
from fuzz_core.modelgen.moco.calls import parsed
from fuzz_core.modelgen.moco.facts import Facts, Knowledge
from fuzz_core.modelgen.moco.names import ModuleNames
from fuzz_core.modelgen.moco.nodes import CHECKED, GENERATED, ORIGINAL, REPLACED, Arrival, TreeNode
from fuzz_core.modelgen.moco.operators import Mutant, Taste, checks, generated, replaced
from fuzz_core.modelgen.moco.program import INPUT, Block, Call, Program
from fuzz_core.modelgen.moco.selection import equivalence, sample

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
    return parsed(node.call, node.api, block.call.applied)


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
