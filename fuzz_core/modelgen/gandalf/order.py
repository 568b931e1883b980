"""The partial order of operators (definition 2): successors in programs, and successors by review."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.flow import comparable_name, followings
from fuzz_core.modelgen.gandalf.public_names import api_of
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling
from fuzz_core.modelgen.moco.knowledge.file import parsed

REVIEWED = Path(__file__).with_name("reviewed.yaml")
MINED = Path(__file__).with_name("mined.yaml")
# How often a call follows another one, by the comparable names of both.
Pairs = Mapping[tuple[str, str], int]


class PairCount(NamedTuple):
    """Occurrences of a pair in programs."""

    times: int  # how often the pair occurs
    programs: tuple[str, ...]  # the names of the programs, in order; for shipped data, the library


@dataclass(frozen=True)
class Order:
    """The successors of operators."""

    # The operators that follow an operator in programs.
    mined: Mapping[str, Mapping[str, PairCount]] = field(default_factory=dict)
    families: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the families that follow a family, by review

    def among(self, before: Operator, candidates: Sequence[Operator]) -> Sequence[Operator]:
        """Return the candidates that `named` gives, or all candidates if there are none."""
        return self.named(before, candidates) or candidates

    def named(self, before: Operator, candidates: Sequence[Operator]) -> Sequence[Operator]:
        """Return the candidates that a production rule names.

        A rule names the operators that follow `before` in programs, or the reviewed families if no such operator is a
        candidate.
        """
        seen, reviewed = self.mined.get(before.name, {}), self.families.get(before.family, ())
        return [each for each in candidates if each.name in seen] or [
            each for each in candidates if each.family in reviewed
        ]


def mined(programs: Iterable[tuple[str, Pairs]], table: Mapping[str, Operator]) -> dict[str, dict[str, PairCount]]:
    """Count which operators of a table follow each other in programs.

    A call stands for every operator that it spells completely: `conv2d` for the operator with a bias and the one
    without.

    Args:
        programs: the name and the pairs of each program.
    """
    meant: dict[str, list[str]] = {}
    for operator in table.values():
        for name in call_names(operator):
            meant.setdefault(name, []).append(operator.name)
    found: dict[str, dict[str, PairCount]] = {}
    for program, pairs in programs:
        for (one, next_), count in pairs.items():
            for before, after in product(meant.get(one, ()), meant.get(next_, ())):
                times, where = found.setdefault(before, {}).get(after, PairCount(0, ()))
                found[before][after] = PairCount(times + count, where if program in where else (*where, program))
    return found


def call_names(operator: Operator) -> set[str]:
    """Return the comparable names that calls of this operator have in programs of any library.

    An operator has its own name, and the names of the apis that spell it completely.
    """
    spelled = operator.spelled.items()
    apis = {comparable_name(api_of(each, library)) for library, each in spelled if _is_all(each)}
    return {comparable_name(operator.name), *apis}


def reviewed(path: Path = REVIEWED) -> dict[str, frozenset[str]]:
    """Read which families follow which.

    Raises:
        UserError: the file has another form.
    """
    data = parsed(path.read_text(encoding="utf-8"), path.name)
    if not isinstance(data, dict) or not all(isinstance(each, list) for each in data.values()):
        raise UserError(
            f"{path.name} does not map each family to a list of families",
            "write for each family: NAME: [the families that may follow]",
        )
    return {family: frozenset(each) for family, each in data.items()}


@cache
def pairs_of(source: str) -> Pairs:
    """Return the pairs of calls in the text of a program; none if it is no Python."""
    try:
        return Counter(followings(source))
    except (SyntaxError, ValueError, RecursionError):
        return {}


def recorded(libraries: Iterable[Library]) -> Iterator[tuple[str, Pairs]]:
    """Yield each library with the recorded pairs of its model programs."""
    data = parsed(MINED.read_text(encoding="utf-8"), MINED.name)
    for library in libraries:
        followers = data[library].items()
        yield library, {(one, next_): count for one, each in followers for next_, count in each.items()}


def _is_all(spelling: Spelling) -> bool:
    """Return whether the expression is a single call of an api or of a layer made before, or an element of it.

    A statistic of a layer made before, as `layer.running_mean`, is a result of that layer's call.
    """
    (statement,) = templates.parsed(spelling.call).body
    node = statement.value if isinstance(statement, ast.Expr) else None
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id in templates.assigned(spelling.setup)
    if not isinstance(node, ast.Call):
        return False
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)]
    return len(calls) == (0 if isinstance(node.func, ast.Name) else 1)
