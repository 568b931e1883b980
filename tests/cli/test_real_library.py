"""The shortest way through a real library: two apis of PyTorch are traced and fuzzed, and the report names them."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Cli

APIS = ("--api", "torch.clamp", "--api", "torch.add")


@pytest.mark.smoke
def test_two_apis_of_torch_are_traced_and_fuzzed(cli: Cli, tmp_path: Path, torch_python: Path) -> None:
    where = ("--state", tmp_path / "state", "--target", f"python:{torch_python}")
    traced = cli("trace", *where, "--library", "torch", "--source", "docs", *APIS, "--json")
    assert traced.code == 0, traced
    fuzzed = cli("fuzz", *where, "--library", "torch", *APIS, "--tests-count", 100, "--seed", 1, "--json")
    assert fuzzed.code == 0, fuzzed
    assert 50 < fuzzed.json["fuzz"]["tests"] <= 100, "a test case that was made twice runs once"
