"""A process that has imported the library and forks workers on demand: a fork costs milliseconds, an import seconds.

It speaks JSON datagrams over a Unix socket: `{"fork": job, …}` with the child's descriptors attached is answered by
`{"pid": n}`, `{"reap": pid, "seconds": s}` by `{"status": wait status}` once that child is gone.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.drawing import unit_pool
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.worker import limits
from fuzz_core.worker.channel import Channel, World
from fuzz_core.worker.jobs import JOBS
from fuzz_core.worker.journal import Journal
from fuzz_core.worker.plan import Plan

MAX_MESSAGE = 1 << 20
REAP_STEP = 0.002


def load_world(library: str, role: str, plan: str) -> World:
    """Imports the library and, by role, wraps its apis (`trace`) or reads the plan (`fuzz`)."""
    adapter, dialect = adapter_of(library), dialect_of(library)
    adapter.load()
    if role == "fuzz":
        # Drawn once here rather than in every child: with numpy's generators that costs more than the fork.
        unit_pool()
        return World(adapter, dialect, [], None, Plan(Path(plan)))
    listed = adapter.listed()
    hooks = None
    if role == "trace":
        hooks = Hooks(adapter)
        hooks.install(listed)
    # Test databases keep references to the apis they test: they are imported after the wrapping.
    list(adapter.seed_programs())
    return World(adapter, dialect, listed, hooks, None)


def serve(library: str, role: str, plan: str, descriptor: int) -> None:
    """Loads the world, says `{"ready": …}`, and answers requests until the controller is gone."""
    control = socket.socket(fileno=descriptor)
    protection = limits.cut_network()
    world = load_world(library, role, plan)
    gc.collect()
    gc.freeze()
    limits.default_signals()
    control.send(json.dumps({"ready": True, "network": protection, "modes": world.adapter.modes()}).encode())
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, 8)
        if not data:
            return
        request = json.loads(data)
        if "fork" in request:
            zygote = os.getpid()
            pid = os.fork()
            if pid == 0:
                limits.die_with_parent(zygote)
                control.close()
                _child(world, request, descriptors)
            for number in descriptors:
                os.close(number)
            answer: dict[str, Any] = {"pid": pid}
        else:
            answer = {"status": _reap(int(request["reap"]), float(request["seconds"]))}
        control.send(json.dumps(answer).encode())


def _reap(pid: int, seconds: float) -> int:
    """The wait status of a child; one that outlives the grace period is killed with its whole group.

    A child of a zygote before this one counts as killed: who forked it is gone.
    """
    try:
        return _awaited(pid, seconds)
    except ChildProcessError:
        return signal.SIGKILL


def _awaited(pid: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(REAP_STEP)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _child(world: World, request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Never returns: a job that raises ends with exit code 70 and its traceback in the output file."""
    code = 70
    try:
        os.setsid()
        incoming, outgoing, output, journal = limits.raise_descriptors(descriptors)
        limits.redirect(output)
        os.chdir(request["directory"])
        limits.limit(int(request["memory"]))
        JOBS[request["fork"]](world, Channel(incoming, outgoing, Journal(journal)), request)
        code = 0
    except BaseException:  # noqa: BLE001 - the last line of defence of a process that is about to end
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
