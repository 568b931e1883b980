"""Tests of the replayer: it runs one given test case at a time, in a process that is kept until a test kills it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fakelib_plans import Listening, call, plan_of

from fuzz_core.execution.pool import Limits, Pool
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.worker.plan import Plan

ROW, EMPTY = np.ones((2, 3)), np.ones((2, 0))


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plan_of(tmp_path_factory.mktemp("plan") / "plan", [call("row_sum", ROW)], seed=3)


@pytest.fixture(scope="module")
def zygote(plan: Path) -> Iterator[Zygote]:
    with Zygote(sys.executable, "fakelib", "fuzz", plan) as running:
        yield running


@pytest.fixture
def replayer(zygote: Zygote) -> Iterator[Replayer]:
    made = Replayer(zygote, timeout=1.0, memory=1 << 30)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("invocation", "kind", "name", "verdicts"),
    [
        (call("add", ROW, ROW), "ok", "", []),
        (call("add", ROW, EMPTY), "exception", "ValueError", []),
        (call("scale", ROW, -1.0), "exception", "SystemError", ["internal-error"]),
        (call("row_sum", EMPTY), "signal", "SIGSEGV", []),
        (call("resize", ROW, 2**40), "signal", "SIGABRT", []),
        (call("pool", ROW, 6, True), "timeout", "1 s", []),
        (call("vanish", -1), "exit", "3", []),
        (call("fail", -1), "exit", "7", []),
        (call("hang_up", -1), "exit", "0", []),
        (call("scribble", -1), "ok", "", []),
        (call("reserve", 2**21), "oom", "MemoryError", []),
        (call("nothing"), "skipped", "BuildError", []),
    ],
)
def test_what_a_test_case_does_is_told(
    invocation: Invocation, kind: str, name: str, verdicts: list[str], replayer: Replayer
) -> None:
    for _ in range(2):
        seen = replayer.run(TestCase(invocation, 1))
        assert (seen.outcome.kind, seen.outcome.name) == (kind, name)
        assert [verdict.kind for verdict, _ in seen.verdicts] == verdicts
        assert replayer.run(TestCase(call("add", ROW, ROW), 1)).outcome.kind == "ok"


def test_a_process_is_kept_until_it_dies_or_a_fresh_one_is_asked_for(replayer: Replayer) -> None:
    def pid_after(invocation: Invocation, fresh: bool = False) -> int | None:
        replayer.run(TestCase(invocation, 1), fresh=fresh)
        return replayer.child.pid if replayer.child else None

    well, dead = call("add", ROW, ROW), call("vanish", -1)
    first = pid_after(well)
    assert pid_after(well) == first
    assert pid_after(well, fresh=True) not in (first, None)
    assert pid_after(dead) is None


def test_a_death_in_the_pool_replays_from_the_plan(plan: Path, zygote: Zygote, replayer: Replayer) -> None:
    told = Listening(("fakelib.row_sum", 0, 200))
    Pool(zygote, 1, Limits(timeout=1.0, memory=1 << 30)).run(told, lambda: False, lambda: None)
    assert told.deaths and len(told.ran) + len(told.deaths) == 200
    made = Plan(plan)
    for api, index in told.deaths:
        again = replayer.run(made.test(api, index)).outcome
        assert (again.kind, again.name) == ("signal", "SIGSEGV")
