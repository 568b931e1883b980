"""Reproduction: how often scripts run, which of the runs count, and which strategy reproduces which kind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.bench import Bench
from fuzz_core.campaign.reproduce import Reproduction, is_replayed, strategy
from fuzz_core.ir.outcome import Verdict
from fuzz_core.oracles.kinds import KINDS
from fuzz_core.store.records import TargetRecord
from fuzz_core.triage.process import Processes


@pytest.mark.parametrize(("library", "runs"), [("jittor", 3), ("torch", 2)])
def test_what_a_script_compiles_takes_none_of_the_time_that_it_may_hang_in(
    library: str, runs: int, tmp_path: Path, unconfined_scripts: None
) -> None:
    said = tmp_path / "said"
    script = f"open({str(said)!r}, 'a').write('run ')\n"
    target = TargetRecord("key", "", library, "1", sys.executable)
    bench = Bench(target, Processes(), 3.0)
    for _ in range(2):
        assert bench.run(script, "hang").kind == "ok"
    assert said.read_text().split() == ["run"] * runs


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_one_strategy_for_findings_and_for_bugs(kind: str) -> None:
    dialect = dialect_of("torch")
    bench = Bench(TargetRecord("key", "", "torch", "1", sys.executable), Processes(), 3.0)
    chosen: Reproduction = strategy(bench, Verdict(KINDS[kind].oracle, kind, "vmap: it"))
    assert all(callable(each) for each in (chosen.attempts, chosen.confirm, chosen.sightings))
    assert is_replayed(Verdict(KINDS[kind].oracle, kind, "vmap: it"), dialect) == (KINDS[kind].reproduction == "replay")


def test_a_mode_that_no_script_can_show_is_replayed() -> None:
    dialect = dialect_of("torch")
    assert is_replayed(Verdict("differential", "wrong-result", "unheard-of: it"), dialect)
    assert not is_replayed(Verdict("leak", "leak", "unheard-of: it"), dialect)
