"""`nightfuzz gandalf`: lists of operators and of their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Cli


def test_operators_are_listed_with_what_libraries_do_of_them(cli: Cli) -> None:
    every = {each["name"]: each for each in cli("gandalf", "operators", "--json").json}
    assert len(every) > 400 and every["relu"]["spelled"]["torch"]["call"] == "F.relu(x)"
    told = cli("gandalf", "operators").out
    assert "wrong: " in told and "missing: " in told


def test_pairs_are_listed_with_their_programs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "net.py").write_text("import torch\nprint(torch.erf(torch.nn.functional.gelu(x)))\n")
    pairs = cli("gandalf", "order", "gelu", "--models", tmp_path / "mine", "--json").json
    found = next(each for each in pairs if each["followed by"] == "erf")
    assert found["operator"] == "gelu" and found["times"] == 1 and "net.py" in found["programs"][0]
    assert all(each["operator"] == "gelu" for each in pairs)
    assert "relu" in cli("gandalf", "order", "conv2d").out


@pytest.mark.parametrize("command", ["order", "verify"])
def test_an_operator_that_there_is_not(cli: Cli, command: str) -> None:
    done = cli("gandalf", command, "convolve")
    assert done.code == 2 and "no operator 'convolve'" in done.err
