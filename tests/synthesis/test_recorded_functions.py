"""Functions as arguments of a searched call: a value of the argument's name that is no function is left out."""

from __future__ import annotations

from pathlib import Path

from fakelib_plans import NO_SPACE

from fuzz_core.adapters.base import adapter_of
from fuzz_core.ir.codec import dumps, encode
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import SignatureParameter
from fuzz_core.ir.values import Invocation, Ref, Value
from fuzz_core.worker.knowledge import RecordedCalls
from fuzz_core.worker.plan import Header, Plan, write_plan

ADD, LARGEST, MISSING = (Ref("name", f"fakelib.{name}") for name in ("add", "LARGEST", "missing"))
FUNC = SignatureParameter("func", "function")


def drawn(folder: Path, seen: list[Value]) -> set[Value | None]:
    """Return what 200 draws give for the argument `func`, after calls with these values."""
    values = {"func": {"name": {"fakelib.scale": [encode(each) for each in seen]}}}
    calls = [Invocation("fakelib.scale", (each,)) for each in seen]
    rows = [(number, each.api, dumps(each)) for number, each in enumerate(calls, 1)]
    space = {**NO_SPACE, "values": values, "apis": ["fakelib.scale"]}
    write_plan(folder / "plan", Header("fakelib", 0, [], [], {}, space), rows)
    adapter = adapter_of("fakelib")
    adapter.load()
    known = RecordedCalls(Plan(folder / "plan"), adapter, [])
    rng = Rng(7)
    return {known.named(rng, "fakelib.scale", FUNC) for _ in range(200)}


def test_a_function_is_drawn_and_no_constant(tmp_path: Path) -> None:
    assert drawn(tmp_path, [ADD, LARGEST, MISSING]) == {ADD, None}


def test_no_value_is_drawn_if_none_is_a_function(tmp_path: Path) -> None:
    assert drawn(tmp_path, [LARGEST]) == {None}
