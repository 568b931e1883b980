"""Tests that one table holds the kinds of verdicts, and that no module keeps a second table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import fuzz_core
from fuzz_core.ir.errors import CodecError
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.oracles.kinds import CHANGES, GRADES, KINDS, OUTSIDE, check_kind, kind_of
from nightfuzz.reports.results import Kind

ROOT = Path(fuzz_core.__file__).parents[1]
ROOMS = ("fuzz_core", "bot", "reports")


def tables(source: str) -> Iterator[int]:
    """Yields the lines of literals that hold kinds: two kinds of one build, or all kinds of two builds.

    Some oracles are named like their kinds: names of oracles alone are no kinds. The types of a document are checked
    with the table below.
    """
    tree = ast.parse(source)
    types = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    for node in ast.walk(tree):
        held = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", None)
        if held is None or id(node) in types:
            continue
        words = {each.value for each in held if isinstance(each, ast.Constant)} & KINDS.keys()
        if (len(words - {*CHANGES}) > 1 and not words <= ORACLES.keys()) or words >= {*CHANGES}:
            yield node.lineno


def test_nobody_keeps_a_second_table() -> None:
    table = ROOT / "fuzz_core" / "oracles" / "kinds.py"
    # The labels that the tracker of a library has for kinds stand in its profile.
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if path != table and path.name != "profile.py"
        for line in tables(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source, second",
    [
        ('{"crash": 3, "hang": 10}', True),
        ('kind in ("crash", "internal-error")', True),
        ('["regression", "changed", "fixed"]', True),
        ('oracle in ("crash", "bounds")', False),
        ('("regression", "new api", "pre-existing", "fixed")', False),
        ('Literal["regression", "changed", "fixed"]', False),
    ],
)
def test_a_second_table_would_be_seen(source: str, second: bool) -> None:
    assert bool([*tables(source)]) == second


def test_what_depends_on_a_kind_is_told_of_each() -> None:
    assert [name for name, kind in KINDS.items() if name != kind.name or kind.oracle not in ORACLES] == []
    assert {kind.grade for kind in (*KINDS.values(), OUTSIDE)} < {*GRADES}
    assert [kind.name for kind in KINDS.values() if not kind.expected] == [*CHANGES]
    assert get_args(Kind) == CHANGES


def test_a_kind_that_our_oracles_do_not_know_is_refused_and_others_have_their_own() -> None:
    with pytest.raises(CodecError, match="'won' of crash"):
        check_kind("crash", "won")
    check_kind("mine", "won")
    assert kind_of("won") == OUTSIDE
