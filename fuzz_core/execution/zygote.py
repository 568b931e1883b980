"""The controller's end of a zygote: start it, have it fork, learn how its children died."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import fuzz_core
from fuzz_core.ir.errors import Interrupted, NightfuzzError
from fuzz_core.worker.journal import SIZE, Journal

START_SECONDS = 180.0
ANSWER_SECONDS = 30.0
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "TZ", "KERAS_BACKEND")


class ZygoteError(NightfuzzError):
    """The process that should fork workers cannot start, or does not answer any more."""


class Child(NamedTuple):
    """A forked process: its pipes (nonblocking read end), its journal and the file of its standard output."""

    pid: int
    to_child: int
    from_child: int
    journal: Journal
    output: Path

    def close(self) -> None:
        """Closes our ends."""
        for descriptor in (self.to_child, self.from_child):
            os.close(descriptor)


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What foreign code gets to see: no tokens, no user's home, one thread, a fixed hash seed."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    outside = os.environ.get("NIGHTFUZZ_PATH", "")
    project = str(Path(fuzz_core.__file__).parent.parent)
    fixed = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, [project, outside])),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
    return {**kept, **fixed, **(extra or {})}


class Zygote:
    """A running zygote of one target. `role` is `list`, `trace` or `fuzz` (which needs a plan file)."""

    def __init__(
        self,
        python: str,
        library: str,
        role: str,
        plan: Path | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.command = [python, "-m", "fuzz_core.worker", library, role]
        self.plan = plan
        self.stopped = stopped
        self.scratch = tempfile.TemporaryDirectory(prefix="nightfuzz-", ignore_cleanup_errors=True)
        self.root = Path(self.scratch.name)
        self.children = 0
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
        with (self.root / "zygote.log").open("wb") as log:
            try:
                self.process = subprocess.Popen(
                    command,
                    env=environment(self.root),
                    cwd=self.root,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                raise ZygoteError(f"the target's interpreter does not start: {error}") from error
            finally:
                theirs.close()
        self.ready = self._answer(START_SECONDS)

    def _answer(self, seconds: float) -> dict[str, Any]:
        """The next datagram. Raises ZygoteError when there is none in time, Interrupted when the user asked to stop."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.stopped() and not self.ready:
                raise Interrupted("stopped while the library was being imported")
            if select.select([self.control], [], [], 0.2)[0]:
                break
        try:
            answer = json.loads(self.control.recv(1 << 20, socket.MSG_DONTWAIT))
        except (OSError, ValueError):
            answer = None
        if not isinstance(answer, dict):
            raise ZygoteError(f"the target's process ended or does not answer:\n{self.log()}")
        return answer

    def log(self) -> str:
        """The end of what the zygote printed."""
        path = self.root / "zygote.log"
        return path.read_text(errors="replace")[-2000:] if path.exists() else ""

    def fork(self, job: str, memory: int, **request: Any) -> Child:
        """A new child in an empty directory. Raises ZygoteError; a dead zygote is started again once."""
        try:
            return self._fork(job, memory, request)
        except (ZygoteError, OSError):
            if self.closed:
                raise
            self._stop()
            self._start()
            return self._fork(job, memory, request)

    def _fork(self, job: str, memory: int, request: dict[str, Any]) -> Child:
        self.children += 1
        directory = self.root / f"child-{self.children}"
        directory.mkdir()
        output = self.root / f"output-{self.children}"
        child_reads, we_write = os.pipe()
        we_read, child_writes = os.pipe()
        output_fd = os.open(output, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        journal_fd = os.memfd_create("journal")
        os.ftruncate(journal_fd, SIZE)
        message = {"fork": job, "memory": memory, "directory": str(directory), **request}
        theirs = [child_reads, child_writes, output_fd, journal_fd]
        try:
            self.control.settimeout(ANSWER_SECONDS)
            socket.send_fds(self.control, [json.dumps(message).encode()], theirs)
            pid = int(self._answer(ANSWER_SECONDS)["pid"])
            journal = Journal(journal_fd)
        except BaseException:
            os.close(we_write)
            os.close(we_read)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        os.set_blocking(we_read, False)
        return Child(pid, we_write, we_read, journal, output)

    def reap(self, child: Child, seconds: float = 1.0) -> int:
        """The wait status of a child that has ended or is to be ended; its directory and output may go.

        With the zygote gone (a library may kill its parent) nobody knows it: the child is killed and counts as that.
        """
        request = {"reap": child.pid, "seconds": seconds}
        try:
            self.control.settimeout(ANSWER_SECONDS)
            self.control.send(json.dumps(request).encode())
            return int(self._answer(ANSWER_SECONDS + seconds)["status"])
        except (OSError, ZygoteError):
            kill(child)
            return signal.SIGKILL

    def _stop(self) -> None:
        self.control.close()
        self.ready = {}
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def close(self) -> None:
        """Ends the zygote and removes everything it and its children left on disk."""
        self.closed = True
        self._stop()
        self.scratch.cleanup()


def kill(child: Child) -> None:
    """Ends a child and whatever it started."""
    for send in (os.killpg, os.kill):
        try:
            send(child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
