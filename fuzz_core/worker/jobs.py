"""What a forked process does: list apis, run a seed, fuzz the leases it is handed, or weigh an oracle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_core.adapters.documented import definitions
from fuzz_core.tracing.runner import run_seed
from fuzz_core.worker.channel import Channel, World
from fuzz_core.worker.costs import costs
from fuzz_core.worker.loop import Worker
from fuzz_core.worker.telling import tell


def inventory(world: World, channel: Channel, _: dict[str, Any]) -> None:
    """Sends every api, what is declared of their arguments, the library's folders and programs of its databases."""
    for entry in world.listed:
        channel.send({"api": entry.api.to_json()})
    for constraint in definitions(world.adapter.library, world.listed):
        channel.send({"constraint": constraint.to_json()})
    for prefix in world.adapter.prefixes:
        file = getattr(sys.modules.get(prefix), "__file__", None)
        if file:
            channel.send({"package": [prefix, str(Path(file).parent)]})
    for name, code in world.adapter.seed_programs():
        channel.send({"program": [name, code]})
    channel.send({"end": True})


def seed(world: World, channel: Channel, job: dict[str, Any]) -> None:
    """Runs one seed under the recorder."""
    if world.hooks is None:
        raise RuntimeError("this zygote was not started for tracing")
    run_seed(world.adapter, world.listed, world.hooks, job["seed"], channel.write)


def fuzz(world: World, channel: Channel, _: dict[str, Any]) -> None:
    """Works off leases until the controller closes the pipe."""
    world.adapter.prepare()
    worker = Worker(world, channel)
    for lease in channel.lines():
        if "tell" in lease:
            tell(worker.execution, channel, lease)
        elif "test" in lease:
            worker.replay(lease)
        else:
            worker.work(lease)


JOBS: dict[str, Callable[[World, Channel, dict[str, Any]], None]] = {
    "inventory": inventory,
    "seed": seed,
    "fuzz": fuzz,
    "costs": costs,
}
