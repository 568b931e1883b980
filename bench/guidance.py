"""What guidances bring in as many graphs: `python -m bench.guidance TARGET TARGET [TARGET] --graphs 300 --seeds 3`.

The targets have to be there (`nightfuzz pull`). Every guidance begins anew for each seed of the stream of graphs.
"""

from __future__ import annotations

from collections import Counter
from statistics import mean
from typing import Annotated

import typer

from bench.sides import sides
from fuzz_core.campaign.gandalf.engine import fuzz_graphs
from fuzz_core.campaign.gandalf.figures import GandalfOptions, GandalfReport
from fuzz_core.modelgen.gandalf.guides import GUIDANCE
from fuzz_core.modelgen.gandalf.table import load

HEAD = (
    "guidance",
    "seed",
    "graphs",
    "per second",
    "effective",
    "an hour",
    "mED",
    "signatures",
    "mED by domain",
    "effective",
    "symptoms",
)


def main(
    specs: Annotated[list[str], typer.Argument(help="targets, one of each library")],
    graphs: Annotated[int | None, typer.Option(help="how many for each guidance and seed")] = None,
    seconds: Annotated[float | None, typer.Option(help="how long instead")] = None,
    seeds: Annotated[int, typer.Option(help="streams of graphs for each guidance")] = 3,
    first: Annotated[int, typer.Option(help="the first of their seeds")] = 1,
    workers: Annotated[int, typer.Option(help="graphs at a time")] = 1,
    guidance: Annotated[list[str] | None, typer.Option(help="some of them alone")] = None,
) -> None:
    """Prints a line for each as it ends, and one of means for each guidance."""
    if (graphs is None) == (seconds is None):
        raise typer.BadParameter("say how many graphs, or how many seconds")
    names, found = guidance or list(GUIDANCE), dict[str, list[GandalfReport]]()
    print("\t".join(HEAD), flush=True)
    for seed in range(first, first + seeds):
        for name in names:
            options = GandalfOptions(seconds=seconds, graphs=graphs, seed=seed, guidance=name)
            report = once(specs, options, workers)
            found.setdefault(name, []).append(report)
            print(line(name, seed, [report]), flush=True)
    for name, reports in found.items():
        print(line(name, "mean", reports), flush=True)


def once(specs: list[str], options: GandalfOptions, workers: int) -> GandalfReport:
    """One run, in a state of its own."""
    with sides(specs, workers) as sessions:
        return fuzz_graphs(sessions, load(), options)


def line(name: str, seed: object, reports: list[GandalfReport]) -> str:
    """The figures of some runs of one guidance, in the order of HEAD."""
    graphs = mean(each.graphs.total() for each in reports)
    effective = mean(each.effective.total() for each in reports)
    seconds = mean(each.seconds for each in reports)
    figures = [f"{graphs:.0f}", f"{graphs / seconds:.2f}", f"{effective:.1f}", f"{effective / seconds * 3600:.0f}"]
    figures += [f"{mean(each.diversity() for each in reports):.2f}"]
    figures += [f"{mean(len(each.signatures) for each in reports):.1f}"]
    domains = sorted({domain for each in reports for domain in each.graphs})
    figures += [" ".join(f"{mean(each.diversity(domain) for each in reports):.2f}" for domain in domains)]
    figures += [" ".join(f"{mean(each.effective[domain] for each in reports):.1f}" for domain in domains)]
    symptoms = Counter(symptom for each in reports for _, symptom in each.symptoms.elements())
    return "\t".join([name, str(seed), *figures, str(dict(symptoms))])


if __name__ == "__main__":
    typer.run(main)
