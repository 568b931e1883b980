"""Tests that a bug judged false is written as a line of the labelled set that is read as the same call."""

from __future__ import annotations

from pathlib import Path

import cases
import pytest
from benign_tensorflow import CASES as TENSORFLOW
from benign_torch import CASES as TORCH
from cases import Case

from fuzz_core.campaign.benign import add_case, case_line
from fuzz_core.ir.codec import dumps
from fuzz_core.ir.elements import elements
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.tree import with_tensors
from fuzz_core.ir.values import Fill, Invocation, Map, Prim, Slice, Tensor, TestCase

NAMES = {name: getattr(cases, name) for name in ("c", "case", "dtype", "k", "made", "named", "u")}
NAMES |= {"NAN": float("nan"), "INF": float("inf")}


def read(line: str) -> Case:
    """Returns the case of a line, as a file of the set has it."""
    found: Case = eval(line, NAMES)
    return found


def drawn(case: Case) -> str:
    """Returns the text of a call with the elements of its tensors, for any description of the tensors."""

    def change(tensor: Tensor) -> Tensor:
        return tensor._replace(fill=Fill("values", data=repr(elements(tensor).tolist()).encode()))

    return f"{case.reason} {dumps(with_tensors(case.call, change))}"


@pytest.mark.parametrize("written", [*TORCH, *TENSORFLOW], ids=lambda case: case.call.api)
def test_every_case_of_the_set_is_read_as_it_was_written(written: Case) -> None:
    assert drawn(read(case_line(TestCase(written.call, 0), written.reason))) == drawn(written)


def test_a_tensor_with_every_field_is_read_as_it_was_written() -> None:
    full = Tensor("float32", (2, 2), Fill("uniform", -1, 1, 3, special=float("nan")), "parameter", (1, 2), True)
    written = Case('it\'s "so"', Invocation("torch.f", (full,), (("x", Prim("float", float("-inf"))),)))
    assert drawn(read(case_line(TestCase(written.call, 0), written.reason))) == drawn(written)


def test_lines_join_the_file_once(tmp_path: Path) -> None:
    file = tmp_path / "benign_lib.py"
    for size in (1, 2, 1):
        add_case(file, TestCase(Invocation("lib.f", (Prim("int", size),)), 0), "a reason")
    inside: dict[str, tuple[Case, ...]] = {}
    exec(file.read_text(), inside)
    assert [case.call.args for case in inside["CASES"]] == [(Prim("int", 1),), (Prim("int", 2),)]


@pytest.mark.parametrize(
    "call",
    [
        Invocation("lib.f", (Map((("a", Prim("int", 1)),)),)),
        Invocation("lib.f", (Slice(Prim("int", 1), Prim("int", 2), Prim("none", None)),)),
        Invocation("lib.f", (Prim("ellipsis", None),)),
    ],
)
def test_what_the_set_cannot_spell_is_refused(call: Invocation) -> None:
    with pytest.raises(UserError, match="--benign cannot write"):
        case_line(TestCase(call, 0), "a reason")


def test_a_program_and_a_foreign_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a model program"):
        case_line(TestCase(Invocation("lib.f"), 0, program="import lib\n"), "a reason")
    (tmp_path / "other.py").write_text("print(1)\n")
    with pytest.raises(UserError, match="CASES"):
        add_case(tmp_path / "other.py", TestCase(Invocation("lib.f"), 0), "a reason")
