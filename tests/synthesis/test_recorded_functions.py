"""Knowledge of recorded calls: functions as arguments, and texts and objects that other calls make."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakelib_plans import NO_SPACE

from fuzz_core.adapters.base import Adapter, adapter_of
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import dumps, encode
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import Product, SignatureParameter
from fuzz_core.ir.values import Invocation, Ref, Then, Value, prim
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


def knowing(folder: Path, adapter: Adapter, calls: list[Invocation], *uncalled: str) -> RecordedCalls:
    """Returns the knowledge of calls of functions of different names; of further functions no call is known."""
    rows = [(number, call.api, dumps(call)) for number, call in enumerate(calls, 1)]
    write_plan(folder / "plan", Header("fakelib", 0, [], [], {}, NO_SPACE), rows)
    names = [*(call.api for call in calls), *uncalled]
    return RecordedCalls(Plan(folder / "plan"), adapter, [Listed(Api(name, "function"), None, None) for name in names])


def test_a_description_names_the_call_that_makes_the_argument(tmp_path: Path) -> None:
    column, pool = (
        Invocation("fakelib.numeric_column", (prim("price"),)),
        Invocation("fakelib.Pool", (), (), Then("go")),
    )
    feature = Invocation("fakelib.FixedFeature", (prim(1),), (), Then("shape"))
    known = knowing(tmp_path, adapter_of("fakelib"), [column, pool, feature])
    for text, made in {
        "A column that `numeric_column` makes.": {column},
        "Pool is a word that many sentences begin with.": set[Invocation](),
        "A `FixedFeature` or a missing_feature.": {feature._replace(then=None)},
    }.items():
        assert {each.call for each in known.makers("fakelib.f", SignatureParameter("x", text=text))} == made


def test_a_name_with_the_word_gets_what_the_adapter_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, made = adapter_of("fakelib"), Invocation("fakelib.Dataset.range", (prim(3),))
    monkeypatch.setattr(adapter, "objects", lambda: {"dataset": [made]})
    known = knowing(tmp_path, adapter, [])
    for name, wanted in {"choice_dataset": [made], "datasets": [made], "rate": [], "index": []}.items():
        assert [each.call for each in known.makers("fakelib.f", SignatureParameter(name))] == wanted


def test_what_reads_a_text_gets_the_texts_of_apis_with_a_word_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = adapter_of("fakelib")
    monkeypatch.setattr(adapter, "makes", lambda entry: [Product("string")])
    calls = [Invocation(f"fakelib.{name}") for name in ("encode_wav", "as_text")]
    known = knowing(tmp_path, adapter, calls)
    contents = SignatureParameter("contents", "tensor", dtypes=("string",))
    assert {maker.call for maker in known.makers("fakelib.decode_wav", contents)} == {calls[0]}
    assert not known.makers("fakelib.decode_png", contents)


def test_an_argument_with_the_name_of_an_output_gets_this_output_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The type of a variant does not say what it is."""
    adapter = adapter_of("fakelib")
    second = Then("__getitem__", (prim(1),))
    products = {
        "fakelib.begin": [Product("variant", name="handle"), Product("variant", second, "deleter")],
        "fakelib.lock": [Product("variant", name="lock")],
        "fakelib.Holder": [Product("resource")],
    }
    monkeypatch.setattr(adapter, "makes", lambda entry: products[entry.api.name])
    begin, holder = Invocation("fakelib.begin"), Invocation("fakelib.Holder")
    known = knowing(tmp_path, adapter, [begin, holder], "fakelib.lock")

    def makers(name: str, kind: str) -> list[Invocation]:
        wanted = SignatureParameter(name, "object", dtypes=(kind,))
        return list(dict.fromkeys(maker.call for maker in known.makers("fakelib.end", wanted)))

    assert makers("deleter", "variant") == [begin._replace(then=second)]
    assert makers("lock", "variant") == []  # no call of its api is known
    assert makers("input_dataset", "variant") == [begin, begin._replace(then=second)]
    assert makers("handle", "resource") == [holder]
