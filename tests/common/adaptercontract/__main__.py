"""The server of the checks: it runs until standard input ends, and sends the library's output to standard error."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from adaptercontract import catalogue, results, tensors, texts
from adaptercontract.world import Problems, World

SHOWN = 12
CHECKS: dict[str, Callable[..., Problems]] = {
    check.__name__: check
    for check in (
        catalogue.loading,
        catalogue.listing,
        catalogue.resolving,
        catalogue.refusing,
        catalogue.constraints,
        tensors.bounding,
        tensors.values,
        tensors.written_to,
        tensors.round_trip,
        tensors.spelled,
        results.random,
        results.comparing,
        results.relations,
        results.errors,
        results.ways,
        texts.references,
        texts.patterns,
    )
}
# Checks that change the library: each runs in a process of its own.
CHANGING: dict[str, Callable[..., Problems]] = {"hooks": catalogue.hooks, "state": results.state}


def problems(check: Callable[..., Problems], world: World, arguments: list[Any]) -> str:
    """Returns the problems of one check, as JSON; an exception in the check is a problem, too."""
    try:
        found = list(check(world, *arguments))
    except Exception:  # noqa: BLE001 - the tests show it
        found = [traceback.format_exc()[-3000:]]
    return json.dumps([text[-3000:] for text in found[:SHOWN]])


def apart(check: Callable[..., Problems], world: World, arguments: list[Any]) -> str:
    """Runs the check in a forked process and returns its problems; the death of that process is a problem, too."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, problems(check, world, arguments).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        text = lines.read()
    status = os.waitpid(pid, 0)[1]
    return text if status == 0 else json.dumps([f"{check.__name__} ended its process: {status}"])


def main() -> None:
    """Serves the checks of one library."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        world = World(sys.argv[1])
        print(json.dumps({"dtypes": world.dtypes, "checks": [*CHECKS, *CHANGING]}), file=out, flush=True)
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            answer = (
                apart(CHANGING[name], world, arguments)
                if name in CHANGING
                else problems(CHECKS[name], world, arguments)
            )
            print(answer, file=out, flush=True)


if __name__ == "__main__":
    main()
