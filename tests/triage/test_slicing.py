"""Tests of slicing: statements that the last statement depends on stay, and further statements may go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.triage.reduce import slice_of, sliced

STATEMENTS = {
    "another statement": ("x = 1", "y = 2"),
    "what was given another value since": ("x = 0", "x = 1"),
    "what a statement calls without keeping what comes of it": ("x = 1", "y = 2\ny.append(3)"),
    "what a module is told": ("x = 1", "import lib\nlib.flags.lazy = 0"),
}
NEEDED = {
    "what is read": "y = 1\nx = y",
    "an object that is set": "layer = Layer()\nlayer.weight = 2\nx = layer(3)",
    "an element that is set": "x = [0]\nx[0] = 1",
    "an object that is told something": "x = []\nx.append(1)",
    "what is done in a block": "x = Layer()\nwith lib.no_grad():\n    x.weight.copy_(w)",
    "a function's body": "y = 1\ndef f(z):\n    return y + z\nx = f(2)",
    "both of a pair": "y = (1, 2)\nx, z = y",
    "what is added": "x = 1\nx += 2",
}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_does_not_depend_on(kind: str) -> None:
    needed, other = STATEMENTS[kind]
    if kind.startswith("what was"):
        assert slice_of(f"{needed}\n{other}\nassert x") == (other, "assert x")
    else:
        assert slice_of(f"{other}\n{needed}\nassert x") == (needed, "assert x")


@pytest.mark.parametrize("kind", NEEDED)
def test_depends_on(kind: str) -> None:
    assert "\n".join(slice_of(f"{NEEDED[kind]}\nassert x")) == f"{NEEDED[kind]}\nassert x"


def test_layout_does_not_count_and_no_program_depends_on_nothing() -> None:
    assert slice_of("x  =  1  # one\n\n\nassert   x") == slice_of("x = 1\nassert x")
    assert slice_of("x = (") == slice_of("") == ()


@given(st.lists(st.sampled_from(["a = b", "b = 1", "c = a + b", "c.d = a", "d = c", "print(d)"]), max_size=8))
def test_the_slice_is_its_own_slice(statements: list[str]) -> None:
    kept = slice_of("\n".join([*statements, "assert a or c"]))
    assert slice_of("\n".join(kept)) == kept


def test_what_is_left_keeps_its_imports_and_its_layout() -> None:
    program = "import a\nx  = a.b()  # one\ny = [\n    1,\n]\n\n# two\nprint(x)\n"
    assert sliced(program) == "import a\nx  = a.b()  # one\n\n# two\nprint(x)\n"
    assert sliced("x = (") == "x = ("
    assert sliced("x = 1; y = 2\na = 3; b = 4\nprint(x)\n") == "x = 1; y = 2\nprint(x)\n"
