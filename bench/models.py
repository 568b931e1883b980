"""How many tests a second grow from each seed model: `python -m bench.models STATE TARGET --seconds 40`.

STATE is a state directory where the target has been traced and `nightfuzz moco knowledge` has been called; a copy of it
is worked on. Table III of MoCo (2024) has seconds for each test, in PAPER.
"""

from __future__ import annotations

import shutil
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from fuzz_core.campaign.moco.engine import MocoReport, fuzz_models
from fuzz_core.campaign.moco.knowledge import FOLDER, knowledge_of
from fuzz_core.campaign.moco.plot import MocoOptions
from fuzz_core.campaign.moco.seeds import Seed, seeds
from fuzz_core.campaign.session import Session
from fuzz_core.modelgen.moco.nodes import OK
from fuzz_core.modelgen.moco.seeds import shipped
from fuzz_core.store.opening import open_store
from fuzz_core.targets.compiler import make_ready

CACHE_BYTES = 1 << 34
PAPER = {
    "tensorflow": (0.25, 0.12, 0.44, 0.31, 0.30, 0.28, 0.47, 0.18, 2.90),
    "torch": (0.03, 0.03, 0.13, 0.24, 0.06, 0.02, 0.57, 0.07, 0.08),
    "jittor": (0.60, 0.01, 0.93, 0.11, 0.04, 0.01, 0.71, 0.16, 0.24),
}
MODELS = ("lenet", "squeezenet", "pointnet", "alexnet", "vgg19", "mobilenet", "resnet18", "googlenet", "lstm")


def main(
    state: Annotated[Path, typer.Argument(help="a state directory with knowledge of the target")],
    target: Annotated[str, typer.Argument(help="the key of the target in it")],
    seconds: Annotated[float, typer.Option(help="for each model, both of its styles together")] = 40.0,
    workers: Annotated[int, typer.Option(help="trees that grow at a time")] = 2,
    seed: Annotated[int, typer.Option(help="of the random streams; trees of this seed are gone on with")] = 12345,
    model: Annotated[list[str] | None, typer.Option(help="some of them alone")] = None,
) -> None:
    """Prints a line for each model: tests, those that were whole programs and ran, seconds for each test."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(state / "state.db", folder)
        shutil.copytree(state / FOLDER, Path(folder) / FOLDER)
        with open_store(Path(folder) / "state.db") as store:
            record = store.target(target)
            make_ready(record.library, Path(record.python), CACHE_BYTES)
            session = Session(store, record, Path(folder), workers)
            own = {name for name, _ in shipped(record.library)}
            found = [each for each in seeds(session) if isinstance(each, Seed) and each.program.name in own]
            options, knowledge = MocoOptions(seconds=seconds, seed=seed), knowledge_of(session, 0)
            print("model\ttests\tprograms\tseconds\tpaper\ttimes", flush=True)
            for name, styles in groupby(sorted(found, key=_place), key=_model):
                if model and name not in model:
                    continue
                report = fuzz_models(session, list(styles), knowledge, options)
                print(_line(name, record.library, report), flush=True)


def _model(seed: Seed) -> str:
    return seed.program.name.rpartition("_")[0]


def _place(seed: Seed) -> int:
    return MODELS.index(_model(seed))


def _line(name: str, library: str, report: MocoReport) -> str:
    paper = PAPER[library][MODELS.index(name)]
    each = report.seconds / report.tests if report.tests else float("inf")
    return f"{name}\t{report.tests}\t{report.nodes[OK]}\t{each:.4f}\t{paper}\t{paper / each:.1f}"


if __name__ == "__main__":
    typer.run(main)
