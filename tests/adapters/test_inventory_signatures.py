"""Tests of signatures as data: from live functions, and from the docstrings of functions without a signature."""

from __future__ import annotations

from typing import Any

import pytest

from fuzz_core.adapters.inventory import MAX_DEFINITION, definition, entry, parameters_in
from fuzz_core.ir.catalogue import ApiParameter

ANY = object()


def live(a, b=(1, "x,)"), /, *more, c=ANY, d: float = float("nan"), e=-0.5, **rest):  # type: ignore[no-untyped-def]
    """Does nothing."""


def test_a_live_signature_gives_names_defaults_and_what_is_required() -> None:
    assert definition("m.live", live)[1] == (
        ApiParameter("a"),
        ApiParameter("b", "(1, 'x,)')", False),
        ApiParameter("c", None, False, False),
        ApiParameter("d", None, False, False),
        ApiParameter("e", "-0.5", False, False),
    )
    listed = entry(["m.live"], live, None).api
    assert listed.params == ("a", "b") and len(listed.signature) == 5


def test_a_signature_is_whole_where_its_text_is_cut() -> None:
    space: dict[str, Any] = {}
    exec(f"def long({', '.join(f'name_{number}=0' for number in range(99))}): ...", space)
    text, parameters = definition("m.long", space["long"])
    assert len(text) == MAX_DEFINITION and parameters[-1] == ApiParameter("name_98", "0", False)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("input, *, out=None", [ApiParameter("input"), ApiParameter("out", "None", False, False)]),
        ("self, k=m.mean, /, x=f(1)", [ApiParameter("k", "m.mean", False), ApiParameter("x", None, False)]),
        ("start=0, end, step=1, *, out", [ApiParameter("start", "0", False), ApiParameter("end")]),
        ("x, p=<object at 0x1>", [ApiParameter("x"), ApiParameter("p", None, False)]),
        ("*args, **kwargs", []),
        ("", []),
    ],
)
def test_a_signature_in_a_docstring_is_read(inside: str, expected: list[ApiParameter]) -> None:
    assert list(parameters_in(inside))[: len(expected)] == expected
