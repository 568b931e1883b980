"""A process that has imported the library and forks workers on demand: a fork costs milliseconds, an import seconds.

The zygote speaks JSON datagrams over a Unix socket. The answer to `{"fork": job, …}`, with the child's descriptors
attached, is `{"pid": n}`. The answer to `{"reap": pid, "seconds": s}` is `{"status": wait status}`, once that child and
its descendants are gone. Requests are answered in order. A job lists apis, runs a seed or a bug's script, or fuzzes the
leases it is handed.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import io
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

# Bound at import: a test may put another function in the module's place.
from os import _exit
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.codec import decode_test, encode
from fuzz_core.ir.elements import unit_pool
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Map, Prim, Seq, Value
from fuzz_core.tracing.describe import Describer
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.tracing.runner import run_seed
from fuzz_core.worker import limits
from fuzz_core.worker.confinement import NAMESPACE, VARIABLE
from fuzz_core.worker.execution import Execution
from fuzz_core.worker.journal import DISTURBED, OWN_FAULT, Journal
from fuzz_core.worker.knowledge import RecordedCalls
from fuzz_core.worker.limits import adopt, end_children, wait_for
from fuzz_core.worker.loop import Channel, Worker, World
from fuzz_core.worker.observers import GARBAGE, garbage, resident
from fuzz_core.worker.plan import Plan
from fuzz_core.worker.programs import MOST_GROWN_BYTES, Programs
from fuzz_core.worker.programs_exception import PROGRAM
from fuzz_core.worker.scripts import run_script
from fuzz_core.worker.search import CallSearcher

# The types in which elements of each kind are sent: exact for all numbers that programs compute with.
TOLD = {"f": "<f8", "i": "<i8", "u": "<i8", "b": "|b1"}
# The description of a part that cannot be described; all such parts are equal.
OPAQUE = Prim("ellipsis", None)
MAX_MESSAGE = 1 << 20
# A seed may save a model; a test of one call has no business with large files.
FUZZ_FILE_BYTES = 64 << 20


Answer = Callable[[dict[str, Any]], dict[str, Any]]


class DisturbedError(Exception):
    """An exception of nightfuzz's own code after a test that changed the library's global state."""


def results(programs: Programs, request: dict[str, Any]) -> dict[str, Any]:
    """Execute a program and return its `results`, arrays by the number of their node, or its exception."""
    programs.first = programs.first or resident()
    began = programs.clock()
    try:
        outcome, told = Outcome("ok"), _executed(request["results"])
    except BaseException as error:  # noqa: BLE001 - what a program raises, even KeyboardInterrupt, is an outcome
        outcome, told = programs.failure(error, programs.clock() - began), {}
    programs.models.forget()
    return {"came": outcome, "results": told, "spoilt": resident() - programs.first > MOST_GROWN_BYTES}


def _executed(source: str) -> dict[str, Any]:
    """Execute a program in a function of its own, so that no object of the program is held once it has ended."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, PROGRAM, "exec"), names)
    return {str(node): _told(np.asarray(value)) for node, value in names["results"].items()}


def _told(value: Any) -> list[Any]:
    """Return dtype, shape and bytes; narrow floats of a library (bfloat16) are widened."""
    kind = TOLD.get(value.dtype.kind) or TOLD["f"]
    return [kind, list(value.shape), base64.b85encode(value.astype(kind).tobytes()).decode("ascii")]


def tell(execution: Execution, request: dict[str, Any]) -> dict[str, Any]:
    """Return outcome and described result of a test case, in each requested mode, `repeats` times each.

    Every repetition has another seed and finds other garbage in memory. A result that depends on either is no function
    of the arguments.
    """
    test, describer = decode_test(request["test"]), Describer(execution.adapter, [])
    told: dict[str, list[Any]] = {mode: [] for mode in request["tell"]}
    for mode, found in told.items():
        if mode not in execution.modes or not execution.mode(mode).applies(test):
            continue
        for number in range(request["repeats"]):
            with garbage(GARBAGE[number % len(GARBAGE)]):
                outcome, result = execution.run(test._replace(seed=test.seed + number), mode)
            found.append([outcome, encode(described(describer, result)) if outcome.kind == "ok" else None])
    return {"told": told}


def described(describer: Describer, result: Any) -> Value:
    """Return the description of a result, with OPAQUE for every part that has none."""
    with suppress(Undescribable):
        return describer.describe(result)
    if isinstance(result, list | tuple):
        return Seq("list" if isinstance(result, list) else "tuple", tuple(described(describer, r) for r in result))
    if isinstance(result, dict):
        return Map(tuple((str(key), described(describer, item)) for key, item in result.items()))
    return OPAQUE


def inventory(world: World, channel: Channel, _: dict[str, Any]) -> None:
    """Send every api and the declared constraints of their arguments.

    If seeds are traced, the library's folders and the programs of its databases are sent as well. The import of the
    databases takes seconds.
    """
    for entry in world.listed:
        channel.send({"api": entry.api})
    for constraint in world.adapter.definitions(world.listed):
        channel.send({"constraint": constraint})
    if world.hooks is not None:
        for prefix in world.adapter.prefixes:
            if file := getattr(sys.modules.get(prefix), "__file__", None):
                channel.send({"package": [prefix, str(Path(file).parent)]})
        for program in world.adapter.seed_programs():
            channel.send({"program": program})
    channel.send({"end": True})


def seed(world: World, channel: Channel, job: dict[str, Any]) -> None:
    """Run one seed under the recorder."""
    if world.hooks is None:
        raise RuntimeError("this zygote was not started for tracing")
    run_seed(world.adapter, world.listed, world.hooks, job["seed"], channel.write)


def fuzz(world: World, channel: Channel, _: dict[str, Any]) -> None:
    """Execute leases until the controller closes the pipe."""
    world.adapter.prepare()
    worker, programs = Worker(world, channel), Programs(world, channel)
    if not world.knowledge:
        worker.execution.start_devices()
    answers: dict[str, Answer] = {
        "results": partial(results, programs),
        "tell": partial(tell, worker.execution),
        "test": worker.replay,
    }
    try:
        answer_leases(worker, programs, answers, CallSearcher(world, worker).search if world.knowledge else worker.work)
    except Exception as error:
        if worker.is_spoilt():
            raise DisturbedError("the library's global state had changed before") from error
        raise


def answer_leases(
    worker: Worker, programs: Programs, answers: Mapping[str, Answer], work: Callable[[dict[str, Any]], None]
) -> None:
    """Execute leases until the controller closes the pipe.

    Args:
        worker: the worker of the process.
        programs: executes leases of model programs.
        answers: maps a key of a lease to its function.
        work: executes a lease without such a key.
    """
    channel = worker.channel
    for lease in channel.lines():
        asked = next((name for name in answers if name in lease), None)
        if "program" in lease:
            programs.answer(lease)
        elif asked is None:
            work(lease)
        else:
            worker.journal.begin(lease["lease"], 0)
            told = answers[asked](lease)
            worker.journal.end()
            channel.send({"replayed": lease["lease"], **told})


def script(world: World, channel: Channel, job: dict[str, Any]) -> None:
    """Run a bug's script as a program of its own, and send how it ended."""
    channel.send({**run_script(job["script"], job["byte"], job["traced"]), "end": True})


JOBS: dict[str, Callable[[World, Channel, dict[str, Any]], None]] = {
    "inventory": inventory,
    "seed": seed,
    "fuzz": fuzz,
    "script": script,
}


def load_world(library: str, role: str, plan: str) -> World:
    """Import the library and do the work of a role.

    The role `list` lists the apis, `trace` wraps them too, `fuzz` reads the plan, `search` lists the apis and reads
    the plan, and `script` needs no more work.
    """
    adapter, dialect = adapter_of(library), dialect_of(library)
    adapter.load()
    if role == "script":
        return World(adapter, dialect, [], None, None)
    if role == "fuzz":
        # The draw is made once here and not in every child: with numpy's generators it costs more than the fork.
        unit_pool()
        return World(adapter, dialect, [], None, Plan(Path(plan)))
    listed = adapter.listed()
    if role == "search":
        unit_pool()
        read = Plan(Path(plan))
        return World(adapter, dialect, listed, None, read, RecordedCalls(read, adapter, listed))
    if role != "trace":
        return World(adapter, dialect, listed, None, None)
    hooks = Hooks(adapter)
    hooks.install(listed)
    # Test databases keep references to the apis they test: they are imported after the wrapping.
    list(adapter.seed_programs())
    return World(adapter, dialect, listed, hooks, None)


def serve(library: str, role: str, plan: str, descriptor: int) -> None:
    """Load the world, say `{"ready": …}`, and answers requests until the controller is gone."""
    control = socket.socket(fileno=descriptor)
    confinement = os.environ.pop(VARIABLE, "").split(",")
    protection = {
        "network": "namespace" if NAMESPACE in confinement else limits.cut_network(),
        "shared_memory": NAMESPACE in confinement,
    }
    world = load_world(library, role, plan)
    adopt()
    gc.collect()
    gc.freeze()
    limits.default_signals()
    ready = {"ready": True, "pid": os.getpid(), **protection, "modes": world.adapter.device_modes()}
    control.send(json.dumps(ready).encode())
    forked: set[int] = set()
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, 8)
        if not data:
            return
        request = json.loads(data)
        if "fork" in request:
            zygote, pid = os.getpid(), os.fork()
            if pid == 0:
                limits.die_with_parent(zygote)
                control.close()
                _child(world, request, descriptors)
            for number in descriptors:
                os.close(number)
            forked.add(pid)
            answer: dict[str, Any] = {"pid": pid}
        else:
            answer = {"status": _reap(int(request["reap"]), float(request["seconds"]), forked)}
        control.send(json.dumps(answer).encode())


def _reap(pid: int, seconds: float, forked: set[int]) -> int:
    """Return the wait status of a child, which is killed after the grace period.

    Its descendants end as well.

    A child of an earlier zygote counts as killed: the process that forked it is gone.
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
    """Run a job and end the process.

    A job that raises ends with OWN_FAULT or DISTURBED, and its traceback ends the output file.
    """
    code = OWN_FAULT
    try:
        os.setsid()
        incoming, outgoing, output, journal = limits.raise_descriptors(descriptors)
        limits.redirect(output)
        if "whole" in request:
            # The request was too long for a message.
            path = Path(request["whole"])
            request |= json.loads(path.read_bytes())
            path.unlink()
        # Files that the process leaves lie in a directory that is removed with it.
        directory = request["directory"]
        os.chdir(directory)
        os.environ["TMPDIR"] = os.environ["HOME"] = directory
        tempfile.tempdir = None
        limits.limit(int(request["memory"]), FUZZ_FILE_BYTES if request["fork"] == "fuzz" else limits.FILE_BYTES)
        JOBS[request["fork"]](world, Channel(incoming, outgoing, Journal(journal)), request)
        code = 0
    except BaseException as error:  # noqa: BLE001 - the last line of defence of a process that is about to end
        # The library may have taken the memory, damaged Python's own objects, or sent a signal.
        # A seed may have replaced any object.
        disturbs = isinstance(error, MemoryError | SystemError | DisturbedError)
        lacks_memory = world.dialect.out_of_memory.search(f"{type(error).__name__}: {error}")
        is_brought_about = request["fork"] == "seed" or disturbs or lacks_memory
        code = OWN_FAULT if isinstance(error, Exception) and not is_brought_about else DISTURBED
        with suppress(Exception):
            sys.stdout.flush()
        traceback.print_exc()
    finally:
        # A library may have closed the streams, or replaced them.
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        _exit(code)
