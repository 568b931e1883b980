"""Rulings of the documentation: a broken rule always counts, a kept rule if prose covers every argument of the call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from fuzz_core.campaign.cases import documented
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.store.store import Store
from fuzz_core.triage.assess import DocumentationRuling

PROSE = Constraint("f", "axis", "minimum", (0,), "axis is not negative", "docstring")
DEFINED = PROSE._replace(source="op definition")
LISTED = PROSE._replace(kind="choices", bounds=("VALID",), argument="padding", text="'VALID' or 'SAME'")


def ruled(constraints: list[Constraint], *args: int | str, **kwargs: int | str) -> DocumentationRuling | None:
    api = SimpleNamespace(name="f", params=("axis", "padding"))
    store = cast(Store, SimpleNamespace(apis=lambda _: [api], constraints=lambda _: constraints))
    call = Invocation("f", tuple(map(prim, args)), tuple((name, prim(value)) for name, value in kwargs.items()))
    return documented(store, "t")(TestCase(call, 0))


def test_prose_about_every_argument_leaves_nothing_open() -> None:
    assert ruled([PROSE], 1) == DocumentationRuling(True, PROSE.text, "docstring")
    assert ruled([PROSE, LISTED], 1, padding="VALID") == DocumentationRuling(True, PROSE.text, "docstring")


@pytest.mark.parametrize("only", [DEFINED, PROSE._replace(source="annotation"), PROSE._replace(source="schema")])
def test_what_is_checked_before_any_kernel_proves_nothing(only: Constraint) -> None:
    found = ruled([only], 1)
    assert found is not None and (found.holds, found.untold) == (True, ("axis",))


def test_every_argument_needs_a_word() -> None:
    for found in (ruled([PROSE], 1, "VALID"), ruled([PROSE], axis=1, padding="VALID")):
        assert found is not None and found.untold == ("padding",)
    found = ruled([PROSE, LISTED], 1, "VALID", 3)
    assert found is not None and found.untold == ("further arguments",)


def test_what_is_broken_is_ruled_out_whoever_says_so() -> None:
    found = ruled([LISTED, DEFINED], -1, "VALID")
    assert found is not None and (found.holds, found.source) == (False, "op definition")
    assert ruled([], 1) is None
