"""Patterns of apis, checked by the plan job against the builds that the state knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from actioninputs import inputs

from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.jobs.patterns import check_patterns
from nightfuzz.bot.state.place import STATE, pack

PINNED, NIGHTLY = "torch==2.13.0", "torch-nightly"


@pytest.fixture
def state(tmp_path: Path) -> dict[str, bytes]:
    """Returns a state that knows a build of torch and its apis."""
    with open_store(tmp_path / "state.db") as store:
        store.save_target(TargetRecord("key", PINNED, "torch", "2.13.0+cpu", "/python", {}))
        store.save_apis("key", [Api("torch.Tensor.index_put", "method", aliases=("torch.index_put",))])
    return pack(tmp_path / "state.db")


def notes(folder: Path, state: dict[str, bytes], target: str, **given: Any) -> tuple[str, ...]:
    return check_patterns(inputs(plan_only="true", **given), folder, state, target)


@pytest.mark.parametrize("pattern", ["torch.Tensor.index_put", "torch.index_put", "torch.*"])
def test_a_name_an_alias_and_a_pattern_pass(tmp_path: Path, state: dict[str, bytes], pattern: str) -> None:
    assert notes(tmp_path, state, PINNED, api=[pattern]) == ()


def test_a_pattern_that_no_api_of_the_build_matches_is_an_error(tmp_path: Path, state: dict[str, bytes]) -> None:
    with pytest.raises(UserError, match=r"torch\.indx_put") as told:
        notes(tmp_path, state, PINNED, api=["torch.indx_put"])
    assert "torch.index_put" in told.value.remedy


def test_patterns_of_the_settings_file_are_checked(tmp_path: Path, state: dict[str, bytes]) -> None:
    (tmp_path / "nightfuzz.toml").write_text('api = ["torch.indx_put"]\n')
    with pytest.raises(UserError, match=r"torch\.indx_put"):
        notes(tmp_path, state, PINNED)
    assert notes(tmp_path, state, PINNED, mode="pr") == (), "a pull request has written the file"


@pytest.mark.parametrize("target", [NIGHTLY, "torch==2.14.0"])
def test_another_build_may_have_new_apis(tmp_path: Path, state: dict[str, bytes], target: str) -> None:
    (note,) = notes(tmp_path, state, target, api=["torch.brand_new"])
    assert "torch.brand_new" in note and target in note


@pytest.mark.parametrize("target", ["jittor==1.3.11.0", "no such spec ==", "python:/nowhere"])
def test_a_library_that_the_state_does_not_know_is_left_to_the_fuzz_job(
    tmp_path: Path, state: dict[str, bytes], target: str
) -> None:
    assert notes(tmp_path, state, target, api=["torch.indx_put"]) == ()
    assert notes(tmp_path, {}, PINNED, api=["torch.indx_put"]) == ()
    assert notes(tmp_path, {STATE: b"damaged"}, PINNED, api=["torch.indx_put"]) == ()
