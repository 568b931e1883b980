"""Partially ordered relations of operators (definition 2): which follow which in programs, and which may by review."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.flow import followings, plain
from fuzz_core.modelgen.gandalf.naming import api_of
from fuzz_core.modelgen.gandalf.table import Library, Operator, Spelling
from fuzz_core.modelgen.moco.knowledge.file import parsed

REVIEWED = Path(__file__).with_name("reviewed.yaml")
MINED = Path(__file__).with_name("mined.yaml")
# How often a call follows another one, by the plain names of both.
Pairs = Mapping[tuple[str, str], int]


class Seen(NamedTuple):
    """times: how often a pair stands in programs. programs: in which, in order; of shipped data, the library."""

    times: int
    programs: tuple[str, ...]


@dataclass(frozen=True)
class Order:
    """mined: what follows an operator in programs. families: which families follow one, by review."""

    mined: Mapping[str, Mapping[str, Seen]] = field(default_factory=dict)
    families: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def among(self, before: Operator, candidates: Sequence[Operator]) -> Sequence[Operator]:
        """Returns the candidates that `named` gives, or all candidates if there are none."""
        return self.named(before, candidates) or candidates

    def named(self, before: Operator, candidates: Sequence[Operator]) -> Sequence[Operator]:
        """Returns the candidates that a production rule names.

        These are the candidates that follow the operator in programs, or the reviewed ones if there are none.
        """
        seen, reviewed = self.mined.get(before.name, {}), self.families.get(before.family, ())
        return [each for each in candidates if each.name in seen] or [
            each for each in candidates if each.family in reviewed
        ]


def mined(programs: Iterable[tuple[str, Pairs]], table: Mapping[str, Operator]) -> dict[str, dict[str, Seen]]:
    """Counts which operators of a table follow each other in programs.

    A call stands for every operator that it spells completely: `conv2d` for the operator with a bias and the one
    without.

    Args:
        programs: the name and the pairs of each program.
    """
    meant: dict[str, list[str]] = {}
    for operator in table.values():
        for name in names_of(operator):
            meant.setdefault(name, []).append(operator.name)
    found: dict[str, dict[str, Seen]] = {}
    for program, pairs in programs:
        for (one, next_), count in pairs.items():
            for before in meant.get(one, ()):
                for after in meant.get(next_, ()):
                    times, where = found.setdefault(before, {}).get(after, Seen(0, ()))
                    found[before][after] = Seen(times + count, where if program in where else (*where, program))
    return found


def names_of(operator: Operator) -> set[str]:
    """Returns the plain names that calls of this operator have in programs of any library.

    These are its own name and the apis that spell it completely.
    """
    spelled = operator.spelled.items()
    apis = {plain(api_of(each, library)) for library, each in spelled if _is_all(each)}
    return {plain(operator.name), *apis}


def reviewed(path: Path = REVIEWED) -> dict[str, frozenset[str]]:
    """Which families follow which. Raises UserError where the file is not of that form."""
    data = parsed(path.read_text(encoding="utf-8"), path.name)
    if not isinstance(data, dict) or not all(isinstance(each, list) for each in data.values()):
        raise UserError(f"{path.name}: lists of families, by family", "name those that may follow it")
    return {family: frozenset(each) for family, each in data.items()}


@cache
def pairs_of(source: str) -> Pairs:
    """The pairs of calls in the text of a program; none in what is no Python."""
    try:
        return Counter(followings(source))
    except (SyntaxError, ValueError, RecursionError):
        return {}


def recorded(libraries: Iterable[Library]) -> Iterator[tuple[str, Pairs]]:
    """Yields each library with the recorded pairs of its model programs."""
    data = parsed(MINED.read_text(encoding="utf-8"), MINED.name)
    for library in libraries:
        followers = data[library].items()
        yield library, {(one, next_): count for one, each in followers for next_, count in each.items()}


def _is_all(spelling: Spelling) -> bool:
    """Whether its expression is one call of an api, or of a layer that was made before, and an element of that."""
    (statement,) = templates.parsed(spelling.call).body
    node = statement.value if isinstance(statement, ast.Expr) else None
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call):
        return False
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)]
    return len(calls) == (0 if isinstance(node.func, ast.Name) else 1)
