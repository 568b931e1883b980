"""The flags, declared once and shared by the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path | None, typer.Option("--config", help="Settings file [default: nightfuzz.toml here, if there]")]
State = Annotated[Path | None, typer.Option("--state", help="State directory [default: .nightfuzz]")]
TargetOption = Annotated[
    str | None, typer.Option("--target", help="Target, as for `pull` [default: the one that was used last]")
]
Baseline = Annotated[str | None, typer.Option("--baseline", help="Another build to compare with, as for `pull`")]
Flavour = Annotated[str | None, typer.Option("--flavour", help="auto, cpu or cuda build [default: auto]")]
Library = Annotated[str | None, typer.Option("--library", help="Library of an interpreter that holds several")]
Index = Annotated[str | None, typer.Option("--index", help="Address of the package index [default: that of pip]")]
AllowCached = Annotated[
    bool | None, typer.Option("--allow-cached", help="Without a network, take the newest build that is kept here")
]
Workers = Annotated[int | None, typer.Option("--workers", help="Worker processes [default: 2]")]
Time = Annotated[str | None, typer.Option("--time", help="Time-box: 45m, 90s, 1h30m [default: 45m]")]
Tests = Annotated[int | None, typer.Option("--tests-count", help="Fixed number of tests instead of a time-box")]
SeedNumber = Annotated[int | None, typer.Option("--seed", help="Seed of all randomness [default: drawn]")]
ApiPattern = Annotated[list[str] | None, typer.Option("--api", help="Only apis that match, e.g. 'torch.nn.*'")]
ShardOption = Annotated[
    str | None, typer.Option("--shard", help="Share of the apis, e.g. 1/4 for the first of four of equal cost")
]
Changed = Annotated[
    bool | None, typer.Option("--changed", help="Only --tests, --models and --docs, and apis of seeds that changed")
]
Source = Annotated[str | None, typer.Option("--source", help="Seed sources: docs,tests,models [default: all]")]
Docs = Annotated[list[Path] | None, typer.Option("--docs", help="Directory of HTML, RST or Markdown pages")]
TestsDir = Annotated[list[Path] | None, typer.Option("--tests", help="Directory of pytest or unittest files")]
Models = Annotated[list[Path] | None, typer.Option("--models", help="Directory of model programs")]
SeedTime = Annotated[str | None, typer.Option("--seed-time", help="Time limit per seed [default: 60s]")]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine", help="api: calls of apis; moco: model programs; gandalf: models in several libraries [default: api]"
    ),
]
Libraries = Annotated[
    str | None,
    typer.Option("--libraries", help="Libraries or targets whose models are compared [gandalf: torch,tensorflow]"),
]
GuidanceName = Annotated[
    str | None,
    typer.Option(
        "--guidance",
        help="gandalf: random, mcmc, genetic, q, double-q, dqn, ddqn, bandit or novelty choose [default: novelty]",
    ),
]
Reward = Annotated[
    str | None,
    typer.Option(
        "--reward", help="gandalf: what disagreements, crashes, and NaN or inf are worth to guidance [default: 1,1,1]"
    ),
]
Domains = Annotated[str | None, typer.Option("--domain", help="gandalf: cv, nlp, asr [default: all]")]
ModelsShare = Annotated[
    float | None,
    typer.Option("--models-share", help="Share of the fuzzing in which model programs grow, 0 for none [default: 0.2]"),
]
NoType = Annotated[bool, typer.Option("--no-type", help="Without type mutation (the paper's ablation)")]
NoRandom = Annotated[bool, typer.Option("--no-random", help="Without random value mutation")]
NoDatabase = Annotated[bool, typer.Option("--no-database", help="Without database value mutation")]
Disable = Annotated[list[str] | None, typer.Option("--disable", help="Switch off a mutator or kind by name")]
ScheduleName = Annotated[
    str | None, typer.Option("--schedule", help="bandit, fair (equal time) or uniform (equal tests) [default: bandit]")
]
Grow = Annotated[bool | None, typer.Option("--grow/--no-grow", help="Mutate what showed something new [default: on]")]
FailOnBugs = Annotated[bool | None, typer.Option("--fail-on-bugs", help="Exit with 1 when new bugs were found")]
Sandbox = Annotated[
    str | None, typer.Option("--sandbox", help="none, auto or docker: work in a container [default: none]")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table")]


def disabled(no_type: bool, no_random: bool, no_database: bool, names: list[str] | None) -> list[str] | None:
    """Mutator kinds and names to switch off; None where no flag was given, so that the settings file counts."""
    kinds = [("type", no_type), ("random", no_random), ("database", no_database)]
    chosen = [kind for kind, off in kinds if off] + list(names or [])
    return chosen or None
