"""One fresh process that may crash, hang, flood its output or eat memory."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

from fuzz_core.ir.errors import Interrupted, UserError

KEPT_OUTPUT = 64 * 1024
DEFAULT_MEMORY = 8 << 30
# Of a process without a limit of address space: what it may hold, as a share of the machine's memory, and how often
# that is looked at, in seconds.
HELD_SHARE = 1 / 3
_LOOK_SECONDS = 0.05
_INHERITED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "TZ")
_CHUNK = 16 * 1024
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MACHINE_BYTES = os.sysconf("SC_PHYS_PAGES") * _PAGE_BYTES
# A shell sets the limits: a function between fork and exec is unsafe in a controller that has threads.
# The bound on processor time is for a hang that outlives a killed controller.
_LIMITED = 'ulimit -c 0; test "$1" = 0 || ulimit -v "$1"; ulimit -t "$2"; shift 2; exec "$@"'


class Finished(NamedTuple):
    """How a process ended. code: exit status, negative for a signal, None where it was stopped at the time limit."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float


class _Kept:
    """The head and the tail of a stream, drained by a thread so that the process never blocks on it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.head = b""
        self.tail = b""
        self.cut = False
        self.thread = threading.Thread(target=self._drain, daemon=True)
        self.thread.start()

    def _drain(self) -> None:
        with suppress(OSError, ValueError):
            while chunk := os.read(self.stream.fileno(), _CHUNK):
                room = KEPT_OUTPUT // 2 - len(self.head)
                self.head += chunk[:room] if room > 0 else b""
                rest = self.tail + (chunk[room:] if room > 0 else chunk)
                self.cut = self.cut or len(rest) > KEPT_OUTPUT // 2
                self.tail = rest[-(KEPT_OUTPUT // 2) :]

    def text(self) -> str:
        """What was kept, once the stream has ended (a stray grandchild may hold it open: then what there is)."""
        self.thread.join(timeout=2)
        if not self.thread.is_alive():
            self.stream.close()
        return (self.head + (b"\n...\n" if self.cut else b"") + self.tail).decode("utf-8", "replace")


class Processes:
    """Processes under way that another thread can end together; after that none starts any more."""

    def __init__(self) -> None:
        self._pids: set[int] = set()
        self._lock = threading.Lock()
        self._ended = False

    def start(self, command: Sequence[str], directory: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Starts one in a process group of its own, its output in pipes. Raises Interrupted after `end`."""
        with self._lock:
            if self._ended:
                raise Interrupted("stopped before a script was run")
            process = subprocess.Popen(
                command,
                cwd=directory,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._pids.add(process.pid)
        return process

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a process with all of its group and takes it off the list."""
        with self._lock:
            self._pids.discard(process.pid)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        """Ends all that run."""
        with self._lock:
            self._ended = True
            for pid in self._pids:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)


def run(
    command: Sequence[str],
    files: Mapping[str, str],
    timeout: float,
    memory_bytes: int = DEFAULT_MEMORY,
    env: Mapping[str, str] | None = None,
    processes: Processes | None = None,
) -> Finished:
    """Runs a command in a temporary directory that holds `files` alone.

    memory_bytes: of address space; with 0 there is no such limit, and it is killed once it holds HELD_SHARE of the
    machine's memory or DEFAULT_MEMORY.
    Its environment is a short list of harmless variables plus `env`; no core is dumped; all of its process group is
    gone on return. Raises UserError where the command cannot be started, Interrupted after `processes.end()`.
    """
    with TemporaryDirectory(prefix="nightfuzz-", ignore_cleanup_errors=True) as directory:
        for name, text in files.items():
            (Path(directory) / name).write_text(text, encoding="utf-8")
        processor = int(timeout + 60) * (os.cpu_count() or 1)
        limited = ["/bin/sh", "-c", _LIMITED, "sh", str(memory_bytes // 1024), str(processor), *command]
        environment = _environment(directory, env or {})
        held = 0 if memory_bytes else min(DEFAULT_MEMORY, int(_MACHINE_BYTES * HELD_SHARE))
        return _watch(limited, directory, timeout, held, environment, processes or Processes())


def _environment(directory: str, env: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {**inherited, "HOME": directory, "TMPDIR": directory, "PYTHONHASHSEED": "0", **env}


def _watch(
    command: Sequence[str], directory: str, timeout: float, held: int, env: dict[str, str], processes: Processes
) -> Finished:
    started = time.monotonic()
    process = processes.start(command, directory, env)
    assert process.stdout is not None and process.stderr is not None
    out, err = _Kept(process.stdout), _Kept(process.stderr)
    code: int | None = None
    try:
        code = _ended(process, started + timeout, held)
    finally:
        processes.finish(process)
    return Finished(code, out.text(), err.text(), time.monotonic() - started)


def _ended(process: subprocess.Popen[bytes], end: float, held: int) -> int | None:
    """Its exit status, that of SIGKILL where it holds more bytes than it may (0: any), None where its time is over."""
    while (left := end - time.monotonic()) > 0:
        try:
            return process.wait(min(left, _LOOK_SECONDS) if held else left)
        except subprocess.TimeoutExpired:
            if held and _held(process.pid) > held:
                return -signal.SIGKILL
    return None


def _held(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    return 0


def checked_python(python: str) -> str:
    """The path of an interpreter. Raises UserError where there is none."""
    if not os.access(python, os.X_OK):
        raise UserError(f"no interpreter at {python}", "make the target again: nightfuzz pull")
    return python
