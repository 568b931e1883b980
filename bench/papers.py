"""The three papers' figures by `--paper` and by default, beside the published ones: `python -m bench papers`.

Each engine runs on a copy of one state without its results, first by `fuzz --engine NAME --paper`, then without
`--paper`, in equal time with one seed. A quick run lasts 15 minutes. The published figures come from runs of hours on
other machines and builds. They show what was counted, and are no goal for a run of minutes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from bench.harness import STATE_FILE, Measurement, copy_traces, run_fuzz
from fuzz_core.modelgen.moco.nodes import BOUNDARY, DOCUMENTATION, IMPLEMENTATION, PERFORMANCE, kind_of
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store

QUICK_SECONDS = 900.0
KNOWLEDGE = "knowledge"


class Figure(NamedTuple):
    """A row of a paper's table."""

    paper: str
    table: str
    name: str
    read: Callable[[Mapping[str, Any], Store], object]  # reads the figure from a run's JSON and state
    published: str  # the published figure, by library, as printed there


def _bugs(said: Mapping[str, Any], store: Store) -> object:
    return len(store.bugs())


def _nodes(kind: str) -> Callable[[Mapping[str, Any], Store], object]:
    """Return nodes with findings of one of MoCo's four kinds."""

    def count(said: Mapping[str, Any], store: Store) -> object:
        trees = [row.id for target in store.targets() for row in store.trees(target.key)]
        return sum(kind_of(node) == kind for tree in trees for node in store.tree_nodes(tree))

    return count


def _fuzzed(name: str) -> Callable[[Mapping[str, Any], Store], object]:
    def read(said: Mapping[str, Any], store: Store) -> object:
        value = said["fuzz"].get(name, 0)
        return len(value) if isinstance(value, list | dict) else value

    return read


def _sum(name: str) -> Callable[[Mapping[str, Any], Store], object]:
    return lambda said, store: sum(said["fuzz"].get(name, {}).values())


def _distance(domain: str) -> Callable[[Mapping[str, Any], Store], object]:
    return lambda said, store: round(said["fuzz"].get("models", {}).get(domain, 0.0), 2)


def _rate(said: Mapping[str, Any], store: Store) -> object:
    tests, seconds = said["fuzz"].get("tests", 0), said["fuzz"].get("seconds", 0.0)
    return round(seconds / tests, 2) if tests else None


FIGURES = (
    Figure("freefuzz", "3", "apis with a call to mutate", _fuzzed("apis"), "torch 470, TensorFlow 688"),
    Figure("freefuzz", "5", "mutants executed", _fuzzed("tests"), "1,000 of each api"),
    Figure("freefuzz", "6", "bugs", _bugs, "torch 28, TensorFlow 21"),
    Figure("moco", "III", "programs and blocks executed", _fuzzed("tests"), "each seed: TF 72,020, torch 637,256"),
    Figure("moco", "III", "seconds of each", _rate, "TF 0.12 to 2.90, torch 0.02 to 0.57"),
    Figure("moco", "IV", "apis executed", _fuzzed("apis"), "TF 95, torch 72"),
    Figure("moco", "VII", f"nodes: {DOCUMENTATION}", _nodes(DOCUMENTATION), "bugs: Jittor 1, TF 2, torch 6"),
    Figure("moco", "VII", f"nodes: {PERFORMANCE}", _nodes(PERFORMANCE), "bugs: Jittor 1, TF 1, torch 0"),
    Figure("moco", "VII", f"nodes: {BOUNDARY}", _nodes(BOUNDARY), "bugs: Jittor 27, TF 7, torch 6"),
    Figure("moco", "VII", f"nodes: {IMPLEMENTATION}", _nodes(IMPLEMENTATION), "bugs: Jittor 10, TF 1, torch 2"),
    Figure("moco", "VII", "bugs", _bugs, "Jittor 39, TF 11, torch 14"),
    Figure("gandalf", "7", "graphs that show a bug", _sum("effective"), "137 an hour"),
    Figure("gandalf", "7", "mean edit distance, cv", _distance("cv"), "3.41"),
    Figure("gandalf", "7", "mean edit distance, nlp", _distance("nlp"), "2.88"),
    Figure("gandalf", "7", "mean edit distance, asr", _distance("asr"), "3.38"),
    Figure("gandalf", "6", "bugs", _bugs, "50 in nine builds"),
)
ENGINES = ("freefuzz", "moco", "gandalf")


def measure(
    state: Annotated[Path, typer.Option(help="State directory with recorded calls; the measurement uses a copy")],
    target: Annotated[str, typer.Option(help="Name of the traced build, as `nightfuzz history` prints it")],
    libraries: Annotated[
        str, typer.Option(help="Libraries or builds that Gandalf compares, separated by commas")
    ] = "torch,tensorflow",
    seconds: Annotated[float, typer.Option(help="Time of all runs together, in seconds")] = QUICK_SECONDS,
    seed: Annotated[int, typer.Option(help="Random seed of the runs")] = 1,
    paper: Annotated[list[str] | None, typer.Option(help="Engine to measure; all if none is given")] = None,
) -> Measurement:
    """Run each engine with and without `--paper`, and print the figures beside the published ones."""
    chosen = [each for each in ENGINES if not paper or each in paper]
    share = seconds / (2 * max(len(chosen), 1))
    rows = []
    for engine in chosen:
        about = ["--libraries", libraries] if engine == "gandalf" else ["--target", target]
        common = ["--engine", engine, "--time", f"{share:.0f}s", "--seed", str(seed), *about]
        published, own = (_ran(state, [*common, *more], engine) for more in (["--paper"], []))
        rows += [
            {
                "paper": engine,
                "table": each.table,
                "figure": each.name,
                "published": each.published,
                "--paper": published.get(each.name),
                "default": own.get(each.name),
            }
            for each in FIGURES
            if each.paper == engine
        ]
    is_complete = all(row["--paper"] is not None and row["default"] is not None for row in rows)
    return Measurement(
        rows, {"seconds of each run": share, "seed": seed, "target": target, "libraries": libraries}, is_complete
    )


def _ran(state: Path, words: list[str], engine: str) -> dict[str, object]:
    """Return the figures of one run, by name; none if the command fails, for example because the time is too short."""
    with tempfile.TemporaryDirectory(prefix="nightfuzz-") as name:
        folder = Path(name)
        copy_traces(state / STATE_FILE, folder / STATE_FILE)
        if (state / KNOWLEDGE).is_dir():
            (folder / KNOWLEDGE).mkdir()
            for each in (state / KNOWLEDGE).iterdir():
                (folder / KNOWLEDGE / each.name).write_bytes(each.read_bytes())
        if not (said := run_fuzz(folder, words)):
            return {}
        with open_store(folder / STATE_FILE) as store:
            return {each.name: each.read(said, store) for each in FIGURES if each.paper == engine}
