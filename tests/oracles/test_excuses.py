"""Tests that one table names the excuses, and that no second place decides that a difference is harmless."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fuzz_core
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, prim
from fuzz_core.worker import excuses
from fuzz_core.worker.evidence import BUILDS, MEMORY, MODES, REFUSAL
from fuzz_core.worker.excuses import EXCUSES, Excuse, find_excuse

ROOT = Path(fuzz_core.__file__).parent
TABLE = Path(excuses.__file__)
# The module with the facts that excuses use.
FACTS = "fuzz_core.worker.nearby"
# The checks of the table, and the modules with checks that it names.
CHECKS = (TABLE, *(TABLE.with_name(name) for name in ("domains.py", "refusals.py", "scale.py")))
# Names that other tables use too: a kind of mutation rule, and a script in the comparison of builds.
AMBIGUOUS = {"random"}
PACKAGES = ("worker", "oracles", "campaign", "execution", "triage", "adapters")


class RelationEvidence:
    """Evidence that knows its relation alone."""

    case = TestCase(Invocation("a.b", (prim(1),)), 1)
    is_random = False

    def __init__(self, relation: str) -> None:
        self.relation = relation


def modules() -> Iterator[Path]:
    return (path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path != TABLE)


def texts(path: Path) -> Iterator[str]:
    """Yields the string literals of a module, without oracles' examples and builders' refusals to make a call."""
    tree = ast.parse(path.read_text())
    refusals = (
        each for each in ast.walk(tree) if isinstance(each, ast.Call) and ast.unparse(each.func) == "BuildError"
    )
    examples = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == "examples")
    quoted = {id(node) for each in (*refusals, *examples) for node in ast.walk(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quoted:
            yield node.value


def test_only_the_table_names_an_excuse() -> None:
    names = {excuse.name for excuse in EXCUSES} - AMBIGUOUS
    found = {(str(path.relative_to(ROOT)), text) for path in modules() for text in texts(path) if text in names}
    assert found == set()


def test_only_excuses_look_at_the_numbers_of_a_test_case_and_change_them() -> None:
    """A second place that decides what is harmless would need the same facts."""
    found = {
        (str(path.relative_to(ROOT)), node.module)
        for path in ROOT.rglob("*.py")
        if path not in CHECKS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == FACTS
    }
    assert found == set()


def test_every_excuse_applies_to_known_relations_and_every_relation_has_one() -> None:
    known = {*MODES, *BUILDS, MEMORY, REFUSAL}
    assert {relation for excuse in EXCUSES for relation in excuse.relations} == known


@pytest.mark.parametrize("relation", ["values", "finite"])
def test_the_first_excuse_of_the_relation_that_applies_is_the_reason(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def row(name: str, applies: bool, *relations: str) -> Excuse:
        return Excuse(name, relations, lambda _: asked.append(name) or applies)

    table = (row("a", True, "shape"), row("b", False, "values"), row("c", True, "values"), row("d", True, "values"))
    monkeypatch.setattr(excuses, "EXCUSES", table)
    excuse = find_excuse(RelationEvidence(relation))
    assert excuse == (table[2] if relation == "values" else None)
    assert asked == (["b", "c"] if relation == "values" else [])


@pytest.mark.parametrize("relation", [*MODES, MEMORY, REFUSAL, *BUILDS])
def test_a_difference_on_a_tensor_that_no_memory_holds_is_excused_without_its_elements(relation: str) -> None:
    """The evidence has no result and no elements, so that another check would raise."""
    evidence = RelationEvidence(relation)
    evidence.case = TestCase(Invocation("a.b", (Tensor("float32", (2**31, 1), Fill(), strides=(0, 0)),)), 1)
    found = find_excuse(evidence)  # type: ignore[arg-type]
    assert found is not None and found.name == "larger than memory"
