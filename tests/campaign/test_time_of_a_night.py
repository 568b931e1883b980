"""The time of a night by what it went into, from the figures of its runs."""

from __future__ import annotations

from fuzz_core.campaign.dashboard.nights import time_spent
from fuzz_core.campaign.session import Session


def test_sweep_mutants_compilers_and_examinations_are_told_apart(fakelib_session: Session) -> None:
    store, target = fakelib_session.store, fakelib_session.target
    figures = {"working": 100.0, "sweeping": 30.0, "compiling": 10.0, "inside": 50.0, "start_up": 4.0}
    store.finish_run(store.start_run(target.key, 1, {}), "done", figures)
    store.add_examining(target.key, 12.5)
    store.checkpoint_run(store.start_run(target.key, 1, {"engine": "moco"}), 5, 20.0)
    store.add_examining(target.key, 7.5)
    runs = [run._replace(started="2100-01-01") for run in store.runs()]
    assert time_spent(store, runs) == {
        "mutated calls": 60.0,
        "sweep of boundary classes": 30.0,
        "examining findings": 20.0,
        "engine moco": 20.0,
        "compilers of the library": 10.0,
        "start-up": 4.0,
    }
