from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from statecases import ran
from store_values import KEY, SEED, TARGET, add, counted, invocations

from fuzz_core.ir import codec
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.signatures import SEARCH
from fuzz_core.ir.tree import fuzz_type
from fuzz_core.ir.values import Fill, Invocation, Map, Seq, Tensor, Then, prim
from fuzz_core.store import SeedRecord, Store, open_store
from fuzz_core.store.records import search_digest
from fuzz_core.store.traces import PAGE

shared = examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
expectations = st.sampled_from(["ok", "exception"])
counts = st.dictionaries(st.tuples(st.text(max_size=5), st.text(max_size=5)), st.integers(1, 9), max_size=3)


def everything(store: Store, key: str) -> tuple[Any, ...]:
    rows = [(row.digest, row.expected, row.valid) for row in store.invocations(key)]
    figures = [counted(store, key, table) for table in ("apis", "calls", "seeds")]
    figures += [counted(store, key, table, "SUM(count)") for table in ("undescribed", "dropped")]
    return rows, store.seeds(key), store.coverage(key), store.argument_space(key), figures


class DescribeSaveTrace:
    @given(found=st.lists(st.tuples(invocations, expectations), max_size=4), undescribed=counts, dropped=counts)
    @shared
    def test_what_is_saved_reads_back_equal_and_saving_again_changes_nothing(
        self, tmp_path: Path, found, undescribed, dropped
    ) -> None:
        # Each example has its own store: a store keeps the elements of an invocation's tensors once for all builds.
        with open_store(tmp_path / f"{len([*tmp_path.iterdir()])}.db") as store:
            store.save_target(TARGET)
            new = store.save_trace(KEY, SEED, found, undescribed, dropped)
            rows = {row.digest: row for row in store.invocations(KEY)}
            assert rows.keys() == {codec.digest(invocation) for invocation, _ in found}
            assert new == len(rows)
            for row in rows.values():
                same = [(i, e) for i, e in found if codec.digest(i) == row.digest]
                assert row.invocation in [invocation for invocation, _ in same]
                assert row.expected == ("ok" if ("ok" in [e for _, e in same]) else "exception")
            gaps = store.coverage(KEY)
            assert {(c.api, why): n for c in gaps for why, n in c.undescribed.items()} == undescribed
            assert {(c.api, why): n for c in gaps for why, n in c.dropped.items()} == dropped
            before = everything(store, KEY)
            assert store.save_trace(KEY, SEED, found, undescribed, dropped) == 0
            assert everything(store, KEY) == before

    def test_it_is_all_or_nothing(self, store: Store) -> None:
        before = everything(store, KEY)

        def broken():
            yield add(1), "ok"
            raise RuntimeError("the connection broke")

        with pytest.raises(RuntimeError):
            store.save_trace(KEY, SEED, broken(), {("a", "b"): 1}, {})
        assert everything(store, KEY) == before
        assert store.traced(KEY) == set()

    def test_a_seed_of_an_unknown_target_is_refused(self, store: Store) -> None:
        with pytest.raises(Exception, match="FOREIGN KEY"):
            store.save_trace("unknown", SEED, [], {}, {})

    def test_traced_seeds_are_known_by_digest_and_target(self, store: Store) -> None:
        store.save_target(TARGET._replace(key="another"))
        store.save_trace(KEY, SEED, [], {}, {})
        store.save_trace(KEY, SEED._replace(digest="d2", status="timeout"), [], {}, {})
        assert store.traced(KEY) == {"d1", "d2"}
        assert store.traced("another") == set()
        assert store.seeds(KEY) == [SEED, SEED._replace(digest="d2", status="timeout")]

    def test_calls_that_differ_in_elements_only_are_one_entry_from_two_seeds(self, store: Store) -> None:
        for number in (1, 2):
            tensor = Tensor("float32", (2,), Fill("constant", float(number)))
            found = [(Invocation("torch.abs", (tensor,)), "ok")]
            store.save_trace(KEY, SEED._replace(digest=f"d{number}"), found, {}, {})
        (row,) = store.invocations(KEY)
        assert isinstance(row.invocation.args[0], Tensor) and row.invocation.args[0].fill.low == 1.0
        assert store.coverage(KEY)[0].seeds == 2

    def test_an_error_input_that_another_seed_calls_fine_is_none(self, store: Store) -> None:
        bad, good = (Invocation("torch.abs", (Tensor("float32", (2,), Fill("constant", low)),)) for low in (1.0, 2.0))
        store.save_trace(KEY, SEED, [(bad, "exception")], {}, {})
        assert store.argument_space(KEY) == {}
        ran(store, KEY, (1, "exception", "RuntimeError"))
        assert store.save_trace(KEY, SEED._replace(digest="d2"), [(good, "ok")], {}, {}) == 1
        (row,) = store.invocations(KEY)
        assert (row.expected, row.valid, row.reason, row.invocation) == ("ok", None, "", good)
        assert store.save_trace(KEY, SEED, [(bad, "exception")], {}, {}) == 0
        assert next(store.invocations(KEY)).expected == "ok"

    def test_a_seed_traced_again_replaces_its_counts_and_links(self, store: Store) -> None:
        store.save_trace(KEY, SEED, [(add(1), "ok"), (add(2), "ok")], {("torch.add", "file"): 3}, {})
        store.save_trace(KEY, SEED, [(add(1), "ok")], {("torch.add", "file"): 1}, {("torch.sub", "too large"): 2})
        by_api = {c.api: c for c in store.coverage(KEY)}
        assert by_api["torch.add"].undescribed == {"file": 1}
        assert by_api["torch.sub"].dropped == {"too large": 2}
        assert len(list(store.invocations(KEY))) == 2


class DescribeInvocations:
    def test_they_come_in_order_page_by_page_while_others_write(self, store: Store) -> None:
        store.save_trace(KEY, SEED, ((add(n), "ok") for n in range(PAGE + 7)), {}, {})
        seen = []
        for row in store.invocations(KEY, unchecked=True):
            seen.append(row.invocation)
            store.set_validity(KEY, [(row.id, ("exception", "ok")[row.id % 2 == 0], "odd")])
        assert seen == [add(n) for n in range(PAGE + 7)]

    def test_filters(self, store: Store) -> None:
        found = [(add(1), "ok"), (add(2), "ok"), (add(3, api="torch.sub"), "ok")]
        store.save_trace(KEY, SEED, found, {}, {})
        ran(store, KEY, (1, "ok", ""), (2, "exception", "ValueError: \ud800"))
        assert [row.invocation for row in store.invocations(KEY, "torch.add")] == [add(1), add(2)]
        assert [row.invocation for row in store.invocations(KEY, valid=True)] == [add(1)]
        assert [row.invocation for row in store.invocations(KEY, unchecked=True)] == [add(3, api="torch.sub")]
        (row,) = store.invocations(KEY, "torch.add", valid=False)
        assert (row.invocation, row.reason, row.valid) == (add(2), "ValueError: \\ud800", False)
        assert list(store.invocations("another")) == []


class DescribeCoverage:
    def test_every_gap_has_its_reason(self, store: Store) -> None:
        names = ("fine", "unchecked", "invalid", "errors", "undescribed", "dropped", "untraced")
        store.save_apis(KEY, [Api(name, "function") for name in names])
        traced = [(add(1, api=name), "ok") for name in ("fine", "invalid", "unchecked", "elsewhere")]
        traced.append((add(1, api="errors"), "exception"))
        gaps = {("undescribed", "socket"): 4}, {("dropped", "too large"): 1}
        store.save_trace(KEY, SEED, traced, *gaps)
        ran(store, KEY, (1, "ok", ""), (2, "exception", "RuntimeError"), (5, "ok", ""))
        assert {c.api: c.gap for c in store.coverage(KEY)} == {
            "dropped": "dropped",
            "elsewhere": "",
            "errors": "no valid seed",
            "fine": "",
            "invalid": "no valid seed",
            "unchecked": "",
            "undescribed": "argument not describable",
            "untraced": "not traced",
        }
        assert {c.api: c.kind for c in store.coverage(KEY)}["elsewhere"] == "unlisted"
        assert (counted(store, KEY, "apis"), counted(store, KEY, "calls")) == (7, 5)
        assert counted(store, KEY, "calls", where="expected = 'exception'") == 1
        for what in ("COUNT(*)", "COUNT(DISTINCT api)"):
            assert counted(store, KEY, "calls", what, "expected = 'ok' AND valid = 1") == 1

    def test_a_search_explains_a_gap_and_a_call_names_the_source_of_its_seed(self, store: Store) -> None:
        store.save_apis(KEY, [Api(name, "function") for name in ("found", "refused", "untraced")])
        for name, reason, calls in (("found", "", [(add(1, api="found"), "ok")]), ("refused", "needs a GPU", [])):
            status = "failed" if reason else "ok"
            record = SEED._replace(digest=search_digest(name), source=SEARCH, name=name, status=status, reason=reason)
            store.save_trace(KEY, record, calls, {}, {})
        assert {c.api: c.gap for c in store.coverage(KEY)}["found"] == "", "the call is not checked yet"
        ran(store, KEY, (1, "ok", ""))
        rows = {c.api: (c.gap, c.sources) for c in store.coverage(KEY)}
        assert rows == {"found": ("", {SEARCH: 1}), "refused": ("needs a GPU", {}), "untraced": ("not traced", {})}


class DescribeArgumentSpace:
    def test_names_come_from_keywords_params_and_nested_constructions(self, store: Store) -> None:
        store.save_apis(KEY, [Api("torch.nn.LSTM", "class", ("input_size", "hidden_size"))])
        lstm = Invocation("torch.nn.LSTM", (prim(3), prim(4), prim(5)), (("bias", prim(True)),))
        holder = Map((("rnns", Seq("list", (lstm,))),))
        outer = Invocation("torch.jit.script", (holder,), (), Then("__call__", (prim("x"),)))
        store.save_trace(KEY, SEED, [(outer, "ok")], {}, {})
        space = store.argument_space(KEY)
        assert space["input_size"] == {"int": {"torch.nn.LSTM": [3]}}
        assert space["hidden_size"] == {"int": {"torch.nn.LSTM": [4]}}
        assert space["arg2"] == {"int": {"torch.nn.LSTM": [5]}}
        assert space["bias"] == {"bool": {"torch.nn.LSTM": [True]}}
        assert space["arg0"] == {fuzz_type(holder): {"torch.jit.script": [codec.encode(holder)]}}
        assert space["input0"] == {"str": {"torch.jit.script": ["x"]}}

    def test_the_cap_holds_for_each_argument_type_and_api(self, store: Store) -> None:
        found = [(add(n, api=api), "ok") for n in range(50) for api in ("torch.abs", "torch.neg")]
        store.save_trace(KEY, SEED, found, {}, {})
        by_api = store.argument_space(KEY, cap=7)["arg0"]["int"]
        assert {api: len(set(values)) for api, values in by_api.items()} == {"torch.abs": 7, "torch.neg": 7}
        assert store.argument_space(KEY, cap=7) == store.argument_space(KEY, cap=7)

    def test_the_same_value_counts_once(self, store: Store) -> None:
        store.save_trace(KEY, SEED, [(add(1, n), "ok") for n in range(9)], {}, {})
        assert store.argument_space(KEY)["arg0"] == {"int": {"torch.add": [1]}}
        assert sum(map(len, (each["torch.add"] for each in store.argument_space(KEY)["arg1"].values()))) == 9

    @given(found=st.lists(invocations, min_size=1, max_size=3))
    @shared
    def test_every_value_in_it_decodes_to_its_fuzz_type(self, store: Store, found) -> None:
        key = f"target-{len(store.targets())}"
        store.save_target(TARGET._replace(key=key))
        store.save_trace(key, SEED, [(invocation, "ok") for invocation in found], {}, {})
        for by_type in store.argument_space(key).values():
            for name, by_api in by_type.items():
                for values in by_api.values():
                    assert {fuzz_type(codec.decode(value)) for value in values} == {name}

    def test_tensors_by_rank_and_dtype(self, store: Store) -> None:
        tensors = [Tensor("float32", (size, 2)) for size in range(5)]
        tensors += [Tensor("int64", ()), Tensor("float32", (2, 2), container="variable")]
        found = [(Invocation(api, (tensor,)), "ok") for tensor in tensors for api in ("torch.abs", "torch.neg")]
        store.save_trace(KEY, SEED, found, {}, {})
        space = store.tensor_space(KEY)
        assert {key: len(values) for key, values in space.items()} == {"0,int64": 1, "2,float32": 6}
        assert {codec.decode(value) for values in space.values() for value in values} == set(tensors)
        assert {key: len(values) for key, values in store.tensor_space(KEY, cap=2).items()} == {
            "0,int64": 1,
            "2,float32": 2,
        }


class DescribeTargetsAndApis:
    texts = st.text(max_size=10)

    @given(
        apis=st.lists(
            st.builds(
                Api,
                texts,
                texts,
                st.lists(texts).map(tuple),
                texts,
                st.just(""),
                st.lists(texts).map(tuple),
                signature=st.just(()),
            ),
            unique_by=lambda api: api.name,
        )
    )
    @shared
    def test_apis_read_back_equal_and_saving_replaces(self, store: Store, apis) -> None:
        store.save_apis(KEY, [Api("torch.gone", "function")])
        for _ in range(2):
            store.save_apis(KEY, apis)
            assert {api.name: api for api in store.apis(KEY)} == {api.name: api for api in apis}

    def test_docstrings_are_kept_as_digests(self, store: Store) -> None:
        store.save_apis(KEY, [Api("a", "function", doc="one"), Api("b", "function", doc="two"), Api("c", "function")])
        first, second, none = store.apis(KEY)
        assert len(first.doc) == 32 and first.doc != second.doc and none.doc == ""

    def test_a_target_saved_again_keeps_when_it_was_made(self, store: Store) -> None:
        made = store.target(KEY).made_at
        store.save_target(TARGET._replace(info={"devices": ["cpu", "cuda"]}, made_at="2030-01-01"))
        assert store.target(KEY) == TARGET._replace(info={"devices": ["cpu", "cuda"]}, made_at=made)
        assert made == "2026-01-02T00:00:00.000+00:00"

    def test_an_unknown_target_names_those_there_are(self, store: Store) -> None:
        with pytest.raises(UserError, match="no target 'torch'") as error:
            store.target("torch")
        assert KEY in error.value.remedy

    def test_a_seed_status_that_does_not_exist_is_refused(self, store: Store) -> None:
        with pytest.raises(Exception, match="CHECK"):
            store.save_trace(KEY, SeedRecord("d", "docs", "n", "great"), [], {}, {})
