"""Bugs that the engine finds without each of its parts, in equal time, on one machine, with several stream seeds.

Every variant fuzzes copies of one traced state. All findings are then examined together, each signature once, and a
variant's bugs are its findings that were confirmed. So triage takes no time from a variant.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from bench.harness import Measurement, StateOption, TargetOption, medians, run_engine, subjects, traced
from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.session import Session
from fuzz_core.store.records import FindingRow
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
MEDIANS = {"operators": "operators", "classes": "outcome classes", "rate": "tests per second"}


class Sample(NamedTuple):
    """A run of a variant: its figures, and its findings by signature."""

    variant: str
    figures: Mapping[str, Any]
    signatures: frozenset[str]


def measure(
    library: Annotated[str, typer.Option(help="Library to fuzz: torch or tensorflow")] = "torch",
    target: TargetOption = None,
    state: StateOption = None,
    seconds: Annotated[float, typer.Option(help="Time of each trial, in seconds")] = 60.0,
    seeds: Annotated[int, typer.Option(help="Trials of each variant, each with another random seed")] = 5,
    workers: Annotated[int, typer.Option(help="Number of worker processes")] = 2,
    triage: Annotated[float, typer.Option(help="Time limit for confirming all findings, in seconds")] = 900.0,
    variant: Annotated[
        list[str] | None, typer.Option(help="Variant of the engine to measure; all if none is given")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw operators over time into this SVG file")] = None,
) -> Measurement:
    """Measure what each part of the engine is worth.

    Variants take turns, so a slow minute of the machine hits all.
    """
    chosen = variant or list(VARIANTS)
    samples: list[Sample] = []
    findings: list[FindingRow] = []
    with (
        tempfile.TemporaryDirectory(prefix="nightfuzz-") as name,
        traced(subjects(library, target)[0], state, Path(name)) as session,
    ):
        session.workers = workers
        for seed in range(1, seeds + 1):
            for each in chosen:
                options = {"seconds": seconds, "seed": seed, **VARIANTS[each]}
                trial = run_engine(Path(name), session.target.key, workers, **options)
                findings += trial.findings
                samples.append(Sample(each, trial.figures, frozenset(map(_signature, trial.findings))))
                rate = trial.figures["rate"]
                print(f"{each}, seed {seed}: {len(samples[-1].signatures)} signatures, {rate:,.0f} tests/s", flush=True)
        began = time.monotonic()
        bugs = _confirmed(session, findings, triage)
        print(f"{len(bugs)} signatures confirmed in {time.monotonic() - began:.0f} s", flush=True)
    of = {each: [sample for sample in samples if sample.variant == each] for each in chosen}
    if plot:
        _draw(plot, {each: [sample.figures["growth"] for sample in several] for each, several in of.items()})
    return Measurement(
        [_row(each, several, bugs) for each, several in of.items()], {"seconds": seconds, "seeds": seeds}
    )


def _signature(finding: FindingRow) -> str:
    """Return the signature of a finding before its examination."""
    return signature(finding.api, finding.verdict, finding.outcome).text


def _confirmed(session: Session, findings: Sequence[FindingRow], seconds: float) -> set[str]:
    """Return the signatures whose findings turn out to be bugs, all trials together."""
    store, key = session.store, session.target.key
    run = store.start_run(key, 0, {})
    for finding in findings:
        store.add_finding(key, run, finding.test, finding.verdict, finding.outcome)
    examine(session, TriageOptions(deadline=session.clock() + seconds))
    return {_signature(finding) for finding in store.findings(key) if finding.bug is not None}


def _row(variant: str, samples: Sequence[Sample], bugs: set[str]) -> dict[str, Any]:
    """Return medians over the seeds of a variant."""
    found = [sample.signatures & bugs for sample in samples]
    figures = medians([sample.figures for sample in samples])
    apis = [len({text.split(":")[0] for text in sample.signatures}) for sample in samples]
    return {
        "variant": variant,
        "bugs": statistics.median(map(len, found)),
        "bugs of each seed": [len(each) for each in found],
        "bugs of all seeds": len(frozenset().union(*found)),
        "apis with a finding": statistics.median(apis),
        "signatures": statistics.median(len(sample.signatures) for sample in samples),
        **{words: round(figures[name], 1) for name, words in MEDIANS.items()},
    }


def _draw(path: Path, growths: Mapping[str, Sequence[Sequence[Sequence[float]]]]) -> None:
    """Draw operators reached over time: the median over the seeds of a variant, point by point."""
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("svg")
    # The same lines give the same file, whose letters are text and not outlines.
    mpl.rcParams.update({"svg.hashsalt": "nightfuzz", "svg.fonttype": "none"})
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, several in growths.items():
        points = list(zip(*several, strict=False))
        seconds, operators = ([statistics.median(each[at] for each in same) for same in points] for at in (0, 3))
        axes.plot(seconds, operators, label=name)
    axes.set_xlabel("seconds")
    axes.set_ylabel("operators reached, by dtype (median)")
    axes.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)
