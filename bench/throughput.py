"""How fast the engine is on a fixed sample of apis: repeated runs with one worker and with two, and a profile."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.harness import (
    LibraryOption,
    MeasuredLibrary,
    Measurement,
    StateOption,
    TargetOption,
    medians,
    printed,
    run_engine,
    sample,
    subjects,
    traced,
    traced_rows,
)
from fuzz_core.campaign.plans import make_plan
from fuzz_core.execution.zygote import environment

PROFILE_SECONDS = 60.0
# Columns of the table for runs with one worker. Memory is in MB.
FIGURES = {
    "apis, invocations": "{apis}, {invocations}",
    "runs with one worker": "{repeats} of {seconds:.0f} s, {pinned}",
    "tests, one worker": "{rate:,.0f}/s",
    "unique of those made": "{unique:.1%}",
    "valid of those executed": "{valid:.1%}",
    "unique valid tests": "{unique_valid_rate:,.0f}/s",
    "time inside the library": "{inside:.1%}",
    "time outside leases": "{lost:.1%} (restarts, hangs, limits)",
    "processes": "{restarts:.0f} forked in {forking:.1f} s; {deaths:.0f} died",
    "hangs": "{hangs:.0f}, {hanging:.1f} s",
    "start-up": "{start_up:.1f} s",
    "peak memory, worker": "{worker_memory:,.0f} MB",
    "peak memory, controller": "{controller_memory:,.0f} MB",
}


def measure(
    library: LibraryOption = None,
    target: TargetOption = None,
    state: StateOption = None,
    apis: Annotated[
        int | None, typer.Option(help="Number of sampled apis (default: 300 of torch, 150 of TensorFlow)")
    ] = None,
    seconds: Annotated[float, typer.Option("--time", help="Time of a run in seconds, start-up included")] = 60.0,
    repeats: Annotated[int, typer.Option(help="Number of runs with each number of workers")] = 3,
    seed: Annotated[int, typer.Option(help="Random seed of the first run; each further run adds one")] = 1,
    schedule: Annotated[str, typer.Option(help="Order of apis: bandit, fair or uniform")] = "bandit",
    pair: Annotated[bool, typer.Option(help="Also run with two workers")] = True,
    profile: Annotated[bool, typer.Option(help="Also measure where a worker's time goes")] = True,
) -> Measurement:
    """Measure the engine on a fixed sample of apis.

    Figures are medians of repeated runs.
    """
    found = []
    with tempfile.TemporaryDirectory(prefix="nightfuzz-bench-") as scratch:
        for each in subjects(library, target):
            subject, folder = each._replace(apis=apis or each.apis), Path(scratch) / each.library
            with traced(subject, state, folder) as session:
                rows = traced_rows(session.store, session.target.key)
                names = sample([row.api for row in rows], subject.apis)
                chosen = [row for row in rows if row.api in set(names)]
                plan = folder / "plan.jsonl"
                make_plan(session, plan, chosen, seed=seed)
                made = session.target
            runs = {
                workers: [
                    run_engine(
                        folder,
                        made.key,
                        workers,
                        seconds=seconds,
                        seed=seed + repeat,
                        schedule=schedule,
                        patterns=names,
                    ).figures
                    for repeat in range(repeats)
                ]
                for workers in ((1, 2) if pair else (1,))
            }
            figures = _figures(subject, len(names), len(chosen), runs)
            figures["target"] = made.info.get("summary", made.key)
            if profile:
                command = [
                    made.python,
                    "-m",
                    "bench.profile",
                    made.library,
                    str(plan),
                    str(min(seconds, PROFILE_SECONDS)),
                ]
                figures["profile"] = printed(command, environment(folder))
            found.append(figures)
    columns = {figures["library"]: _column(figures) for figures in found}
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    table = [{"": name, **{of: column.get(name, "") for of, column in columns.items()}} for name in names]
    return Measurement(table, {"subjects": found})


def _figures(
    subject: MeasuredLibrary, apis: int, invocations: int, runs: Mapping[int, list[dict[str, Any]]]
) -> dict[str, Any]:
    one: dict[str, Any] = medians(runs[1])
    pinned = "on a core of its own" if runs[1][0]["pinned"] else "not pinned"
    figures = {
        "library": subject.library,
        "apis": apis,
        "invocations": invocations,
        "one": {**one, "pinned": pinned, "repeats": len(runs[1])},
        "runs": [{**run, "workers": workers} for workers, of in runs.items() for run in of],
    }
    if 2 in runs:
        two = medians(runs[2])
        figures["two"] = {**two, "times_one": two["rate"] / one["rate"]}
    return figures


def _column(figures: dict[str, Any]) -> dict[str, str]:
    """Return the figures of one library as text."""
    values = {**figures, **figures["one"]}
    column = {"target": figures["target"]} | {name: text.format_map(values) for name, text in FIGURES.items()}
    if "two" in figures:
        column["tests, two workers"] = "{rate:,.0f}/s, {times_one:.2f} times one".format_map(figures["two"])
    if "profile" in figures:
        counts, seconds = figures["profile"]["counts"], figures["profile"]["seconds"]
        tests = max(sum(count for kind, count in counts.items() if kind != "duplicate"), 1)
        total = sum(seconds.values()) or 1.0
        for part, spent in sorted(seconds.items(), key=lambda item: -item[1]):
            column[f"profile: {part}"] = f"{spent / total:.1%}, {spent / tests * 1e6:.1f} µs per test"
    return column
