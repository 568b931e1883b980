"""Tests of queries for some invocations of some apis: the database gives the same rows as reading all invocations."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.values import Invocation, Then, prim
from fuzz_core.store.records import SeedRecord, TargetRecord
from fuzz_core.store.statefile import open_store

PART = '["__call__",['
CALLS = st.lists(
    st.builds(
        lambda api, number, applied: Invocation(api, (prim(number),), (), Then("__call__", ()) if applied else None),
        st.sampled_from(["a.B", "a.C", "a.d%", "a.'"]),
        st.integers(0, 30),
        st.booleans(),
    ),
    unique=True,
    max_size=25,
)


@examples(30)
@given(CALLS, st.sets(st.sampled_from(["a.B", "a.d%", "a.'", "none"])), st.integers(1, 4), st.data())
def test_samples_are_the_first_of_each_api(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Invocation], apis: set[str], most: int, data: st.DataObject
) -> None:
    path: Path = tmp_path_factory.mktemp("samples") / "state.db"
    with open_store(path) as store:
        store.save_target(TargetRecord("t", "t", "lib", "1", "python"))
        expected = data.draw(st.lists(st.sampled_from(["ok", "exception"]), min_size=len(calls), max_size=len(calls)))
        store.save_trace("t", SeedRecord("s", "docs", "s", "ok"), list(zip(calls, expected, strict=True)), {}, {})
        bodies = store.bodies("t")
        store.set_validity("t", ((body.id, data.draw(st.sampled_from(("ok", "exception"))), "") for body in bodies))
        working = [body for body in store.bodies("t") if body.valid and body.expected == "ok"]
        assert store.apis_with("t", PART) == {body.api for body in working if PART in body.body}
        wanted = []
        for api in sorted(apis):
            own = sorted((body for body in working if body.api == api), key=lambda body: PART not in body.body)
            wanted += [(body.id, body.api, body.body) for body in own[:most]]
        assert list(store.samples("t", apis, PART, most)) == wanted
        assert store.apis_with("other", PART) == set() and list(store.samples("other", apis, PART, most)) == []
