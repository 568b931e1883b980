"""How often scripts are run, and what of that counts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.scripts import Scripts
from fuzz_core.triage.process import Processes


@pytest.mark.parametrize(("library", "runs"), [("jittor", 3), ("torch", 2)])
def test_what_a_script_compiles_takes_none_of_the_time_that_it_may_hang_in(
    library: str, runs: int, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    script = f"open({str(said)!r}, 'a').write('run ')\n"
    scripts = Scripts(sys.executable, dialect_of(library), Processes(), 3.0)
    for _ in range(2):
        found = scripts.failing(script, "hang", 1)
        assert (found.hits, found.outcome.kind) == (0, "ok")
    assert said.read_text().split() == ["run"] * runs
