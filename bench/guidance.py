"""Bugs that the comparison of models finds by each guidance, in equal time, with several seeds.

Each run begins in an empty state directory, so a guidance knows only what it learns in its run. The runs of one seed
go on at the same time, one process each, so that a slow minute of the machine hits all guidances.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from bench.harness import STATE_FILE, Measurement, run_fuzz
from fuzz_core.campaign.papers import GANDALF, GandalfSettings
from fuzz_core.store.statefile import open_store

LIBRARIES = "torch==2.13.0,tensorflow-cpu==2.21.0,jittor==1.3.11.0"


class GuidanceRun(NamedTuple):
    """The figures of one run of a guidance."""

    graphs: int
    effective: int  # graphs that triggered a finding
    signatures: int  # different signatures of findings, before they are examined
    distance: float  # mean edit distance of effective graphs
    bugs: frozenset[tuple[str, str]]  # target and signature of each bug


def measure(
    libraries: Annotated[str, typer.Option(help="Libraries or builds to compare, separated by commas")] = LIBRARIES,
    guidance: Annotated[
        list[str] | None, typer.Option(help="Guidance to measure (default: the paper's and ours)")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Time of each run in seconds, its examination included")] = 300.0,
    seeds: Annotated[int, typer.Option(help="Number of runs of each guidance, each with another seed")] = 5,
    first: Annotated[int, typer.Option(help="Random seed of the first run")] = 1,
) -> Measurement:
    """Compare guidances by the bugs that they find."""
    chosen = guidance or [GANDALF.guidance, GandalfSettings().guidance]
    trials: dict[str, list[GuidanceRun]] = {name: [] for name in chosen}
    failed = 0
    for seed in range(first, first + seeds):
        common = ["--engine", "gandalf", "--libraries", libraries, "--time", f"{seconds:.0f}s", "--workers", "1"]
        words = [[*common, "--seed", str(seed), "--guidance", name] for name in chosen]
        with ThreadPoolExecutor(len(chosen)) as pool:
            for name, trial in zip(chosen, pool.map(_trial, words), strict=True):
                if trial is None:
                    failed += 1
                    continue
                trials[name].append(trial)
                print(f"{name}, seed {seed}: {len(trial.bugs)} bugs in {trial.graphs} graphs", flush=True)
    rows = [_row(name, each) for name, each in trials.items() if each]
    return Measurement(rows or [{"guidance": "none"}], {"seconds": seconds, "libraries": libraries}, not failed)


def _trial(words: Sequence[str]) -> GuidanceRun | None:
    """Return the figures of a run; None if it fails."""
    with tempfile.TemporaryDirectory(prefix="nightfuzz-") as name:
        if not (said := run_fuzz(Path(name), words)):
            return None
        fuzzed = said["fuzz"]
        with open_store(Path(name) / STATE_FILE) as store:
            bugs = frozenset((bug.target, bug.signature) for bug in store.bugs())
    effective, distance = sum(fuzzed["effective"].values()), fuzzed["models"][""]
    return GuidanceRun(fuzzed["tests"], effective, fuzzed["signatures"], distance, bugs)


def _row(guidance: str, trials: Sequence[GuidanceRun]) -> dict[str, object]:
    def median(name: str) -> float:
        return round(float(statistics.median(getattr(each, name) for each in trials)), 2)

    return {
        "guidance": guidance,
        "bugs": statistics.median(len(each.bugs) for each in trials),
        "bugs of each seed": [len(each.bugs) for each in trials],
        "bugs of all seeds": len(frozenset[tuple[str, str]]().union(*(each.bugs for each in trials))),
        "signatures": median("signatures"),
        "graphs": median("graphs"),
        "effective graphs": median("effective"),
        "mean edit distance": median("distance"),
    }
