"""Tests that every kind of death is an outcome of the right test, and that the run goes on."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fakelib_plans import Listening, call, plan_of

from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.values import Invocation
from fuzz_core.worker.limits import children
from fuzz_core.worker.plan import Plan

LIMITS = Limits(timeout=1.0, memory=1 << 30)
ROW, EMPTY = np.ones((2, 3)), np.ones((2, 0))

# A call that returns, a call that dies, and the outcome of its death.
DEATHS = {
    "segfault": (call("row_sum", ROW), call("row_sum", EMPTY), ("signal", "SIGSEGV")),
    "abort": (call("resize", ROW, 3), call("resize", ROW, 2**31 + 1), ("signal", "SIGABRT")),
    "hang": (call("pool", ROW, 3, True), call("pool", ROW, 6, True), ("timeout", "1 s")),
    "os._exit": (call("vanish", 1), call("vanish", -1), ("exit", "3")),
    "closed pipe": (call("hang_up", 1), call("hang_up", -1), ("exit", "0")),
}
SURVIVED = {
    "sys.exit": (call("fail", 1), call("fail", -1), ("exit", "7")),
    "out of memory": (call("reserve", 1), call("reserve", 2**21), ("oom", "MemoryError")),
    "garbage": (call("scribble", 1), call("scribble", -1), ("ok", "")),
    "megabytes": (call("chatter", 1), call("chatter", -1), ("ok", "")),
    "interrupt": (call("interrupt", 1), call("interrupt", -1), ("exception", "KeyboardInterrupt")),
    "unprintable": (call("mute", 1), call("mute", -1), ("exception", "Unprintable")),
    "global state": (call("switch", 1), call("switch", -1), ("ok", "")),
    "bad input": (call("add", ROW, ROW), call("add", ROW, EMPTY), ("exception", "ValueError")),
}


def calls() -> Iterator[Invocation]:
    for good, bad, _ in (*DEATHS.values(), *SURVIVED.values()):
        yield from (good, bad, good)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plan_of(tmp_path_factory.mktemp("plan") / "plan.jsonl", calls())


@pytest.fixture(scope="module")
def zygote(plan: Path) -> Iterator[Zygote]:
    with Zygote(sys.executable, "fakelib", "fuzz", plan) as running:
        yield running


def ran(zygote: Zygote, *leases: tuple[str, int, int], workers: int = 1) -> Listening:
    listening = Listening(*leases)
    Pool(zygote, workers, LIMITS).run(listening, lambda: False, lambda: None)
    return listening


@pytest.mark.parametrize("way", DEATHS)
def test_a_death_is_told_with_its_test_and_the_lease_goes_on(way: str, zygote: Zygote) -> None:
    good, _, expected = DEATHS[way]
    told = ran(zygote, (good.api, 0, 3))
    assert {key: (o.kind, o.name) for key, o in told.deaths.items()} == {(good.api, 1): expected}
    assert {key: o.kind for key, o in told.ran.items()} == {(good.api, 0): "ok", (good.api, 2): "ok"}


@pytest.mark.parametrize("way", SURVIVED)
def test_what_does_not_kill_is_an_outcome_of_its_test(way: str, zygote: Zygote) -> None:
    good, _, expected = SURVIVED[way]
    told = ran(zygote, (good.api, 0, 3))
    assert told.deaths == {} and told.findings == []
    outcomes = [(o.kind, o.name) for _, o in sorted(told.ran.items())]
    assert outcomes == [("ok", ""), expected, ("ok", "")]


def test_a_lease_may_have_a_time_out_of_its_own(zygote: Zygote) -> None:
    class Hasty(Listening):
        def next_lease(self) -> Lease | None:
            lease = super().next_lease()
            return lease and replace(lease, timeout=0.25)

    told = Hasty(("fakelib.pool", 0, 3))
    Pool(zygote, 1, Limits(timeout=600.0)).run(told, lambda: False, lambda: None)
    assert {key: (o.kind, o.name) for key, o in told.deaths.items()} == {("fakelib.pool", 1): ("timeout", "0.25 s")}


def test_a_hang_of_a_library_that_compiles_while_it_runs_is_still_ended(
    zygote: Zygote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zygote, "compiles", True)
    told = ran(zygote, ("fakelib.pool", 0, 3))
    assert {key: (o.kind, o.name) for key, o in told.deaths.items()} == {("fakelib.pool", 1): ("timeout", "1 s")}


def test_what_a_dying_process_said_is_in_its_outcome(zygote: Zygote) -> None:
    told = ran(zygote, ("fakelib.resize", 1, 2))
    assert "Check failed: size <= kMaxSize" in told.deaths["fakelib.resize", 1].text


def test_a_process_whose_global_state_was_changed_is_not_used_again(zygote: Zygote) -> None:
    assert ran(zygote, ("fakelib.switch", 0, 3)).retired == 3
    assert ran(zygote, ("fakelib.add", 0, 3)).retired == 0


def test_two_workers_do_all_leases_between_them(zygote: Zygote) -> None:
    apis = sorted({good.api for good, _, _ in DEATHS.values()})
    told = ran(zygote, *((api, 0, 3) for api in apis), workers=2)
    assert set(told.deaths) == {(api, 1) for api in apis}
    assert set(told.ran) == {(api, index) for api in apis for index in (0, 2)}


def test_a_test_is_made_again_from_the_plan_exactly_as_it_was_executed(tmp_path: Path, zygote: Zygote) -> None:
    path = plan_of(tmp_path / "plan", [call("scale", ROW, 2.5), call("scale", np.arange(3), 7)], seed=5)
    with Zygote(sys.executable, "fakelib", "fuzz", path) as other:
        told = ran(other, ("fakelib.scale", 0, 400))
    assert len(told.ran) == 400
    plan = Plan(path)
    made = [plan.test("fakelib.scale", index) for index in range(400)]
    assert told.findings and all(finding.test in made[2:] for finding in told.findings)


def test_no_process_and_no_file_is_left(tmp_path: Path, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Zygote(sys.executable, "fakelib", "fuzz", plan) as zygote:
        assert zygote.process is not None
        assert [path.name for path in tmp_path.iterdir()] == [zygote.root.name]
        ran(zygote, *((good.api, 0, 3) for good, _, _ in DEATHS.values()))
        guardian = zygote.process.pid
        (forking,) = children(guardian)
        assert children(forking) == []
        assert {path.name for path in zygote.root.iterdir()} == {"owner.lock", "zygote.log"}
    assert list(tmp_path.iterdir()) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in (guardian, forking))


def test_descriptors_do_not_leak(zygote: Zygote) -> None:
    ran(zygote, ("fakelib.vanish", 0, 3))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        ran(zygote, ("fakelib.vanish", 0, 3))
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1


@pytest.mark.parametrize("generation", ["guardian", "zygote"])
def test_the_run_survives_the_death_of_the_zygote(generation: str, plan: Path) -> None:
    with Zygote(sys.executable, "fakelib", "fuzz", plan) as zygote:
        assert zygote.process is not None
        victims = [zygote.process.pid] if generation == "guardian" else children(zygote.process.pid)

        def shoot() -> None:
            if victims:
                # The process that stands ready to replace a dead zygote dies together with that zygote.
                zygote.deliver()
                os.kill(victims.pop(), signal.SIGKILL)

        listening = Listening(("fakelib.vanish", 0, 3), ("fakelib.row_sum", 0, 3), on_message=shoot)
        # No test hangs here. On a busy machine a death may take longer than the time limit of a test.
        Pool(zygote, 2, replace(LIMITS, timeout=30.0)).run(listening, lambda: False, lambda: None)
    # The zygote takes its workers with it, so the tests that they were running are run once more.
    assert set(listening.deaths) == {("fakelib.vanish", 1), ("fakelib.row_sum", 1)}
    assert {outcome.name for outcome in listening.deaths.values()} == {"3", "SIGSEGV"}
    assert set(listening.ran) == {(api, n) for api in ("fakelib.vanish", "fakelib.row_sum") for n in (0, 2)}


def test_a_worker_that_hangs_ends_with_its_zygote(plan: Path) -> None:
    with Zygote(sys.executable, "fakelib", "fuzz", plan) as zygote:
        child = zygote.fork("fuzz", LIMITS.memory)
        lease = {"lease": 1, "api": "fakelib.pool", "first": 1, "last": 2, "until": None, "log": False}
        os.write(child.to_child, (json.dumps(lease) + "\n").encode())
        ended = os.pidfd_open(child.pid)
        assert zygote.process is not None
        os.kill(children(zygote.process.pid)[0], signal.SIGKILL)
        assert select.select([ended], [], [], 60)[0] == [ended]
        os.close(ended)
        child.close()


def test_when_asked_to_stop_workers_end_and_nothing_more_is_leased(zygote: Zygote) -> None:
    listening = Listening(("fakelib.add", 0, 3))
    pool = Pool(zygote, 2, LIMITS)
    pool.run(listening, lambda: True, lambda: None)
    assert listening.numbers == 0
    assert all(slot.child is None for slot in pool.slots)
