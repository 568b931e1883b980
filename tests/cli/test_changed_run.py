"""`nightfuzz run --changed`: it fuzzes the calls of a pull request's own seeds, or gives the reason why not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from commands import Cli, Done

from fuzz_core.campaign.session import Session
from fuzz_core.cli.commands.fuzz import require_tests
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

SCALED = "import fakelib\nimport numpy as np\n\ndef test_scale():\n    fakelib.scale(np.ones((2, 5)), 7)\n"
ROLLED = "import torch\n\ndef test_roll():\n    assert torch.roll(torch.arange(4), 1).tolist() == [3, 0, 1, 2]\n"
Run = Callable[..., Done]


@pytest.fixture
def pull(cli: Cli, tmp_path: Path, fakelib_target: TargetRecord) -> Run:
    """Runs a pull request's check with a test file, on a state without a night."""
    with open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(fakelib_target)

    def run(code: str, *more: object) -> Done:
        Path("tests").mkdir(exist_ok=True)
        Path("tests/test_own.py").write_text(code)
        where = ("--state", tmp_path / "state", "--target", "fakelib-1", "--tests", "tests", "--changed")
        return cli("run", *where, "--tests-count", 60, "--seed", 1, *more)

    return run


@pytest.mark.smoke
def test_what_the_changed_test_calls_is_fuzzed_without_a_night(pull: Run) -> None:
    told = pull(SCALED, "--json")
    assert told.code == 0, told
    assert told.json["apis"] == ["fakelib.scale"] and told.json["seeds"] == 1
    assert told.json["fuzz"]["tests"] > 0 and told.json["fuzz"]["apis"] == 1
    again = pull(SCALED)
    assert again.code == 0 and "no seed of yours is new or changed" in again.out


def test_without_a_call_the_check_fails_with_one_error(pull: Run) -> None:
    told = pull("import no_such_package\n", "--json")
    assert (told.code, told.out) == (2, "")
    assert told.err.count("error: ") == 1 and "no_such_package" in told.err


def test_without_a_directory_of_seeds_it_says_so(cli: Cli, tmp_path: Path) -> None:
    told = cli("run", "--changed", "--state", tmp_path / "state")
    assert told.code == 2 and "none is named" in told.err


def test_a_fresh_repository_with_torch(cli: Cli, tmp_path: Path, torch_python: Path) -> None:
    Path("tests").mkdir()
    Path("tests/test_roll.py").write_text(ROLLED)
    where = ("--state", tmp_path / "state", "--target", f"python:{torch_python}", "--library", "torch")
    told = cli("run", *where, "--tests", "tests", "--changed", "--tests-count", 100, "--seed", 1, "--json")
    assert told.code == 0, told
    assert {"torch.roll", "torch.arange"} <= set(told.json["apis"]) and told.json["fuzz"]["tests"] > 50
    with open_store(tmp_path / "state" / "state.db", read_only=True) as store:
        seeds = [seed.name for seed in store.seeds(store.targets()[0].key)]
    assert "tests/test_roll.py" in seeds and len(seeds) < 200, "only library seeds that name these apis are traced"


def test_a_night_without_a_test_is_an_error(cli: Cli, tmp_path: Path, fakelib_target: TargetRecord) -> None:
    with open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(fakelib_target)
    where = ("--state", tmp_path / "state", "--target", "fakelib-1", "--source", "docs", "--tests-count", 60)
    told = cli("run", *where, "--api", "fakelib.nn.Window.*", "--json")
    assert told.code == 2 and "no api of this build matches" in told.err
    told = cli("run", *where, "--api", "fakelib.hang_up", "--api", "fakelib.scale", "--seed", 1, "--json")
    assert told.code == 0 and told.json["fuzz"]["tests"] > 0


@pytest.mark.parametrize(
    ("data", "fails"),
    [
        ({"fuzz": {"tests": 0}}, True),
        ({"fuzz": {"tests": 0}, "models": {"left_out": "why"}, "baseline": {"bugs": []}}, True),
        ({"fuzz": {"tests": 0}, "models": {"tests": 3}}, False),
        ({"fuzz": {"tests": 0}, "baseline": {"tests": 3}}, False),
        ({"fuzz": {"tests": 0}, "libraries": {"fuzz": {"tests": 3}}}, False),
    ],
)
def test_tests_of_every_engine_count(tmp_path: Path, data: dict[str, Any], fails: bool) -> None:
    target = TargetRecord("key", "spec", "torch", "2", "/python", {})
    with open_store(tmp_path / "state.db") as store:
        session = Session(store, target, tmp_path)
        with pytest.raises(UserError, match="no test ran on key") if fails else nullcontext():
            require_tests(session, Settings(), data)


def test_listings_know_aliases_and_refuse_what_is_no_api(cli: Cli, tmp_path: Path) -> None:
    with open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(TargetRecord("key", "torch==2", "torch", "2", "/python", {}))
        store.save_apis(
            "key", [Api("torch.absolute", "function", aliases=("torch.abs",)), Api("torch.add", "function")]
        )
    told = cli("apis", "--state", tmp_path / "state", "--api", "torch.abs", "--json")
    assert [row["api"] for row in told.json] == ["torch.absolute"]
    told = cli("apis", "--state", tmp_path / "state", "--api", "torch.ad")
    assert told.code == 2 and "torch.add" in told.err
