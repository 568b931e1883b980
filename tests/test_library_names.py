"""Library names: one table holds them, and other code compares with none of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from fuzz_core.adapters.library import KNOWN_LIBRARIES

ROOT = Path(__file__).parents[1]
# Exceptions: the table itself; generators of models, whose subject is libraries; and model programs, which are data.
APART = ("fuzz_core/adapters/", "fuzz_core/modelgen/", "fuzz_core/programs/")
EXAMPLES = "examples"
# Names of packages that equal a library's name: the layout of its models, Keras's public names, a fact of a target.
PACKAGES = {
    ("fuzz_core/collect/programs.py", "keras"),
    ("fuzz_core/collect/programs.py", "jittor"),
    ("fuzz_core/collect/names.py", "keras"),
    ("fuzz_core/targets/facts.py", "keras"),
}
NAMES = {
    name
    for each in KNOWN_LIBRARIES.values()
    for name in (each.name, each.nightly, *each.distributions, *each.followers, *each.conda, *each.roots)
} - {""}


def _literals(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef) and node.name == EXAMPLES:
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from _literals(child)


def test_no_library_is_named_outside_the_table() -> None:
    named = {
        (where, text)
        for folder in ("fuzz_core", "bot", "reports")
        for path in (ROOT / folder).rglob("*.py")
        if not (where := path.relative_to(ROOT).as_posix()).startswith(APART)
        for text in _literals(ast.parse(path.read_text()))
        if text in NAMES
    }
    assert named == PACKAGES


def test_adapters_know_each_other_by_the_table_alone() -> None:
    """Shared modules of the adapters name no library; the packages of the libraries may name their own."""
    shared = [path for path in (ROOT / "fuzz_core/adapters").glob("*.py") if path.name != "library.py"]
    named = {(path.name, text) for path in shared for text in _literals(ast.parse(path.read_text())) if text in NAMES}
    assert named == set()
