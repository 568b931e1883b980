"""Tests of the rows that are copied from one target to another, and of the rows that are not."""

from __future__ import annotations

import sqlite3

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from statecases import ran
from store_values import KEY, SEED, TARGET, add, invocations

from fuzz_core.ir import codec
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.values import Invocation
from fuzz_core.store import Store

NEW = "torch-2.14.0+cpu-cp311"
LATER = TARGET._replace(key=NEW, version="2.14.0", made_at="2026-02-02")


def rows(store: Store, key: str) -> list[tuple[str, str, bool | None, str]]:
    return [(row.digest, row.expected, row.valid, row.reason) for row in store.invocations(key)]


@pytest.fixture
def both(store: Store) -> Store:
    """Returns a store with a new target, and an old target whose two seeds have one invocation in common."""
    store.save_target(LATER)
    counts = {("torch.add", "file"): 2}, {("torch.sub", "too large"): 1}
    store.save_trace(KEY, SEED, [(add(1), "ok"), (add(2), "ok"), (add(3, api="torch.sub"), "exception")], *counts)
    store.save_trace(KEY, SEED._replace(digest="d2"), [(add(2), "ok"), (add(45, api="torch.mul"), "ok")], *counts)
    ran(store, KEY, (1, "ok", ""), (2, "exception", "RuntimeError"), (3, "exception", "ValueError"), (4, "ok", ""))
    return store


class DescribeCarry:
    def test_a_seed_comes_with_all_that_it_brought(self, both: Store) -> None:
        done = both.carry(NEW, KEY, {"d1": "another name"}, (), ())
        assert done == (1, 3, 0, 0)
        assert both.seeds(NEW) == [SEED._replace(name="another name")]
        assert rows(both, NEW) == rows(both, KEY)[:3]
        assert {c.api: (c.undescribed, c.dropped) for c in both.coverage(NEW)} == {
            "torch.add": ({"file": 2}, {}),
            "torch.sub": ({}, {"too large": 1}),
        }
        assert both.argument_space(NEW) == {
            name: {kind: {"torch.add": apis["torch.add"]} for kind, apis in kinds.items() if "torch.add" in apis}
            for name, kinds in both.argument_space(KEY).items()
        }
        assert both.since(NEW) == KEY

    def test_the_outcome_class_of_a_call_comes_with_it(self, both: Store) -> None:
        first = both.bodies(KEY)[0].id
        both.set_validity(KEY, [(first, "ok", "")], {first: 77})
        both.carry(NEW, KEY, {"d1": "a"}, (), ())
        assert [row.shown for row in both.bodies(NEW) if row.id == first] == [77]

    def test_carrying_again_changes_nothing(self, both: Store) -> None:
        both.carry(NEW, KEY, {"d1": "a", "d2": "b"}, (), ())
        before = rows(both, NEW), both.coverage(NEW), both.seeds(NEW)
        assert both.carry(NEW, KEY, {"d1": "a", "d2": "b"}, (), ()).invocations == 0
        assert (rows(both, NEW), both.coverage(NEW), both.seeds(NEW)) == before

    def test_what_mentions_an_api_that_is_gone_stays_behind_wherever_it_does(self, both: Store) -> None:
        nested = Invocation("torch.stack", (add(7, api="torch.sub"),))
        both.save_trace(KEY, SEED._replace(digest="d3"), [(nested, "ok"), (add(9), "ok")], {}, {})
        done = both.carry(NEW, KEY, {"d1": "a", "d3": "c"}, {"torch.sub"}, ())
        assert done.retired == 2
        assert {row.api for row in both.invocations(NEW)} == {"torch.add"}
        assert {c.api for c in both.coverage(NEW)} == {"torch.add"}
        assert not any("torch" in api and api != "torch.add" for kinds in both.argument_space(NEW).values()
                       for apis in kinds.values() for api in apis)  # fmt: skip

    def test_what_mentions_a_changed_api_counts_as_not_run(self, both: Store) -> None:
        both.carry(NEW, KEY, {"d1": "a", "d2": "b"}, (), {"torch.add"})
        assert [(row.api, row.valid, row.reason) for row in both.invocations(NEW)] == [
            ("torch.add", None, ""),
            ("torch.add", None, ""),
            ("torch.sub", False, "ValueError"),
            ("torch.mul", True, ""),
        ]

    def test_kinds_of_outcomes_come_along_but_for_what_counts_as_not_run(self, both: Store) -> None:
        died = SEED._replace(digest="d4", status="crashed", reason="fell over", outcome_kind="signal")
        both.save_trace(KEY, died, [(add(20, api="torch.sub"), "ok")], {}, {})
        ran(both, KEY, *((nth, "signal", "fell over") for nth in (1, 3, 5)))
        both.carry(NEW, KEY, {"d1": "a", "d2": "b", "d4": "d"}, (), {"torch.add"})
        assert {seed.digest: seed.outcome_kind for seed in both.seeds(NEW)} == {"d1": "", "d2": "", "d4": "signal"}
        kinds = both._rows("SELECT api, outcome_kind FROM calls WHERE target = ? ORDER BY place", NEW)
        assert [(row["api"], row["outcome_kind"]) for row in kinds] == [
            ("torch.add", ""),
            ("torch.add", ""),
            ("torch.sub", "signal"),
            ("torch.mul", "ok"),
            ("torch.sub", "signal"),
        ]

    def test_what_is_doubted_counts_as_not_run(self, both: Store) -> None:
        both.carry(NEW, KEY, {"d1": "a", "d2": "b"}, (), ())
        (product,) = both.invocations(NEW, "torch.mul")
        both.mark_unchecked(NEW, [product.id])
        assert [row.api for row in both.invocations(NEW, unchecked=True)] == ["torch.mul"]
        twins = both.twins(NEW, KEY)
        assert [(t.api, t.valid, t.before) for t in twins if t.valid != t.before] == [("torch.mul", None, True)]
        both.mark_unchecked(NEW, (twin.id for twin in twins))
        assert len(list(both.invocations(NEW, unchecked=True))) == 3

    def test_it_is_all_or_nothing(self, both: Store) -> None:
        both._db.execute("CREATE TEMP TRIGGER last BEFORE UPDATE ON targets BEGIN SELECT RAISE(ABORT, 'no power'); END")
        with pytest.raises(sqlite3.IntegrityError):
            both.carry(NEW, KEY, {"d1": "a"}, (), ())
        assert (rows(both, NEW), both.traced(NEW), both.since(NEW), both.argument_space(NEW)) == ([], set(), "", {})

    @given(
        found=st.lists(st.tuples(invocations, st.sampled_from(["ok", "exception"])), max_size=6),
        cut=st.integers(0, 6),
    )
    @examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_it_leaves_what_tracing_the_same_seeds_would_have(
        self, store: Store, found: list[tuple[Invocation, str]], cut: int
    ) -> None:
        number = len(store.targets())
        old, new, anew = (f"{name}-{number}" for name in ("old", "new", "anew"))
        for key in (old, new, anew):
            store.save_target(TARGET._replace(key=key))
        # The examples share the store, which keeps a seed's calls once for all builds, so each example has a seed of
        # its own.
        seed = SEED._replace(digest=f"seed-{number}")
        store.save_trace(old, SEED._replace(digest="other"), found[cut:], {}, {})
        store.save_trace(old, seed, found[:cut], {}, {})
        store.save_trace(anew, seed, found[:cut], {}, {})
        store.carry(new, old, {seed.digest: seed.name}, (), ())
        expected = {codec.digest(invocation) for invocation, _ in found[:cut]}
        assert {row.digest for row in store.invocations(new)} == expected
        assert store.seeds(new) == store.seeds(anew)


def test_the_one_before_is_the_newest_of_the_library_that_was_traced(store: Store) -> None:
    for key, made_at, library in (
        ("a", "2026-03-01", "torch"),
        ("b", "2026-03-02", "torch"),
        ("c", "2026-03-03", "tensorflow"),
        ("d", "2026-03-04", "torch"),
        ("e", "2026-03-05", "torch"),
        ("f", "2026-03-06", "torch"),
    ):
        store.save_target(TARGET._replace(key=key, library=library, made_at=made_at))
    for key in ("a", "b", "c", "f"):
        store.save_trace(key, SEED, [], {}, {})
    assert [store.predecessor(key) for key in "abcde"] == ["", "a", "", "b", "b"]
    assert store.since("e") == ""


def test_seeds_that_mention_an_api(both: Store) -> None:
    assert both.seeds_mentioning(KEY, ["torch.mul", "torch.nothing"]) == {"d2"}
    assert both.seeds_mentioning(KEY, ["torch.add"]) == {"d1", "d2"}
    assert both.seeds_mentioning(KEY, []) == set()


def test_what_a_docstring_deprecates_is_kept_and_known_to_be_known(store: Store) -> None:
    apis = [
        Api("a", "function", doc="This function is deprecated."),
        Api("b", "function", doc="Fine."),
        Api("c", "class"),
    ]
    store.save_apis(KEY, apis)
    assert store.deprecated(KEY) == {"a": {"*"}, "b": frozenset(), "c": frozenset()}
    assert [len(api.doc) for api in store.apis(KEY)] == [32, 32, 0]
