"""`fuzz --paper`: the published algorithm, by the settings of its engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Cli

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.papers import FREEFUZZ, GANDALF, MOCO
from fuzz_core.cli.engines import calls_options, graphs_options, trees_options
from fuzz_core.cli.settings import Settings
from fuzz_core.mutation.registry import CALL_MUTATORS, MUTATORS
from fuzz_core.store.statefile import open_store

PAPER = ("fuzz", "--engine", "freefuzz", "--paper", "--seed", 1)


def test_freefuzz_makes_calls_by_the_rules_of_the_paper_alone(cli: Cli, traced: Path) -> None:
    done = cli(*PAPER, "--state", traced, "--tests-count", 300, "--api", "*.scale", "--api", "*.add", "--json")
    assert done.code == 0, done
    with open_store(traced / "state.db") as store:
        (run,) = store.runs()
        rules = {rule for finding in store.findings("fakelib-1") for rule in finding.test.rules}
        verdicts = {finding.verdict for finding in store.findings("fakelib-1")}
    assert run.options["schedule"] == "uniform" and not run.options["grow"] and not run.options["few"]
    published = {name for name, made in {**MUTATORS, **CALL_MUTATORS}.items() if made.kind != "beyond"}
    assert rules and rules <= published and {each.oracle for each in verdicts} <= set(FREEFUZZ.oracles)
    assert not {each.mode for each in verdicts} & set(dialect_of("fakelib").modes)


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        ((), ("engine 'api' follows no paper", "--engine freefuzz, --engine moco or --engine gandalf")),
        (("--engine", "freefuzz", "--schedule", "fair"), ("schedule is 'fair'", "FreeFuzz", "uniform")),
        (("--engine", "gandalf", "--guidance", "novelty"), ("guidance is 'novelty'", "Gandalf", "dqn, random")),
    ],
)
def test_what_a_paper_does_not_have_is_refused(cli: Cli, flags: tuple[str, ...], parts: tuple[str, ...]) -> None:
    done = cli("fuzz", "--paper", *flags)
    assert done.code == 2 and all(part in done.err for part in parts), done


def test_run_follows_no_paper(cli: Cli, traced: Path) -> None:
    Path("nightfuzz.toml").write_text("paper = true\n")
    done = cli("run", "--state", traced, "--target", "fakelib-1")
    assert done.code == 2 and "`paper` does not apply to `nightfuzz run`" in done.err


def test_moco_grows_as_published() -> None:
    trees = trees_options(Settings(engine="moco", paper=True), 1)
    assert (trees.growth.times_ev, trees.growth.fresh, trees.growth.favoured, trees.growth.fitted) == (0, 1, 1, 0)
    assert 3 <= trees.growth.times_mt <= 5 and trees.growth.keep == 0.5 and trees.assembled_negatives
    assert tuple(trees.oracles) == MOCO.oracles
    assert trees_options(Settings(engine="moco"), 1).growth.times_ev > 0


def test_gandalf_is_guided_as_published_or_by_a_baseline_of_the_paper() -> None:
    graphs = graphs_options(Settings(engine="gandalf", paper=True))
    assert (graphs.guidance, graphs.growth.binding, graphs.growth.ordered) == (GANDALF.guidance, True, 1.0)
    assert graphs_options(Settings(engine="gandalf", paper=True, guidance="mcmc")).guidance == "mcmc"
    assert graphs_options(Settings(engine="gandalf")).guidance == Settings().guidance


def test_single_calls_are_as_by_default_without_the_option() -> None:
    calls = calls_options(Settings(engine="freefuzz"))
    assert (calls.schedule, calls.few, calls.devices) == ("bandit", True, False) and not calls.disabled
