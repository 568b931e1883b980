"""Rules that make a finding of a program that does not crash: they look at its blocks, their inputs, and the mutation.

MoCo (2024) says that a program that fails although its blocks work is a bug. Most of its false positives are programs
whose blocks do not fit each other. So the block that a program fails in is executed once more, alone. Its input has the
shape and type that it got there. If it fails alone too, it does not take its input: a misfit. If it works, only the
library's own state between the two can have made the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.quotes import MODE, RuledOut
from fuzz_core.execution.replay import ACCEPTED
from fuzz_core.ir.constraints import KINDS
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.moco.facts import Facts, documented_constraints
from fuzz_core.modelgen.moco.nodes import (
    EXTREME,
    FINDING,
    MISFIT,
    OK,
    REFUSED,
    RESOURCES,
    ROOT,
    SKIPPED,
    SYNTAX,
    TRAINING,
    Arrival,
    TreeNode,
    kind,
    mutation_in_words,
    written,
)
from fuzz_core.modelgen.moco.program import Call, Program
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.worker.programs_ran import BlockTensors, ProgramResult, TensorKind

# Stands for a dimension that a library leaves open, as the number of samples.
OPEN = 2
# The number of working nodes for each that is compiled too. A compilation costs as much as seven programs, so that all
# compilations take a tenth of the time.
COMPARED_EVERY = 64
# Oracles whose verdict on a block alone makes its node a finding. All further oracles compare results of a block that
# works.
DECISIVE = ("crash", "bounds", "leak", "performance")
MAX_TEXT, MAX_WHY = 2000, 300
# Exceptions of Python for a name without a value, and for text that is not Python.
UNWRITTEN = ("NameError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError")

Verdicts = Sequence[tuple[Verdict, Outcome]]
Gave = Mapping[int, TensorKind | int | None]


def failing_block_input(ran: ProgramResult, call: Call) -> Arrival | None:
    """Return the input of the block that a program fails in; None if it was not one tensor of a known shape.

    A layer may get an unknown number of samples. A function of the library may not: it takes no symbol of a graph.
    """
    saw = BlockTensors() if ran.inside is None else ran.saw.get(ran.inside, BlockTensors())
    if saw.took is None or not saw.alone:
        return None
    known = saw.took.shape if call.applied else saw.took.shape[1:]
    return None if None in known else Arrival(with_known_sizes(saw.took.shape), saw.took.dtype)


def with_known_sizes(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    """Return a shape whose open dimensions have a size."""
    return tuple(OPEN if size is None else size for size in shape)


def block_results(ran: ProgramResult, numbers: tuple[int, ...]) -> Gave:
    """Return the results of these blocks, if they were used."""
    return {number: ran.saw[number].gave for number in numbers if number in ran.saw}


def state_alone(node: TreeNode, outcome: Outcome, verdicts: list[Verdict]) -> str | None:
    """Return the state of a node that its block alone decides; None if its program decides.

    A negative node is to be refused, and has no children in any state.
    """
    if any(verdict.oracle in DECISIVE for verdict in verdicts):
        return FINDING
    if is_starved(outcome) or outcome.kind == "timeout":
        return RESOURCES
    if outcome.kind == "ok":
        return None if node.positive else OK
    if outcome.kind == "skipped":
        return SKIPPED
    return MISFIT if node.positive else REFUSED


def state_whole(ran: ProgramResult, verdicts: Verdicts, halfway: bool = False) -> str:
    """Return the state of a node whose program does not run although its block does.

    If the program fails in another block, or halfway through the model, the result has a shape that does not fit there.
    If it fails outside of all blocks, the result does not fit how the model is trained.
    """
    if is_starved(ran.outcome) or any(verdict.kind == "hang" for verdict, _ in verdicts):
        return RESOURCES
    if verdicts:
        return FINDING
    if ran.outcome.name in UNWRITTEN:
        return SYNTAX
    return TRAINING if ran.inside is None and not halfway else MISFIT


def is_starved(outcome: Outcome) -> bool:
    """Return whether memory ran out; only the kernel sends SIGKILL here, when there is no memory left."""
    return outcome.kind == "oom" or (outcome.kind, outcome.name) == ("signal", "SIGKILL")


def verdicts_in_words(outcome: Outcome, verdicts: Iterable[tuple[Verdict, Outcome]] = ()) -> str:
    """Return the verdicts in words, and the outcome if it is not ok."""
    told = [written(verdict) for verdict, _ in verdicts]
    if outcome.kind != "ok":
        told.append(f"{outcome.kind} {outcome.name}: {outcome.text}")
    return "; ".join(told)[:MAX_WHY]


def is_drawn(seed: int, node: TreeNode) -> bool:
    """Return whether a node that works is among those that are examined in further modes."""
    return node.operator != ROOT and derive(seed, "compared", node.number) % COMPARED_EVERY == 0


def origin(
    program: Program,
    node: TreeNode,
    verdict: Verdict,
    inside: int | None = None,
    calls: Mapping[int, Call] = {},
    rules: Sequence[str] = (),
) -> str:
    """Return the origin of a finding: seed program, line, block, operator, parameter with both values, and its kind.

    Args:
        rules: the rules by which the block became an extreme value, if it is one.
    """
    where = f"{program.name}, line {node.line}, block {node.block}" if node.block is not None else program.name
    call = calls.get(-1 if inside is None else inside)
    fails = f"; it shows in block {inside}, {call.api}" if call is not None and inside != node.block else ""
    further = f"; EV: {', '.join(rules)}" if rules else ""
    result = kind(EXTREME if rules else node.operator, verdict)
    return f"{where}: {mutation_in_words(node)}{fails}{further} ({result})"[:MAX_TEXT]


def accepted(node: TreeNode, facts: Facts, program: str, alone: Outcome, dialect: Dialect) -> tuple[str, Verdicts]:
    """Return the script and the verdict about a program that ran although the value of its negative node is illegal.

    Args:
        alone: the outcome of the block alone.
    """
    parameter = facts.parameter(node.parameter)
    documented = documented_constraints(parameter, *KINDS) if parameter is not None else ()
    words = "; ".join(dict.fromkeys(" ".join(each.text.split()) for each in documented)).replace('"', "'")
    said = f'{node.parameter} = `{node.new}`, documented: "{words}" (documentation)'
    beside = "" if alone.kind == "ok" else f"; the call alone is refused with {alone.name or alone.kind}"
    outcome = Outcome("exception", RuledOut.__name__, said)
    verdict = oracle_of("bounds").judge({MODE: outcome}, dialect)
    ending = f"# The program should have been refused{beside}.\nraise AssertionError({f'{ACCEPTED}: {said}'!r})\n"
    return f"{program.rstrip()}\n{ending}", [(verdict, outcome)]
