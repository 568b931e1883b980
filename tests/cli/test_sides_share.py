"""`nightfuzz run --libraries`: a share of the time compares the target's models with those of other libraries."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

from fuzz_core.campaign.session import Session
from fuzz_core.cli.config import Settings
from fuzz_core.cli.sides import compare_beside
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import TargetRecord


def test_a_library_of_which_no_models_are_known_is_fuzzed_all_the_same(cli: Cli, traced: Path) -> None:
    run = ("run", "--target", "fakelib-1", "--source", "docs", "--seed", 3, "--time", "12s", "--models-share", "0")
    done = cli(*run, "--state", traced, "--libraries", "torch", "--json")
    assert done.code == 0, done
    assert done.json["fuzz"]["tests"] and "fakelib" in done.json["libraries"]["left_out"]
    assert "no models are compared" in done.err


@pytest.mark.real
def test_models_are_compared_in_the_state_of_the_run(
    tmp_path: Path, torch_python: Path, tensorflow_python: Path
) -> None:
    state = tmp_path / "state"
    with open_store(state / "state.db") as store:
        for library, python in (("torch", torch_python), ("tensorflow", tensorflow_python)):
            info = {"summary": library, "notes": [], "devices": ["cpu"]}
            store.save_target(TargetRecord(f"{library}-1", f"python:{python}", library, "1", str(python), info))
        session = Session(store, store.target("torch-1"), state, workers=1)
        settings = Settings(libraries=["tensorflow"], domain=["cv"], seed=1, state=state)
        new, told = compare_beside(session, settings, session.clock() + 60, None)
    assert not new and told["fuzz"]["graphs"]["cv"], told
    assert set(told["triage"]) == set(told["reports"]) == {"torch", "tensorflow"}
