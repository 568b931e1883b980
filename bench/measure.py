"""All that is measured of one library: repeated runs with one worker and with two, and a profile."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_cache_path

from bench.sample import sample
from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.tracing import TraceOptions, trace
from fuzz_core.cli.session import target_of
from fuzz_core.cli.settings import Settings
from fuzz_core.execution.zygote import environment
from fuzz_core.ir.errors import NightfuzzError
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import Body
from fuzz_core.store.store import Store

STATE_FILE = "state.db"


class Subject(NamedTuple):
    """A library to be measured: its target, how many of its apis, and the seeds that are traced for it."""

    library: str
    target: str
    apis: int
    sources: tuple[str, ...]


def measure(subject: Subject, options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """The figures of one library. Raises NightfuzzError where there is nothing to measure."""
    folder = scratch / subject.library
    folder.mkdir(parents=True)
    with _traced(subject, options.state, folder) as session:
        rows = _rows(session.store, session.target.key)
        names = sample([row.api for row in rows], subject.apis)
        plan = folder / "plan.jsonl"
        chosen = [row for row in rows if row.api in set(names)]
        make_plan(session, plan, chosen, seed=options.seed)
        target = session.target
    run = {"target": target.key, "apis": names, "seconds": options.time, "schedule": options.schedule}
    singles = _repeated(folder, {**run, "workers": 1}, options)
    pairs = [] if options.no_pair else _repeated(folder, {**run, "workers": 2}, options)
    found = {
        "library": subject.library,
        "target": target.info.get("summary", target.key),
        "apis": len(names),
        "invocations": len(chosen),
        "one": summary(singles),
        "runs": singles + pairs,
    }
    if pairs:
        found["two"] = summary(pairs)
        found["two"]["times_one"] = found["two"]["rate"] / found["one"]["rate"]
    if not options.no_profile:
        found["profile"] = profile(target.python, target.library, plan, min(options.time, 60.0), folder)
    return found


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of every figure."""
    numbers = [name for name, value in runs[0].items() if isinstance(value, int | float) and name != "pinned"]
    medians = {name: statistics.median(run[name] for run in runs) for name in numbers}
    return {**medians, "pinned": runs[0]["pinned"], "repeats": len(runs)}


@contextlib.contextmanager
def _traced(subject: Subject, state: Path | None, folder: Path) -> Iterator[Session]:
    """A session on a copy of the state, with invocations on record: a bench adds nothing to a user's findings."""
    home = state or user_cache_path("nightfuzz") / "bench" / subject.library
    if state is None:
        settings = Settings.model_validate({"target": subject.target, "state": home})
        home.mkdir(parents=True, exist_ok=True)
        with open_store(home / STATE_FILE) as store:
            target = target_of(store, settings)
            if not _rows(store, target.key):
                print(f"tracing {target.key} for the first time; it is kept in {home}", file=sys.stderr)
                trace(Session(store, target, home), TraceOptions(sources=subject.sources))
    copy(home / STATE_FILE, folder / STATE_FILE)
    with open_store(folder / STATE_FILE) as store:
        settings = Settings.model_validate({"target": _key(store, subject), "state": folder})
        yield Session(store, target_of(store, settings), folder)


def _key(store: Store, subject: Subject) -> str:
    """The target on record that the subject's text means, as a key or as what was asked for; else the text itself."""
    known = [each.key for each in store.targets() if subject.target in (each.key, each.spec)]
    return known[-1] if known else subject.target


def _rows(store: Store, key: str) -> list[Body]:
    return [row for row in store.bodies(key) if row.valid or row.expected == "exception"]


def copy(source: Path, copied: Path) -> None:
    """A consistent copy of a state file that others may be working on. Raises NightfuzzError where there is none."""
    if not source.exists():
        raise NightfuzzError(f"no state file {source}")
    with (
        contextlib.closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as old,
        contextlib.closing(sqlite3.connect(copied)) as new,
    ):
        old.backup(new)


def _repeated(folder: Path, run: dict[str, Any], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every run begins from the same state: what one has learnt would make the next one look better."""
    found = []
    for repeat in range(options.repeats):
        home = folder / f"{run['workers']}-{repeat}"
        home.mkdir()
        copy(folder / STATE_FILE, home / STATE_FILE)
        chosen = {**run, "seed": options.seed + repeat, "state": str(home / STATE_FILE)}
        command = [sys.executable, "-m", "bench.once"]
        own = {**os.environ, "PYTHONPATH": environment(home)["PYTHONPATH"]}
        found.append({**_asked(command, json.dumps(chosen), own), "workers": run["workers"]})
        shutil.rmtree(home)
    return found


def profile(python: str, library: str, plan: Path, seconds: float, folder: Path) -> dict[str, Any]:
    """Where a worker's time goes; see `bench.inside`."""
    return _asked([python, "-m", "bench.inside", library, str(plan), str(seconds)], "", environment(folder))


def _asked(command: list[str], given: str, env: dict[str, str]) -> dict[str, Any]:
    """The JSON object that a program prints last."""
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, env=env, check=False)
    if done.returncode:
        raise NightfuzzError(f"{' '.join(command)} failed with exit code {done.returncode}")
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told
