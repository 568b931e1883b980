"""A process that has imported the library and forks workers on demand: a fork costs milliseconds, an import seconds.

It speaks JSON datagrams over a Unix socket: `{"fork": job, …}` with the child's descriptors attached is answered by
`{"pid": n}`, `{"reap": pid, "seconds": s}` by `{"status": wait status}` once that child is gone with all it started.
Requests are answered in order.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from contextlib import suppress

# Bound at import: a test may put another function in the module's place.
from os import _exit
from pathlib import Path
from typing import Any, NoReturn

from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.drawing import unit_pool
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.worker import limits
from fuzz_core.worker.channel import Channel, World
from fuzz_core.worker.descendants import adopt, end_children, wait_for
from fuzz_core.worker.jobs import JOBS
from fuzz_core.worker.journal import Journal
from fuzz_core.worker.plan import Plan

MAX_MESSAGE = 1 << 20
# A seed may save a model; a test of one call has no business with large files.
FUZZ_FILE_BYTES = 64 << 20


def load_world(library: str, role: str, plan: str) -> World:
    """Imports the library; by role, lists its apis (`list`), wraps them too (`trace`) or reads the plan (`fuzz`)."""
    adapter, dialect = adapter_of(library), dialect_of(library)
    adapter.load()
    if role == "fuzz":
        # Drawn once here rather than in every child: with numpy's generators that costs more than the fork.
        unit_pool()
        return World(adapter, dialect, [], None, Plan(Path(plan)))
    listed = adapter.listed()
    if role != "trace":
        return World(adapter, dialect, listed, None, None)
    hooks = Hooks(adapter)
    hooks.install(listed)
    # Test databases keep references to the apis they test: they are imported after the wrapping.
    list(adapter.seed_programs())
    return World(adapter, dialect, listed, hooks, None)


def serve(library: str, role: str, plan: str, descriptor: int) -> None:
    """Loads the world, says `{"ready": …}`, and answers requests until the controller is gone."""
    control = socket.socket(fileno=descriptor)
    protection = {"network": limits.cut_network(), "shared_memory": limits.private_shared_memory()}
    world = load_world(library, role, plan)
    adopt()
    gc.collect()
    gc.freeze()
    limits.default_signals()
    ready = {"ready": True, "pid": os.getpid(), **protection, "modes": world.adapter.modes()}
    control.send(json.dumps(ready).encode())
    forked: set[int] = set()
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, 8)
        if not data:
            return
        request = json.loads(data)
        if "fork" in request:
            pid = _fork(world, control, request, descriptors)
            forked.add(pid)
            answer: dict[str, Any] = {"pid": pid}
        else:
            answer = {"status": _reap(int(request["reap"]), float(request["seconds"]), forked)}
        control.send(json.dumps(answer).encode())


def _fork(world: World, control: socket.socket, request: dict[str, Any], descriptors: list[int]) -> int:
    zygote = os.getpid()
    pid = os.fork()
    if pid == 0:
        limits.die_with_parent(zygote)
        control.close()
        _child(world, request, descriptors)
    for number in descriptors:
        os.close(number)
    return pid


def _reap(pid: int, seconds: float, forked: set[int]) -> int:
    """The wait status of a child; one that outlives the grace period is killed. What it has started ends with it.

    A child of a zygote before this one counts as killed: who forked it is gone.
    """
    if pid not in forked:
        return signal.SIGKILL
    if not wait_for(pid, seconds):
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    forked.discard(pid)
    end_children(keep=forked)
    return status


def _child(world: World, request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Never returns: a job that raises ends with exit code 70 and its traceback in the output file."""
    code = 70
    try:
        os.setsid()
        incoming, outgoing, output, journal = limits.raise_descriptors(descriptors)
        limits.redirect(output)
        request = _whole(request)
        _settle(request["directory"])
        limits.limit(int(request["memory"]), FUZZ_FILE_BYTES if request["fork"] == "fuzz" else limits.FILE_BYTES)
        JOBS[request["fork"]](world, Channel(incoming, outgoing, Journal(journal)), request)
        code = 0
    except BaseException:  # noqa: BLE001 - the last line of defence of a process that is about to end
        traceback.print_exc()
    finally:
        # A library may have closed them, or put something else in their place.
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        _exit(code)


def _whole(request: dict[str, Any]) -> dict[str, Any]:
    """A request with what lies in a file of its own because it was too long for a message."""
    if "whole" not in request:
        return request
    path = Path(request["whole"])
    text = path.read_bytes()
    path.unlink()
    return {**request, **json.loads(text)}


def _settle(directory: str) -> None:
    """What the process leaves on disk lies in a directory that goes with it."""
    os.chdir(directory)
    os.environ["TMPDIR"] = os.environ["HOME"] = directory
    tempfile.tempdir = None
