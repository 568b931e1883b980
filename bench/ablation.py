"""What each part of the engine is worth: equal time, the same machine, several stream seeds (`make ablation`).

Every variant fuzzes copies of one traced state. All findings are then examined together, each signature once, and a
variant's bugs are its findings that were confirmed: so a variant is not charged for triage.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from bench.plot import line_plot
from fuzz_core.campaign.examination import TriageOptions, examine
from fuzz_core.campaign.fuzzing import FuzzOptions, fuzz
from fuzz_core.campaign.listener import FuzzReport
from fuzz_core.campaign.session import Session
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import FindingRow, TargetRecord
from fuzz_core.store.schema import RESULT_TABLES
from fuzz_core.triage.signature import signature

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "full engine": {},
    "no bandit": {"schedule": "fair"},
    "uniform": {"schedule": "uniform"},
    "no corpus growth": {"grow": False},
    "uniform, no growth": {"schedule": "uniform", "grow": False},
    "no type mutation": {"disabled": ["type"]},
    "no random mutation": {"disabled": ["random"]},
    "no database mutation": {"disabled": ["database"]},
}


class Trial(NamedTuple):
    """One run of a variant: its figures, and its findings by signature."""

    variant: str
    seed: int
    report: FuzzReport
    signatures: frozenset[str]


def signature_of(finding: FindingRow) -> str:
    """What a finding looks like before its examination."""
    return signature(finding.api, finding.verdict, finding.outcome).text


def trial(base: Path, place: Path, variant: str, seed: int, seconds: float, workers: int) -> list[FindingRow]:
    """Fuzzes a copy of the base state, left at `place`; its findings."""
    place.mkdir()
    shutil.copy(base, place / "state.db")
    with open_store(place / "state.db") as store:
        session = Session(store, the_target(store.targets()), place, workers)
        fuzz(session, FuzzOptions(seconds=seconds, seed=seed, oracles=["crash"], **VARIANTS[variant]))
        return store.findings(session.target.key)


def the_target(targets: Sequence[TargetRecord]) -> TargetRecord:
    """The target that was used last."""
    return max(targets, key=lambda record: record.made_at)


def report_of(place: Path) -> FuzzReport:
    """The figures that the trial's run has on record."""
    with open_store(place / "state.db", read_only=True) as store:
        summary = dict(store.runs()[-1].summary)
    summary.pop("rate")
    return FuzzReport(**summary)


def base_of(state: Path, folder: Path) -> Path:
    """A copy of a state with nothing in it but what tracing has left."""
    path = folder / "base.db"
    with closing(sqlite3.connect(state / "state.db")) as source, closing(sqlite3.connect(path)) as copy:
        source.backup(copy)
    with open_store(path):
        pass
    with closing(sqlite3.connect(path)) as copy, copy:
        for table in RESULT_TABLES:
            copy.execute(f"DELETE FROM {table}")
    return path


def confirmed(base: Path, folder: Path, findings: Sequence[FindingRow], seconds: float, workers: int) -> set[str]:
    """The signatures whose findings turn out to be bugs, all trials together."""
    place = folder / "judged"
    place.mkdir()
    shutil.copy(base, place / "state.db")
    with open_store(place / "state.db") as store:
        session = Session(store, the_target(store.targets()), place, workers)
        run = store.start_run(session.target.key, 0, {})
        for finding in findings:
            store.add_finding(session.target.key, run, finding.test, finding.verdict, finding.outcome)
        examine(session, TriageOptions(deadline=session.clock() + seconds))
        return {signature_of(finding) for finding in store.findings(session.target.key) if finding.bug is not None}


def row(variant: str, trials: Sequence[Trial], bugs: set[str]) -> dict[str, Any]:
    """Medians over the seeds of a variant."""

    def median(values: Sequence[float]) -> float:
        return round(statistics.median(values), 1)

    found = [trial.signatures & bugs for trial in trials]
    return {
        "variant": variant,
        "bugs": median([len(each) for each in found]),
        "bugs of each seed": [len(each) for each in found],
        "bugs of all seeds": len(frozenset().union(*found)),
        "apis with a finding": median([len({text.split(":")[0] for text in each.signatures}) for each in trials]),
        "signatures": median([len(trial.signatures) for trial in trials]),
        "operators": median([trial.report.operators for trial in trials]),
        "outcome classes": median([trial.report.classes for trial in trials]),
        "tests per second": median([trial.report.rate for trial in trials]),
    }


def show(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """A table for a person."""
    table = Table(*rows[0], box=None, header_style="bold")
    for each in rows:
        table.add_row(*(str(value) for value in each.values()))
    console.print(table)


def main(
    state: Annotated[Path, typer.Option(help="State directory with traced invocations")] = Path(".nightfuzz"),
    seconds: Annotated[float, typer.Option(help="Time of each trial")] = 60.0,
    seeds: Annotated[int, typer.Option(help="Stream seeds per variant")] = 5,
    workers: Annotated[int, typer.Option(help="Worker processes")] = 2,
    triage: Annotated[float, typer.Option(help="Seconds for confirming all that was found")] = 900.0,
    variant: Annotated[list[str] | None, typer.Option(help="Only these variants")] = None,
    out: Annotated[Path, typer.Option(help="Where the table and the plot go")] = Path("docs"),
) -> None:
    """Runs all trials, in turns so that a change of the machine's speed meets all variants alike."""
    console = Console(width=180)
    chosen = variant or list(VARIANTS)
    with tempfile.TemporaryDirectory(prefix="nightfuzz-") as name:
        folder = Path(name)
        base = base_of(state, folder)
        trials: list[Trial] = []
        findings: list[FindingRow] = []
        for seed in range(1, seeds + 1):
            for each in chosen:
                place = folder / f"{each}-{seed}"
                found = trial(base, place, each, seed, seconds, workers)
                findings += found
                report = report_of(place)
                trials.append(Trial(each, seed, report, frozenset(map(signature_of, found))))
                console.print(
                    f"{each}, seed {seed}: {len(trials[-1].signatures)} signatures, {report.rate:,.0f} tests/s"
                )
        began = time.monotonic()
        bugs = confirmed(base, folder, findings, triage, workers)
        console.print(f"{len(bugs)} signatures confirmed in {time.monotonic() - began:.0f} s")
    rows = [row(each, [trial for trial in trials if trial.variant == each], bugs) for each in chosen]
    show(console, rows)
    out.mkdir(parents=True, exist_ok=True)
    (out / "ablation.json").write_text(json.dumps({"seconds": seconds, "seeds": seeds, "rows": rows}, indent=1) + "\n")
    series = {each: [trial.report.growth for trial in trials if trial.variant == each] for each in chosen}
    lines = {name: _coverage(points) for name, points in series.items()}
    line_plot(out / "ablation.svg", lines, "seconds", "operators reached, by dtype (median)")


def _coverage(growths: Sequence[Sequence[Sequence[float]]]) -> list[tuple[float, float]]:
    """(seconds, operators): the median over the seeds, point by point."""
    same = zip(*growths, strict=False)
    return [(statistics.median(p[0] for p in points), statistics.median(p[3] for p in points)) for points in same]


if __name__ == "__main__":
    typer.run(main)
