"""Negative nodes as MoCo judges them (2024, section III-A3): assembled, and by whether their programs run.

A program with an illegal value is to be refused, even if its block accepts the value alone. The script of a finding
ends with an assertion that a correct library never reaches.
"""

from __future__ import annotations

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.quotes import MODE, RuledOut
from fuzz_core.campaign.moco.judge import Verdicts
from fuzz_core.execution.replay import ACCEPTED
from fuzz_core.ir.constraints import KINDS
from fuzz_core.ir.outcome import Outcome
from fuzz_core.modelgen.moco.facts import Facts, documented_constraints
from fuzz_core.modelgen.moco.nodes import TreeNode
from fuzz_core.oracles.contract import oracle_of


def accepted(node: TreeNode, facts: Facts, program: str, alone: Outcome, dialect: Dialect) -> tuple[str, Verdicts]:
    """Return the script and the verdict about a program that ran although the value of its negative node is illegal.

    Args:
        alone: the outcome of the block alone.
    """
    said = f'{node.parameter} = `{node.new}`, documented: "{_words(node, facts)}" (documentation)'
    beside = "" if alone.kind == "ok" else f"; the call alone is refused with {alone.name or alone.kind}"
    outcome = Outcome("exception", RuledOut.__name__, said)
    verdict = oracle_of("bounds").judge({MODE: outcome}, dialect)
    ending = f"# The program should have been refused{beside}.\nraise AssertionError({f'{ACCEPTED}: {said}'!r})\n"
    return f"{program.rstrip()}\n{ending}", [(verdict, outcome)]


def _words(node: TreeNode, facts: Facts) -> str:
    """Return the words of the documentation on the parameter."""
    parameter = facts.parameter(node.parameter)
    if parameter is None:
        return ""
    words = [" ".join(each.text.split()) for each in documented_constraints(parameter, *KINDS)]
    return "; ".join(dict.fromkeys(words)).replace('"', "'")
