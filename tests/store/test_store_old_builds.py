"""Tests of the rows of old builds that the store drops, and of the rows that it keeps for good."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from store_values import CRASH, DEAD, SEED, TARGET, add, bug, case

from fuzz_core.ir.catalogue import Api
from fuzz_core.store import Store, open_store
from fuzz_core.store.findings import News, OperatorRow
from fuzz_core.store.parts import thin


class Days:
    """A clock that stands still until a test moves it to the next day."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self) -> None:
        self.now += timedelta(days=1)


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def nights(path: Path, days: Days) -> Iterator[Store]:
    """Yields a store with five builds of torch, one a night, and an earlier build of TensorFlow."""
    with open_store(path, clock=days) as store:
        for key, library in (("tf", "tensorflow"), *((f"torch-{n}", "torch") for n in range(5))):
            store.save_target(TARGET._replace(key=key, library=library))
            live(store, key)
            days.pass_()
        yield store


def live(store: Store, key: str) -> None:
    store.save_apis(key, [Api("torch.add", "function", ("a",), "add(a)")])
    found = [(add(1), "ok"), (add(2), "ok"), (add(3), "exception")]
    store.save_trace(key, SEED, found[:2], {("torch.add", "file"): 1}, {("torch.add", "large"): 1})
    store.save_trace(key, SEED._replace(digest="d2", name="another"), found[2:], {}, {})
    store.save_news(key, [News("torch.add", "ok", "ok", None)], [OperatorRow("aten::add", "float32", "torch.add")])


def left(store: Store, key: str) -> dict[str, object]:
    return {
        "invocations": [row.invocation for row in store.invocations(key)],
        "seeds": [seed.name for seed in store.seeds(key)],
        "values": bool(store.argument_space(key)),
        "news": len(store.news(key)) + len(store.operators(key)),
        "gaps": [coverage.undescribed | coverage.dropped for coverage in store.coverage(key)],
    }


def test_the_builds_that_were_used_last_stay_whole(nights: Store) -> None:
    before = {key: left(nights, key) for key in ("tf", "torch-2", "torch-3", "torch-4")}
    assert thin(nights) == ["torch-0", "torch-1"]
    assert {key: left(nights, key) for key in before} == before
    empty = {"invocations": [], "seeds": [], "values": False, "news": 0, "gaps": [{}]}
    assert left(nights, "torch-0") == left(nights, "torch-1") == empty
    assert [api.name for api in nights.apis("torch-0")] == ["torch.add"]
    assert thin(nights) == []


def test_an_old_build_that_still_runs_counts_as_new(nights: Store) -> None:
    nights.start_run("torch-0", 1, {})
    assert thin(nights) == ["torch-1", "torch-2"]


def test_a_bug_keeps_the_invocation_and_the_test_that_it_comes_from(nights: Store) -> None:
    run = nights.start_run("torch-4", 1, {})
    origin = next(row.id for row in nights.invocations("torch-0"))
    finding = nights.add_finding("torch-0", run, case()._replace(origin=origin), CRASH, DEAD)
    assert finding is not None
    nights.settle_finding(finding, "confirmed", bug=bug()._replace(test=case()._replace(origin=origin)))
    before = nights.bugs(), nights.findings("torch-0"), nights.seeds_of(origin)
    assert thin(nights) == ["torch-0", "torch-1"]
    assert (nights.bugs(), nights.findings("torch-0"), nights.seeds_of(origin)) == before
    assert left(nights, "torch-0")["invocations"] == [add(1)]
    assert left(nights, "torch-1")["invocations"] == []
    assert before[2] == ["torch.add#0"]


@pytest.mark.parametrize("keep", [1, 5, 99])
def test_how_many_stay_can_be_said(nights: Store, keep: int) -> None:
    assert thin(nights, keep) == [f"torch-{n}" for n in range(5 - keep)]
