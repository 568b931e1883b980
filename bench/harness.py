"""Shared parts of measurements: facts of the machine, samples of libraries, traced states, and runs of the engine."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from platformdirs import user_cache_path

from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.cli.session import target_of
from fuzz_core.cli.settings import Settings
from fuzz_core.execution.zygote import environment
from fuzz_core.ir.errors import NightfuzzError
from fuzz_core.ir.rng import derive
from fuzz_core.store.records import FindingRow, TargetRecord, UndecodedInvocation
from fuzz_core.store.schema import RESULT_TABLES
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store

STATE_FILE = "state.db"
# Exit codes of a command that worked: no bugs found, bugs found.
WORKED = (0, 1)
# Options that several measurements have.
LibraryOption = Annotated[
    str | None, typer.Option("--library", help="Library to measure: torch or tensorflow (default: both)")
]
TargetOption = Annotated[
    str | None, typer.Option("--target", help="Another build of the library, or the name of a build in the state")
]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="State directory with recorded calls (default: record calls first)")
]
STREAM = "bench sample 1"


class Measurement(NamedTuple):
    """Result of a measurement."""

    rows: Sequence[Mapping[str, object]]  # one table: every row has the same keys
    details: Mapping[str, Any] = {}  # more figures, for the JSON file alone
    is_sound: bool = True  # whether all is as it should be


class MeasuredLibrary(NamedTuple):
    """A library to measure."""

    library: str
    target: str  # a spec, or the key of a target on record
    apis: int = 300  # size of the sample
    sources: tuple[str, ...] = ("docs",)  # seeds that are traced if no state is given
    matrix_api: str = ""  # an api that takes two matrices


SUBJECTS = (
    MeasuredLibrary("torch", "torch==2.13.0", 300, ("docs", "tests"), "torch.add"),
    MeasuredLibrary("tensorflow", "tensorflow-cpu==2.21.0", 150, ("docs",), "tf.add"),
)


def subjects(library: str | None = None, target: str | None = None) -> list[MeasuredLibrary]:
    """Return the libraries to measure: all known ones, one of them, or an external one."""
    chosen = [each for each in SUBJECTS if library in (None, each.library)] or [
        MeasuredLibrary(library or "", library or "")
    ]
    return [each._replace(target=target) for each in chosen[:1]] if target else chosen


def sample(names: Iterable[str], size: int) -> list[str]:
    """Return `size` of the names, sorted; a name that comes or goes changes one place of the sample, not all of it."""
    return sorted(sorted(set(names), key=lambda name: (derive(STREAM, name), name))[:size])


def machine() -> dict[str, Any]:
    """Return the processor, cores that may be used, memory in GB, system, Python, and the load."""
    cpus, memory = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    model = re.search(r"^model name\s*: (.*)$", cpus.read_text() if cpus.exists() else "", re.MULTILINE)
    total = re.search(r"^MemTotal:\s*(\d+) kB", memory.read_text() if memory.exists() else "", re.MULTILINE)
    return {
        "processor": model[1] if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": round(int(total[1]) / 1e6, 1) if total else None,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def made_target(store: Store, folder: Path, spec: str) -> TargetRecord:
    """Return the target on record with this key or spec; else a target that is made."""
    known = [each.key for each in store.targets() if spec in (each.key, each.spec)]
    return target_of(store, Settings.model_validate({"target": known[-1] if known else spec, "state": folder}))


def traced_rows(store: Store, key: str) -> list[UndecodedInvocation]:
    """Return the invocations of a target that fuzzing starts from."""
    return [row for row in store.bodies(key) if row.valid or row.expected == "exception"]


@contextmanager
def traced(subject: MeasuredLibrary, state: Path | None, folder: Path) -> Iterator[Session]:
    """Yield a session on a copy of the state in `folder`, with the traces and without results.

    A target without a state is traced once and kept in the user's cache.

    Raises:
        NightfuzzError: the state file does not exist.
    """
    home = state or user_cache_path("nightfuzz") / "bench" / subject.library
    if state is None:
        home.mkdir(parents=True, exist_ok=True)
        with open_store(home / STATE_FILE) as store:
            target = made_target(store, home, subject.target)
            if not traced_rows(store, target.key):
                print(f"tracing {target.key} for the first time; it is kept in {home}", file=sys.stderr)
                trace(Session(store, target, home), TraceOptions(sources=subject.sources))
    folder.mkdir(parents=True, exist_ok=True)
    copy_traces(home / STATE_FILE, folder / STATE_FILE)
    with open_store(folder / STATE_FILE) as store:
        yield Session(store, made_target(store, folder, subject.target), folder)


def copy_state(source: Path, copied: Path) -> None:
    """Copy a state file that others may be working on.

    Raises:
        NightfuzzError: there is no state file.
    """
    if not source.exists():
        raise NightfuzzError(f"no state file {source}")
    with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as old, closing(sqlite3.connect(copied)) as new:
        old.backup(new)


def copy_traces(source: Path, copied: Path) -> None:
    """Copy a state file without the results in it.

    Raises:
        NightfuzzError: there is no state file.
    """
    copy_state(source, copied)
    with open_store(copied):
        pass  # migrates
    with closing(sqlite3.connect(copied)) as state, state:
        for table in RESULT_TABLES:
            state.execute(f"DELETE FROM {table}")


class EngineRun(NamedTuple):
    """The figures of a run of the engine."""

    figures: dict[str, Any]
    findings: list[FindingRow]


def run_engine(folder: Path, target: str, workers: int, **options: Any) -> EngineRun:
    """Fuzz a copy of the state in `folder` in a process of its own.

    Every run starts from the same state, because the corpus of an earlier run would make the next one look better.

    Args:
        options: fields of FuzzOptions.
    """
    home = folder / "trial"
    home.mkdir()
    copy_state(folder / STATE_FILE, home / STATE_FILE)
    given = {"target": target, "state": str(home / STATE_FILE), "workers": workers, "options": options}
    own = {**os.environ, "PYTHONPATH": environment(home)["PYTHONPATH"]}
    figures = printed([sys.executable, "-m", "bench.trial"], own, json.dumps(given))
    with open_store(home / STATE_FILE) as store:
        findings = store.findings(target)
    shutil.rmtree(home)
    return EngineRun(figures, findings)


def run_fuzz(state: Path, words: Sequence[str]) -> dict[str, Any]:
    """Run `nightfuzz fuzz` in a state directory, and return its JSON, which is empty if the command fails.

    A command fails if its time is too short to start, for example. Its error message goes to this process's output.
    """
    print(" ".join(words), file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "fuzz_core.cli", "fuzz", "--state", str(state), "--json", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in WORKED:
        print(f"`nightfuzz fuzz {' '.join(words)}` ended with {done.returncode}", file=sys.stderr)
        return {}
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def medians(runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the median of every figure that is a number."""
    numbers = [name for name, value in runs[0].items() if isinstance(value, int | float)]
    return {name: statistics.median(run[name] for run in runs) for name in numbers}


def printed(command: Sequence[str], env: Mapping[str, str], given: str = "") -> dict[str, Any]:
    """Return the JSON object that a program prints last.

    Raises:
        NightfuzzError: the program fails.
    """
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, env=env, check=False)
    if done.returncode:
        raise NightfuzzError(f"{' '.join(command)} failed with exit code {done.returncode}")
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures
