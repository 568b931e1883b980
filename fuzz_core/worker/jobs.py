"""What a forked process does: list apis, run a seed, fuzz the leases it is handed, or weigh an oracle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_core.adapters.documented import definitions
from fuzz_core.tracing.runner import run_seed
from fuzz_core.worker import results
from fuzz_core.worker.channel import Channel, World
from fuzz_core.worker.loop import Worker
from fuzz_core.worker.programs import Programs
from fuzz_core.worker.telling import tell


def inventory(world: World, channel: Channel, _: dict[str, Any]) -> None:
    """Sends every api and what is declared of their arguments.

    Where seeds are traced, also the library's folders and the programs of its databases, which take seconds to import.
    """
    for entry in world.listed:
        channel.send({"api": entry.api.to_json()})
    for constraint in definitions(world.adapter.library, world.listed):
        channel.send({"constraint": constraint.to_json()})
    if world.hooks is not None:
        _sources(world, channel)
    channel.send({"end": True})


def _sources(world: World, channel: Channel) -> None:
    for prefix in world.adapter.prefixes:
        file = getattr(sys.modules.get(prefix), "__file__", None)
        if file:
            channel.send({"package": [prefix, str(Path(file).parent)]})
    for name, code in world.adapter.seed_programs():
        channel.send({"program": [name, code]})


def seed(world: World, channel: Channel, job: dict[str, Any]) -> None:
    """Runs one seed under the recorder."""
    if world.hooks is None:
        raise RuntimeError("this zygote was not started for tracing")
    run_seed(world.adapter, world.listed, world.hooks, job["seed"], channel.write)


def fuzz(world: World, channel: Channel, _: dict[str, Any]) -> None:
    """Works off leases until the controller closes the pipe."""
    world.adapter.prepare()
    worker, programs = Worker(world, channel), Programs(world, channel)
    for lease in channel.lines():
        if "program" in lease:
            programs.answer(lease)
        elif "results" in lease:
            results.answer(programs, lease)
        elif "tell" in lease:
            tell(worker.execution, channel, lease)
        elif "test" in lease:
            worker.replay(lease)
        else:
            worker.work(lease)


JOBS: dict[str, Callable[[World, Channel, dict[str, Any]], None]] = {
    "inventory": inventory,
    "seed": seed,
    "fuzz": fuzz,
}
