"""Private bugs in a run's output: a memory error is checked for privacy when it is confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Cli

from fuzz_core.campaign import privacy
from fuzz_core.store.statefile import open_store


def test_a_confirmed_bug_is_as_private_as_its_inputs_make_it(
    cli: Cli, traced: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privacy, "suspicion", lambda kind, outcome, test: f"suspected of {test.invocation.api}")
    done = cli("fuzz", "--tests-count", 300, "--seed", 1, "--api", "*.row_sum", "--state", traced)
    assert done.code == 0, done
    with open_store(traced / "state.db", read_only=True) as store:
        assert {bug.suspicion for bug in store.bugs() if bug.kind == "crash"} == {"suspected of fakelib.row_sum"}
    (bug,) = cli("bugs", "--state", traced, "--json", "--all").json
    assert (bug["severity"]["grade"], bug["severity"]["reason"]) == ("private", "suspected of fakelib.row_sum")
