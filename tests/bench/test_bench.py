"""The benchmark: it runs and its figures have plausible types and ranges. Their size depends on the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import guidance
from bench.__main__ import MEASUREMENTS, main
from bench.harness import sample
from fuzz_core.campaign.session import Session

SHARES = ("unique", "valid", "inside", "lost")


def test_a_sample_is_fixed_and_a_new_name_takes_one_place_at_most() -> None:
    names = [f"torch.f{number}" for number in range(50)]
    chosen = sample(names, 10)
    assert chosen == sample(reversed(names), 10) and len(set(chosen)) == 10
    assert len({*sample([*names, "torch.new"], 10)} - {*chosen}) <= 1
    assert sample(names, 100) == sorted(names)


def test_a_small_run_measures_everything(
    traced_session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    state = str(traced_session.state_dir)
    few = ["--apis", "4", "--time", "4", "--repeats", "1", "--json", str(out)]
    with pytest.raises(SystemExit, match="0"):
        main(["throughput", "--library", "fakelib", "--target", "fakelib-1", "--state", state, *few])
    (found,) = json.loads(out.read_text())["subjects"]
    for figures in (found["one"], found["two"]):
        assert figures["tests"] > 0 and figures["rate"] > 0
        assert all(0 <= figures[share] <= 1 for share in SHARES)
        assert figures["worker_memory"] > 1 and figures["controller_memory"] > 1
    assert {"mutating", "building arguments", "inside the library", "judging"} <= set(found["profile"]["seconds"])
    shown = capsys.readouterr().out
    assert "tests, one worker" in shown and "two workers" in shown and "profile" in shown
    assert traced_session.store.runs() == []


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_every_measurement_explains_its_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    assert f"python -m bench {name}" in capsys.readouterr().out


def test_the_measurements_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert set(MEASUREMENTS) <= set(capsys.readouterr().out.split())


def test_variants_are_compared_on_copies_of_one_state(
    traced_session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    few = ["--seconds", "4", "--seeds", "1", "--triage", "20", "--variant", "full engine", "--variant", "uniform"]
    state = ["--library", "fakelib", "--target", "fakelib-1", "--state", str(traced_session.state_dir)]
    with pytest.raises(SystemExit, match="0"):
        main(["ablation", *state, *few, "--json", str(out)])
    rows = json.loads(out.read_text())["rows"]
    assert [row["variant"] for row in rows] == ["full engine", "uniform"]
    assert all(row["signatures"] >= row["bugs"] > 0 and row["tests per second"] > 0 for row in rows)
    assert traced_session.store.runs() == []


def test_figures_of_a_paper_stand_beside_the_published_ones(
    traced_session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    state = ["--target", "fakelib-1", "--state", str(traced_session.state_dir)]
    with pytest.raises(SystemExit, match="0"):
        main(["papers", *state, "--paper", "freefuzz", "--seconds", "24", "--json", str(out)])
    rows = {row["figure"]: row for row in json.loads(out.read_text())["rows"]}
    assert rows["bugs"]["published"] == "torch 28, TensorFlow 21"
    assert rows["mutants executed"]["--paper"] > 0 and rows["mutants executed"]["default"] > 0
    assert rows["apis with a call to mutate"]["--paper"] == rows["apis with a call to mutate"]["default"] > 0
    assert traced_session.store.runs() == []


def test_a_guidance_has_the_medians_of_its_runs_and_the_bugs_of_all() -> None:
    bugs = [("torch-1", "a"), ("torch-1", "b"), ("jittor-1", "a")]
    trials = [guidance.GuidanceRun(30 + seed, seed, seed, 2.0, frozenset(bugs[:seed])) for seed in (1, 3, 2)]
    row = guidance._row("dqn", trials)
    assert (row["guidance"], row["bugs"], row["bugs of each seed"]) == ("dqn", 2, [1, 3, 2])
    assert (row["bugs of all seeds"], row["graphs"], row["effective graphs"]) == (3, 32, 2)


def test_a_run_of_a_guidance_that_fails_makes_the_report_unsound(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        main(["guidance", "--libraries", "torch==0.0.1", "--seconds", "5", "--seeds", "1", "--guidance", "random"])
    assert "ended with 2" in capsys.readouterr().err


def test_nothing_traced_is_the_users_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["throughput", "--library", "fakelib", "--target", "fakelib-1", "--state", str(tmp_path)])
    assert "no state file" in capsys.readouterr().err
