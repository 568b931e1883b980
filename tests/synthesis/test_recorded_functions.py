"""Knowledge of recorded calls: functions as arguments, and texts that other calls make."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakelib_plans import NO_SPACE

from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.catalogue import Api
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


def test_what_reads_a_text_gets_the_texts_of_apis_with_a_word_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = adapter_of("fakelib")
    monkeypatch.setattr(adapter, "makes", lambda entry: [("string", None)])
    calls = [Invocation(f"fakelib.{name}") for name in ("encode_wav", "as_text")]
    rows = [(number, call.api, dumps(call)) for number, call in enumerate(calls, 1)]
    write_plan(tmp_path / "plan", Header("fakelib", 0, [], [], {}, NO_SPACE), rows)
    listed = [Listed(Api(call.api, "function"), None, None) for call in calls]
    known = RecordedCalls(Plan(tmp_path / "plan"), adapter, listed)
    contents = SignatureParameter("contents", "tensor", dtypes=("string",))
    assert {maker.call for maker in known.makers("fakelib.decode_wav", contents)} == {calls[0]}
    assert not known.makers("fakelib.decode_png", contents)
