"""A zygote from the controller's side: its environment, its start, the processes that it forks, jobs that they do."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

import fuzz_core
from fuzz_core.adapters import ADAPTERS_VARIABLE
from fuzz_core.adapters.dialect import compiled_folders, dialect_of, surroundings
from fuzz_core.execution.link import CompileClock, Ending, Link, Links, Output, Stopwatch
from fuzz_core.execution.scratch import Scratch, explained
from fuzz_core.ir.errors import Interrupted, NightfuzzError, UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import parse
from fuzz_core.worker import journal
from fuzz_core.worker.confinement import confined
from fuzz_core.worker.journal import Journal
from fuzz_core.worker.limits import ORDERLY

KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "TZ", "KERAS_BACKEND")
# Workers run beside each other, and their logs are not read. A bug's script has the library's own defaults.
WORKER_VARIABLES = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "1"}
SCRIPT_VARIABLES = {"TF_CPP_MIN_LOG_LEVEL": "0"}
START_SECONDS = 180.0
ANSWER_SECONDS = 30.0
END_SECONDS = 10.0
# The kernel may take as few as 200 KiB at a time (net.core.wmem_default).
MESSAGE_BYTES = 100_000
# Bytes beyond the imported library, for a process that does one job or runs given tests.
MEMORY_BYTES = 4 << 30
MAX_LINES = 200_000
TURN_SECONDS = 0.05
REMEDY = "  -> make the target again with `nightfuzz pull`; if that does not help, run `nightfuzz doctor`"


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables of untrusted code: no tokens, no user's home, one thread, a fixed hash seed."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    outside = os.environ.get(ADAPTERS_VARIABLE, "")
    fixed = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_code()), outside])),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        **WORKER_VARIABLES,
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
    return {**kept, **fixed, **(extra or {})}


def _code() -> Path:
    """Return a folder with this project and without the controller's numpy, which lies beside it where it is a wheel's.

    The same one each time: what a worker says of its own frames is part of a finding.
    """
    project = Path(fuzz_core.__file__).parent
    if not (project.parent / "numpy").exists():
        return project.parent
    cache = Path(os.environ.get("NIGHTFUZZ_CACHE") or user_cache_path("nightfuzz"))
    folder = cache / "code" / blake2b(str(project).encode(), digest_size=8).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / project.name).symlink_to(project)
    return folder


class ZygoteError(NightfuzzError):
    """The process that should fork workers cannot start, or does not answer any more."""


class Zygote:
    """A running zygote of one target.

    `role` is `list`, `trace`, `script` or `fuzz` (which needs a plan file).
    """

    def __init__(
        self,
        python: str,
        library: str,
        role: str,
        plan: Path | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.library = library
        self.stopped = stopped
        self.scratch = Scratch()
        self.root = self.scratch.path
        self.command = [python, "-m", "fuzz_core.worker", library, role]
        wanted: Mapping[str, str] = {}
        writable = [self.root]
        # Whether its children compile while they run.
        self.compiles = False
        # An unknown library has neither, which the process itself will say.
        with contextlib.suppress(UserError):
            dialect = dialect_of(library)
            self.compiles = bool(dialect.compiled)
            wanted = surroundings(dialect, python)
            writable += compiled_folders(dialect, python)
        self.environment = environment(self.root, wanted)
        if role == "script":
            for name in WORKER_VARIABLES.keys() - wanted.keys():
                del self.environment[name]
            self.environment |= SCRIPT_VARIABLES
        # Threads may share a zygote: one asks at a time.
        self.lock = threading.RLock()
        self.writable = writable
        self.plan = plan
        self.children = 0
        self.generation = 0
        self.ordered: deque[Link] = deque()
        self.closed = False
        self.process: subprocess.Popen[bytes] | None = None
        self.ready: dict[str, Any] = {}
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours
        command = [*self.command, str(theirs.fileno()), *([str(self.plan)] if self.plan else [])]
        command = confined(command, self.writable, self.root)
        with explained(self.root), (self.root / "zygote.log").open("wb") as log:
            try:
                self.process = subprocess.Popen(
                    command,
                    env=self.environment,
                    cwd=self.root,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                raise ZygoteError(f"the target's interpreter does not start: {error}\n{REMEDY}") from error
            finally:
                theirs.close()
        self.ready = self._answer(START_SECONDS)

    @property
    def pid(self) -> int:
        """The process that forks, below the one that guards it; 0 where it has not said so."""
        said = self.ready.get("pid")
        return said if type(said) is int else 0

    def _answer(self, seconds: float) -> dict[str, Any]:
        """Return the next datagram.

        Raises:
            ZygoteError: there is no answer in time.
            Interrupted: the user asked to stop.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.stopped() and not self.ready:
                raise Interrupted("stopped while the library was being imported")
            if select.select([self.control], [], [], 0.2)[0]:
                break
        answer = None
        with contextlib.suppress(OSError):
            answer = parse(self.control.recv(1 << 20, socket.MSG_DONTWAIT))
        if answer is None:
            raise ZygoteError(f"the target's process ended or does not answer:\n{self.log()}\n{REMEDY}")
        return answer

    def log(self) -> str:
        """Return the end of what the zygote printed."""
        path = self.root / "zygote.log"
        return path.read_text(errors="replace")[-2000:] if path.exists() else ""

    def fork(self, job: str, memory: int, **request: Any) -> Link:
        """Return a new child in an empty directory.

        Raises:
            ZygoteError: the zygote is dead, and one restart did not help.
            NoSpace: the disk is full.
        """
        with self.lock:
            try:
                child = self.order(job, memory, **request)
                self.deliver()
            except (ZygoteError, OSError):
                if self.closed:
                    raise
                self._stop()
                self.generation += 1
                self._start()
                child = self.order(job, memory, **request)
                self.deliver()
            return child

    def order(self, job: str, memory: int, **request: Any) -> Link:
        """Ask for a child without waiting for it: it can be written to, but has no pid before `deliver`."""
        self.children += 1
        directory = self.root / f"child-{self.children}"
        with explained(self.root):
            directory.mkdir(parents=True)
            output = Output(self.root / f"output-{self.children}")
            # A message of the kernel's holds no long seed.
            if len(text := json.dumps(request)) > MESSAGE_BYTES:
                path = self.root / f"request-{self.children}.json"
                path.write_text(text)
                request = {"whole": str(path)}
        child_reads, we_write = os.pipe()
        we_read, child_writes = os.pipe()
        journal_fd = journal.make()
        message = {"fork": job, "memory": memory, "directory": str(directory), **request}
        theirs = [child_reads, child_writes, output.descriptor, journal_fd]
        for ours in (we_read, we_write):
            os.set_blocking(ours, False)
        reading = Journal(journal_fd, reading=True)
        child = Link(we_write, we_read, reading, output, directory, self.generation, self.reap)
        try:
            self.control.settimeout(ANSWER_SECONDS)
            socket.send_fds(self.control, [json.dumps(message).encode()], theirs)
        except BaseException:
            child.close()
            raise
        finally:
            for descriptor in (child_reads, child_writes, journal_fd):
                os.close(descriptor)
        self.ordered.append(child)
        return child

    def deliver(self) -> None:
        """Wait until all that was ordered is there.

        Raises:
            ZygoteError: the zygote has ended; it is then closed.
        """
        while self.ordered:
            try:
                pid = int(self._answer(ANSWER_SECONDS)["pid"])
                pidfd = os.pidfd_open(pid)
            except (ZygoteError, OSError):
                self._cancel()
                raise
            child = self.ordered.popleft()
            child.pid, child.pidfd = pid, pidfd

    def delivers(self, child: Link) -> bool:
        """Wait for a child that was ordered; False where the zygote has died over it, and the child is closed."""
        with contextlib.suppress(ZygoteError, OSError):
            self.deliver()
        return child.pid > 0

    def _cancel(self) -> None:
        while self.ordered:
            self.ordered.popleft().close()

    def reap(self, child: Link, seconds: float = 1.0) -> int:
        """Return the wait status of a child that has ended or is to be ended; its descendants are then gone.

        If the zygote is gone (a library may kill its parent), the status is unknown: the child is killed, and SIGKILL
        is its status.
        """
        request = {"reap": child.pid, "seconds": seconds}
        with self.lock:
            try:
                self.deliver()
                self.control.settimeout(ANSWER_SECONDS)
                self.control.send(json.dumps(request).encode())
                return int(self._answer(ANSWER_SECONDS + seconds)["status"])
            except (OSError, ZygoteError):
                self.generation += child.generation == self.generation
                child.kill()
                return signal.SIGKILL

    def _stop(self) -> None:
        """End the zygote and all its descendants, through the process that guards it."""
        self._cancel()
        self.control.close()
        self.ready = {}
        if self.process is None:
            return
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(ORDERLY)
            self.process.stdin.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        """End the zygote and remove everything it and its children left on disk."""
        if not self.closed:
            self.closed = True
            self._stop()
            self.scratch.close()


@dataclass
class Job:
    """A task for one process, with its time limit in seconds.

    `tag` is the caller's.
    """

    name: str
    request: dict[str, Any]
    seconds: float
    tag: Any = None


@dataclass
class JobResult:
    """The messages a process sent, in order, and how it ended (`exit` with name 0 is the good end)."""

    job: Job
    messages: list[dict[str, Any]] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Outcome("exit", "0"))
    garbage: int = 0

    @property
    def complete(self) -> bool:
        """Whether the process said that it had done all it had to do."""
        return bool(self.messages) and bool(self.messages[-1].get("end"))

    def take(self, lines: Iterable[bytes]) -> None:
        """Keep the messages among the lines that have come."""
        for line in lines:
            message = parse(line)
            if message is not None and len(self.messages) < MAX_LINES:
                self.messages.append(message)
            else:
                self.garbage += 1

    def end(self, ending: Ending, late: bool = False) -> JobResult:
        """Add the last messages and the outcome, and return the result itself.

        Args:
            late: whether the process was ended because it took too long.
        """
        self.take(ending.lines)
        self.outcome = Outcome("timeout", f"{self.job.seconds:g} s") if late else ending.outcome
        return self


def run_jobs(
    zygote: Zygote,
    jobs: Iterable[Job],
    workers: int = 1,
    memory: int = MEMORY_BYTES,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[JobResult]:
    """Run jobs, `workers` at a time, and yield each result as its process ends.

    After `stop`, the waiting jobs are dropped.
    """
    waiting = iter(jobs)
    with Links[tuple[Link, JobResult, Stopwatch]](CompileClock(zygote.compiles)) as links:
        while not stop():
            while len(links.owners) < workers and (job := next(waiting, None)) is not None:
                child = zygote.fork(job.name, memory, **job.request)
                links.add(child, (child, JobResult(job), Stopwatch(links.compiling, child.pid, time.monotonic())))
            if not links.owners:
                return
            for (child, result, _), lines, ended in links.wait(TURN_SECONDS):
                result.take(lines)
                if ended:
                    yield result.end(links.bury(child))
            for child, result, watch in [*links.owners.values()]:
                if watch.seconds(time.monotonic()) > result.job.seconds:
                    yield result.end(links.bury(child), late=True)
