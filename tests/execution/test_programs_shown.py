"""Tests of the outcomes that a program has in each mode, and of the verdicts on them."""

from __future__ import annotations

from math import inf, nan

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.execution.replay import COMPILED, DOUBLED, TRAINING, is_lost, shown, verdicts_on
from fuzz_core.ir.outcome import Outcome
from fuzz_core.oracles.crash import PROGRAM
from fuzz_core.worker.programs_ran import CompiledUse, ProgramResult

WELL = ProgramResult(Outcome("ok"), losses=(0.5,), burst=True)
DOUBLE = WELL._replace(scales=(0.01, 3.0))
FELL = ProgramResult(
    Outcome("exception", "TypeError", "no"), 3, 1, "use", "expression", ("f (/e/lib/site-packages/torch/f.py:3)",) * 9
)


def judged(ran: ProgramResult, double: ProgramResult | None = None) -> list[tuple[str, str]]:
    found = verdicts_on(ran, dialect_of("torch"), double)
    assert {verdict.mode for verdict, _ in found} <= {*shown(ran, double)}
    return [(verdict.oracle, verdict.kind) for verdict, _ in found]


def test_what_falls_out_of_the_library_is_an_internal_error_with_its_innermost_places() -> None:
    assert judged(FELL) == [("crash", "internal-error")]
    assert shown(FELL)[PROGRAM].frames == ("f (torch/f.py:3)",) * 5


@pytest.mark.parametrize("how", ["", "raise", "assert", "call", "program"])
def test_what_somebody_meant_to_raise_is_nothing(how: str) -> None:
    assert judged(FELL._replace(how=how)) == []


@pytest.mark.parametrize(
    ("compiled", "differs"),
    [
        (None, False),
        (CompiledUse(0.0), False),
        (CompiledUse(0.0, "Unsupported: no"), False),
        (CompiledUse(99.0), False),
        (CompiledUse(101.0, "", 0.5), True),
        (CompiledUse(inf, "", 0.0), True),
        (CompiledUse(500.0, "", 10.0), False),
        (CompiledUse(inf, "", inf), False),
        (CompiledUse(nan, "", 0.0), False),
    ],
)
def test_a_compiled_model_differs_by_more_than_rounding(compiled: CompiledUse | None, differs: bool) -> None:
    found = judged(WELL._replace(compiled=compiled))
    assert found == ([("differential", "wrong-result")] if differs else [])
    assert not differs or COMPILED in shown(WELL._replace(compiled=compiled))


@pytest.mark.parametrize(
    ("refused", "kind"),
    [
        ("Unsupported: not yet", []),
        ("TypeError: no", []),
        ("RuntimeError: x INTERNAL ASSERT FAILED at f.cpp:7", [("crash", "internal-error")]),
        ("UnboundLocalError: cannot access local variable 'x'", [("crash", "internal-error")]),
    ],
)
def test_of_what_a_compiler_refuses_internal_errors_are_told(refused: str, kind: list[tuple[str, str]]) -> None:
    assert judged(WELL._replace(compiled=CompiledUse(0.0, refused))) == kind


def test_what_the_result_depends_on_has_a_gradient() -> None:
    ran = WELL._replace(untrained=("conv.weight", "conv.bias"))
    assert judged(ran) == [("differential", "wrong-gradient")]
    assert shown(ran)[TRAINING].text.endswith("\nconv.weight, conv.bias")


@pytest.mark.parametrize(
    ("single", "double", "is_told"),
    [
        (WELL, DOUBLE, False),
        (WELL._replace(losses=(nan,)), DOUBLE, True),
        (WELL._replace(losses=(inf,)), DOUBLE, True),
        (WELL._replace(losses=(nan,)), DOUBLE._replace(losses=(nan,)), False),
        (WELL._replace(losses=(nan,)), DOUBLE._replace(losses=()), False),
        (WELL._replace(losses=(nan,)), DOUBLE._replace(scales=(0.01, 300.0)), False),
        (WELL._replace(losses=(nan,)), DOUBLE._replace(scales=(1e-20, 3.0)), False),
        (WELL._replace(losses=(nan,)), DOUBLE._replace(scales=(0.0, 0.0)), False),
        (WELL._replace(losses=(nan,)), DOUBLE._replace(outcome=Outcome("oom")), False),
        (WELL._replace(losses=(nan,), burst=False), DOUBLE, False),
        (FELL._replace(how="raise", losses=(nan,)), DOUBLE, False),
    ],
)
def test_single_precision_alone_loses_numbers_that_it_has_room_for(
    single: ProgramResult, double: ProgramResult, is_told: bool
) -> None:
    assert judged(single, double) == ([("nonfinite", "nonfinite")] if is_told else [])
    assert judged(single) == []
    assert not is_told or (is_lost(single) and DOUBLED in shown(single, double))
