"""Execution of scripts in fresh processes that may crash, hang, flood their output or eat memory."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

from fuzz_core.adapters.dialect import Dialect, compiled_folders, surroundings
from fuzz_core.ir.errors import Interrupted, UserError
from fuzz_core.ir.outcome import Outcome, with_complaint
from fuzz_core.triage.signature import inside, parse, printed_frames, stack_trace
from fuzz_core.worker import stack
from fuzz_core.worker.confinement import confined
from fuzz_core.worker.limits import delayed
from fuzz_core.worker.scripts import SCRIPT_NAME

KEPT_OUTPUT = 64 * 1024
_HALF = KEPT_OUTPUT // 2
DEFAULT_MEMORY = 8 << 30
# A process without a limit of memory may hold this share of the machine's memory, checked at this interval in
# seconds.
HELD_SHARE = 1 / 3
_LOOK_SECONDS = 0.05
# A process may wait for a processor this many times its time limit.
_MOST_WAITED = 9.0
_INHERITED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "TZ")
_CHUNK = 16 * 1024
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MACHINE_BYTES = os.sysconf("SC_PHYS_PAGES") * _PAGE_BYTES
# A shell sets the limits: a function between fork and exec is unsafe in a controller that has threads.
# The limit of memory is that of private memory: CUDA reserves more address space than a machine has memory.
# The limit of processor time stops a hang that outlives a killed controller.
_LIMITED = 'ulimit -c 0; test "$1" = 0 || ulimit -d "$1"; ulimit -t "$2"; shift 2; exec "$@"'

KEPT_TEXT = 2000
KEPT_FRAMES = 20
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'  File "([^"\n]+)", line \d+, in (\S+)')
_RAISED = re.compile(r"([A-Za-z_][\w.]*)(?::\s?(.*))?\Z", re.DOTALL)
_ALARM = re.compile(
    r"^.*(?:Check failed|terminate called|what\(\): |INTERNAL ASSERT|Fatal Python error|LLVM ERROR|Assertion .* failed"
    r"|(?:malloc|free|realloc|calloc|munmap_chunk)\w*\(\): |double free|corrupted|smashing detected).*$",
    re.MULTILINE,
)
_LOG_HEAD = re.compile(r"^[EF]\d{4} [^\]]*\] ")
_LOG_LINE = re.compile(r"[IW]\d{4} |WARNING: All log messages|To enable the following instructions")
# A message of Python's `warnings`: some lines, and mostly the source line that it is about.
_WARNING = re.compile(r"^\S+:\d+: \w*Warning: (?:(?:.*\n){1,8}?  (?!File )\S.*\n?|.*\n?)", re.MULTILINE)
_PACKAGES = re.compile(r".*/(?:site|dist)-packages/")
_HANDLER = Path(stack.__file__)
# gdb reads symbols for half a minute, so it runs only if the handler cannot follow the stack.
_GDB = (
    "set confirm off",
    "set pagination off",
    "set width 0",
    "set debuginfod enabled off",
    "set print thread-events off",
    "set print frame-arguments none",
    "handle SIGUSR1 SIGUSR2 SIGPIPE SIGCHLD nostop noprint",
    "run",
    "backtrace 64",
    "kill",
)


class Finished(NamedTuple):
    """How a process ended."""

    code: int | None  # exit status, negative for a signal, None if the process was stopped at the time limit
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
                room = _HALF - len(self.head)
                self.head += chunk[:room]
                self.tail += chunk[room:]
                self.cut = self.cut or len(self.tail) > _HALF
                self.tail = self.tail[-_HALF:]

    def text(self) -> str:
        """Return the kept output once the stream has ended.

        If a stray grandchild holds the stream open, returns the output so far.
        """
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
        """Start a process in a process group of its own, its output in pipes.

        Raises:
            Interrupted: `end` was called.
        """
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
        """End a process with all of its group and take it off the list."""
        with self._lock:
            self._pids.discard(process.pid)
            _kill(process.pid)
        process.wait()

    def end(self) -> None:
        """End all running processes."""
        with self._lock:
            self._ended = True
            for pid in self._pids:
                _kill(pid)


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def run(
    command: Sequence[str],
    files: Mapping[str, str],
    timeout: float,
    memory_bytes: int = DEFAULT_MEMORY,
    env: Mapping[str, str] | None = None,
    processes: Processes | None = None,
    writable: Sequence[Path] = (),
) -> Finished:
    """Run a command in a temporary directory that holds `files` alone.

    The command can change only that directory and `writable`. Its environment is a short list of harmless variables
    plus `env`. It dumps no core, and its process group has ended on return.

    Args:
        memory_bytes: limit of private memory. With 0, the process is killed once it holds HELD_SHARE of the machine's
            memory or DEFAULT_MEMORY.

    Raises:
        UserError: the command cannot be started.
        Interrupted: `processes.end()` was called.
    """
    with TemporaryDirectory(prefix="nightfuzz-", ignore_cleanup_errors=True) as directory:
        for name, text in files.items():
            (Path(directory) / name).write_text(text, encoding="utf-8")
        processor = int(timeout + 60) * (os.cpu_count() or 1)
        limited = ["/bin/sh", "-c", _LIMITED, "sh", str(memory_bytes // 1024), str(processor), *command]
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        own = {"HOME": directory, "TMPDIR": directory, "PYTHONHASHSEED": "0"}
        held = 0 if memory_bytes else min(DEFAULT_MEMORY, int(_MACHINE_BYTES * HELD_SHARE))
        processes, started = processes or Processes(), time.monotonic()
        limited = confined(limited, [directory, *writable])
        process = processes.start(limited, directory, {**inherited, **own, **(env or {})})
        assert process.stdout is not None and process.stderr is not None
        out, err = _Kept(process.stdout), _Kept(process.stderr)
        try:
            code = _ended(process, started + timeout, held)
        finally:
            processes.finish(process)
        return Finished(code, out.text(), err.text(), time.monotonic() - started)


def _ended(process: subprocess.Popen[bytes], end: float, held: int) -> int | None:
    """Return the exit status: that of SIGKILL if the process holds too many bytes (0: no limit), None after its time.

    The seconds in which it had no processor are not counted, a few times its own time at most.
    """
    began = time.monotonic()
    last = end + (end - began) * _MOST_WAITED
    while (now := time.monotonic()) < min(end + delayed(process.pid), last):
        try:
            return process.wait(_LOOK_SECONDS if held else max(end - now, _LOOK_SECONDS))
        except subprocess.TimeoutExpired:
            if held and _held(process.pid) > held:
                return -signal.SIGKILL
    return None


def _held(pid: int) -> int:
    """Return the resident bytes of a process and of its descendants: a debugger's child holds what its script takes."""
    with suppress(OSError, ValueError, IndexError):
        own = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
        children = [child for task in Path(f"/proc/{pid}/task").iterdir() for child in _children(task)]
        return own + sum(map(_held, children))
    return 0


def _children(task: Path) -> list[int]:
    with suppress(OSError):
        return [int(pid) for pid in (task / "children").read_text().split()]
    return []


class Confirmation(NamedTuple):
    """How often a script had a wanted outcome; `outcome` is the first wanted one, or the last if there is none."""

    hits: int
    runs: int
    outcome: Outcome
    # How many of the runs were forks of a process that had only imported the library. The further runs had a fresh
    # interpreter each.
    forks: int = 0


def run_python(
    python: str,
    files: Mapping[str, str],
    dialect: Dialect,
    timeout: float,
    memory_bytes: int = DEFAULT_MEMORY,
    processes: Processes | None = None,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run the first file in a fresh, limited process, with the names of all further files as its arguments.

    Raises:
        UserError: a missing interpreter.
    """
    if not os.access(python, os.X_OK):
        raise UserError(f"there is no interpreter {python}", "make the target again with `nightfuzz pull`")
    env = {**surroundings(dialect, python), **(env or {})}
    return run([python, *files], files, timeout, memory_bytes, env, processes, compiled_folders(dialect, python))


def run_script(
    python: str,
    script: str,
    dialect: Dialect,
    timeout: float = 60.0,
    memory_bytes: int = DEFAULT_MEMORY,
    processes: Processes | None = None,
) -> Outcome:
    """Run a script in a fresh, limited process and return its outcome.

    Raises:
        UserError: a missing interpreter.
    """
    return classify(run_python(python, {SCRIPT_NAME: script}, dialect, timeout, memory_bytes, processes), dialect)


def printed(python: str, script: str, dialect: Dialect, timeout: float, processes: Processes) -> Outcome:
    """Run a script in a fresh, limited process; the text of an `ok` outcome is the script's output."""
    finished = run_python(python, {SCRIPT_NAME: script}, dialect, timeout, processes=processes)
    outcome = classify(finished, dialect)
    return outcome._replace(text=finished.stdout.strip()[:KEPT_TEXT]) if outcome.kind == "ok" else outcome


def frames(
    python: str, script: str, timeout: float, dialect: Dialect, processes: Processes | None = None
) -> tuple[str, ...]:
    """Return the library's functions on the stack of the crashing thread, innermost first; () without a crash."""
    files = {SCRIPT_NAME: script}
    handled = {_HANDLER.name: _HANDLER.read_text(encoding="utf-8"), **files}
    finished = run_python(python, handled, dialect, timeout / 2, 0, processes)
    told = printed_frames(finished.stdout)
    if told is not None:
        return inside(told, dialect)
    gdb = shutil.which("gdb")
    if gdb is None:
        return ()
    orders = [part for command in _GDB for part in ("-ex", command)]
    command = [gdb, "-nx", "-batch", *orders, "--args", python, SCRIPT_NAME]
    env, writable = surroundings(dialect, python), compiled_folders(dialect, python)
    debugged = run(command, files, timeout - finished.seconds, 0, env, processes, writable)
    return parse(debugged.stdout, dialect)


def classify(finished: Finished, dialect: Dialect) -> Outcome:
    """Return the outcome of a process, by its exit status and its output."""
    quiet = finished._replace(stderr=dialect.chatter.sub("", finished.stderr))
    outcome = _classified(_uncaught(quiet, dialect))
    if dialect.miscompiled.search(outcome.text):
        outcome = outcome._replace(text=with_complaint(outcome.text, finished.stderr))
    complaint = f"{outcome.name}: {outcome.text}"
    may_be_memory = outcome.kind in ("exception", "exit") or outcome.name == "SIGABRT"
    if outcome.name == "SIGKILL" or (may_be_memory and dialect.out_of_memory.search(complaint)):
        # SIGKILL stands for a lack of memory, by the kernel or by `_ended`: a process stopped at the time limit has no
        # exit status.
        return outcome._replace(kind="oom")
    return outcome


def _uncaught(finished: Finished, dialect: Dialect) -> Finished:
    """Return the process as if a signal that the library caught had ended it, with the output before the signal."""
    found = dialect.caught.search(finished.stderr) if finished.code else None
    if found is None:
        return finished
    number = int(found.groupdict().get("number") or signal.SIGSEGV)
    return finished._replace(code=-number, stderr=finished.stderr[: found.start()])


def _classified(finished: Finished) -> Outcome:
    tail = _said(finished.stderr)
    if finished.code is None:
        return Outcome("timeout", "timeout", tail, seconds=finished.seconds)
    if finished.code == 0:
        return Outcome("ok", seconds=finished.seconds)
    if finished.code < 0:
        return Outcome("signal", signal_name(-finished.code), tail, stack_trace(finished.stderr), finished.seconds)
    if _TRACEBACK in finished.stderr:
        return _raised(finished)
    return Outcome("exit", str(finished.code), tail, seconds=finished.seconds)


def _said(stderr: str) -> str:
    """Return the lines that raise the alarm; if there are none, the last lines.

    Warnings explain no end.
    """
    alarms = "\n".join(_LOG_HEAD.sub("", match.group(0)).strip() for match in _ALARM.finditer(stderr))
    others = "\n".join(line for line in _WARNING.sub("", stderr).splitlines() if not _LOG_LINE.match(line))
    return alarms[:KEPT_TEXT] or others[-KEPT_TEXT:].strip()


def signal_name(number: int) -> str:
    """Return the name of a signal, such as `SIGSEGV`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _raised(finished: Finished) -> Outcome:
    """Return the exception that ended the script, with its frames inside the library, innermost first."""
    lines = finished.stderr[finished.stderr.rindex(_TRACEBACK) :].splitlines()[1:]
    first = next((i for i, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    message = "\n".join(lines[first:]).strip()
    found = _RAISED.match(message)
    name, text = (found.group(1).rpartition(".")[2], found.group(2) or "") if found else ("", message)
    inside = (_FRAME.match(line) for line in lines[:first])
    frames = [_frame(match.group(1), match.group(2)) for match in inside if match]
    kept = tuple(frame for frame in reversed(frames) if not frame.startswith(SCRIPT_NAME))[:KEPT_FRAMES]
    return Outcome("exception", name, text.strip()[:KEPT_TEXT], kept, finished.seconds)


def _frame(path: str, function: str) -> str:
    package = _PACKAGES.match(path)
    return f"{path[package.end() :] if package else path.rpartition('/')[2]}:{function}"
