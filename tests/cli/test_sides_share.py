"""`nightfuzz run --libraries`: a share of the time compares the target's models with those of other libraries."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Cli
from sidecases import side_by_side

from fuzz_core.cli.commands.fuzz import fuzz_libraries
from fuzz_core.cli.errors import BUGS
from fuzz_core.cli.session import compared_sessions
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.errors import UserError


@pytest.mark.parametrize("names", ["torch", "nothing==1", "fakelib-1"])
def test_what_cannot_be_compared_is_said_before_anything_is_done(cli: Cli, traced: Path, names: str) -> None:
    done = cli("run", "--target", "fakelib-1", "--state", traced, "--time", "1h", "--libraries", names)
    assert done.code == 2 and "models of fakelib cannot be compared" in done.err


@pytest.mark.real
def test_models_are_compared_in_the_state_of_the_run(
    tmp_path: Path, torch_python: Path, tensorflow_python: Path
) -> None:
    state = tmp_path / "state"
    with side_by_side(state, {"torch": torch_python, "tensorflow": tensorflow_python}) as sessions:
        session = sessions["torch"]
        settings = Settings(libraries=["tensorflow"], domain=["cv"], seed=1, state=state)
        with pytest.raises(UserError, match="no second library to compare"):
            compared_sessions(session, settings.model_copy(update={"libraries": ["torch"]}))
        with pytest.raises(UserError):
            compared_sessions(session, settings.model_copy(update={"libraries": ["nothing==1"]}))
        others = compared_sessions(session, settings)
        told, _, code = fuzz_libraries(others, settings.model_copy(update={"fail_on_bugs": True}), session.clock() + 60)
    assert told["fuzz"]["graphs"]["cv"], told
    assert code == (BUGS if any(each["bugs"] for each in told["triage"].values()) else 0), told["triage"]
    assert set(told["triage"]) == set(told["reports"]) == {"torch", "tensorflow"}
