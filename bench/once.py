"""One run of the real engine in a process of its own: reads the options as JSON, prints the figures as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.watching import FORKING, watched
from fuzz_core.campaign.fuzzing import FuzzOptions, fuzz
from fuzz_core.campaign.listener import FuzzReport
from fuzz_core.campaign.session import Session
from fuzz_core.store.opening import open_store


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Fuzzes the apis of the options and returns the figures."""
    workers = options["workers"]
    with open_store(Path(options["state"])) as store, watched(workers) as watcher:
        (target,) = [record for record in store.targets() if record.key == options["target"]]
        session = Session(store, target, Path(options["state"]).parent, workers)
        chosen = FuzzOptions(
            seconds=options["seconds"],
            patterns=options["apis"],
            seed=options["seed"],
            oracles=("crash",),
            schedule=options["schedule"],
        )
        began = time.monotonic()
        report = fuzz(session, chosen)
        wall = time.monotonic() - began
    return {
        **figures(report, workers),
        "start_up": round(wall - report.seconds, 2),
        "restarts": watcher.counts["order"],
        "forking": round(sum(watcher.seconds[method] for method in FORKING), 2),
        "hangs": watcher.counts["timeout"],
        "hanging": round(watcher.seconds["timeout"], 2),
        "worker_memory": watcher.memory["worker"],
        "controller_memory": watcher.memory["controller"],
        "pinned": watcher.cores is not None,
    }


def figures(report: FuzzReport, workers: int) -> dict[str, Any]:
    """Rates per second of wall time, shares of executed tests (`unique`: of those made), seconds of all workers."""
    executed = sum(count for kind, count in report.outcomes.items() if kind != "duplicate")
    ok, repeated = report.outcomes["ok"], report.outcomes["duplicate"]
    available = report.seconds * workers
    return {
        "seconds": round(report.seconds, 2),
        "tests": report.tests,
        "rate": report.tests / report.seconds,
        "per_worker": report.tests / available,
        "unique": executed / max(executed + repeated, 1),
        "valid": ok / max(executed, 1),
        "unique_valid_rate": ok / report.seconds,
        "inside": report.inside / available,
        "lost": max(available - report.working, 0.0) / available,
        "deaths": report.deaths,
        "outcomes": dict(report.outcomes),
        "kept": report.kept,
        "classes": report.classes,
    }


if __name__ == "__main__":
    print(json.dumps(run(json.load(sys.stdin))))
