"""The controller's end of a forked process: what it sends, prints and compiles, how it is ended and how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import selectors
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from fuzz_core.execution.faults import note_end
from fuzz_core.execution.scratch import remove
from fuzz_core.ir.outcome import Outcome
from fuzz_core.worker.journal import Entry, Journal
from fuzz_core.worker.limits import children, delayed

# Longest gap between two looks, in seconds, in which the state of a process counts as known. A longer gap counts
# as compiling.
GLANCE_SECONDS = 0.25
# A compiler that takes longer for one operator hangs.
MOST_SECONDS = 300.0
# Share of its time that a process may have waited for a processor, even if the kernel says more.
MOST_WAITED = 0.9
_LOCKS = Path("/proc/locks")
_WAITING = re.compile(r"^\d+: -> \w+ +\w+ +\w+ +(\d+) ", re.MULTILINE)
KEPT_BYTES = 1 << 20
TAIL_BYTES = 4000
CHUNK_BYTES = 1 << 20
MAX_LINE = 8 << 20
T = TypeVar("T")


class CompileClock:
    """A process compiles while it has a child (the compiler), or waits for a lock on a file (of the cache).

    The class looks at processes now and then. The time between two looks counts by the later look; if they lie far
    apart, it counts as compiling.

    Attributes:
        counted: whether the library compiles at all.
        seconds: by process, over its life so far.
        before: at the last look but one.
    """

    def __init__(self, counted: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.counted = counted
        self.clock = clock
        self.looked = clock()
        self.seconds: defaultdict[int, float] = defaultdict(float)
        self.before: defaultdict[int, float] = defaultdict(float)

    def look(self, pids: Iterable[int]) -> None:
        """Count the time since the last look for those that compile now."""
        if not self.counted:
            return
        now = self.clock()
        passed, self.looked = now - self.looked, now
        blocked = lock_waiters()
        for pid in pids:
            self.before[pid] = self.seconds[pid]
            compiles = pid in blocked or bool(children(pid))
            self.seconds[pid] += passed if compiles else max(passed - GLANCE_SECONDS, 0.0)


class Stopwatch:
    """The seconds that a process has spent since a moment, without those that it compiled or had no processor in.

    So a busy machine makes no time-outs: a process that is ready to run and has to wait loses none of its time.
    """

    def __init__(self, compiling: CompileClock, pid: int, began: float) -> None:
        self.compiling = compiling
        self.pid = pid
        self.began = began
        # Since the look before: the process is likely to do the same now as then.
        self.before = compiling.before[pid]
        self.delay = delayed(pid)

    def seconds(self, now: float) -> float:
        """Return seconds that it has spent by now."""
        taken = now - self.began - min(self.compiling.seconds[self.pid] - self.before, MOST_SECONDS)
        if taken < GLANCE_SECONDS:
            return taken
        return taken - seconds_waited(self.pid, self.delay, taken)


def seconds_waited(pid: int, before: float, taken: float) -> float:
    """Return the seconds that a process has waited for a processor since the value `before`."""
    return min(max(delayed(pid) - before, 0.0), taken * MOST_WAITED)


def lock_waiters() -> set[int]:
    """Return the processes that wait for a lock on a file; empty if the kernel does not list locks."""
    with contextlib.suppress(OSError):
        return {int(pid) for pid in _WAITING.findall(_LOCKS.read_text(encoding="ascii", errors="replace"))}
    return set()


class Output:
    """Standard output and error of one process, written at the end of the file.

    A process may print for gigabytes. Its supervisor calls `trim` every few hundredths of a second, which keeps the
    last words and frees the disk. Between two calls the process's limit on file sizes is the bound. Readers get the
    tail alone.
    """

    def __init__(self, path: Path) -> None:
        # Appending, so that writers go on at the new end of a file that was cut.
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_EXCL)
        path.unlink()
        self.said = b""

    def trim(self) -> None:
        """Empty the file where it has grown beyond a megabyte; its last words are remembered."""
        if os.fstat(self.descriptor).st_size > KEPT_BYTES:
            self.said = self._tail()
            os.ftruncate(self.descriptor, 0)

    def text(self) -> str:
        """Return the last 4,000 bytes as text; broken bytes are replaced."""
        return (self.said + self._tail())[-TAIL_BYTES:].decode("utf-8", "replace")

    def _tail(self) -> bytes:
        size = os.fstat(self.descriptor).st_size
        return os.pread(self.descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES))

    def close(self) -> None:
        """Close the file. Processes that still hold it end with the worker."""
        os.close(self.descriptor)


class Ending(NamedTuple):
    """How a process ended: its wait status, its last words, the last entry of its journal, and its last lines."""

    status: int
    text: str
    entry: Entry
    lines: Sequence[bytes] = ()

    @property
    def outcome(self) -> Outcome:
        """The ending as the outcome of what the process did last."""
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            return Outcome("signal", name, self.text)
        return Outcome("exit", str(os.WEXITSTATUS(self.status)), self.text)


@dataclass(eq=False)
class Link:
    """A forked process: its pipes (neither end of ours blocks), its journal, its output, and its own directory.

    pid and pidfd (which turns readable at its death) are 0 and -1 until the zygote has sent them.
    """

    to_child: int
    from_child: int
    journal: Journal
    output: Output
    directory: Path
    # The number of the zygote process that forked it. A zygote takes its children with it when it dies.
    generation: int
    reaper: Callable[[Link], int]  # gives the wait status after the end of the process and its descendants
    longest: int = MAX_LINE  # bytes of a line that are kept
    pid: int = 0
    pidfd: int = -1
    buffer: bytearray = field(default_factory=bytearray)  # the line that is not complete yet
    closed: float | None = None  # when its pipe came to an end

    def send(self, message: dict[str, Any], seconds: float) -> None:
        """Write as long as the process reads (a test may have stopped it): what it misses, it does not answer.

        Raises:
            OSError: the process has closed its end of the pipe.
        """
        data = (json.dumps(message) + "\n").encode()
        deadline = time.monotonic() + seconds
        while data and (left := deadline - time.monotonic()) > 0:
            try:
                data = data[os.write(self.to_child, data) :]
            except BlockingIOError:
                select.select([], [self.to_child], [], left)

    def receive(self) -> list[bytes]:
        """Return the lines that are complete, without waiting; the end of a line that is too long is dropped.

        A call takes the whole content of the pipe.
        """
        if self.closed is not None:
            return []
        try:
            data = os.read(self.from_child, CHUNK_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.closed = time.monotonic()
        first, *others = data.split(b"\n")
        self.buffer += first[: max(self.longest + 1 - len(self.buffer), 0)]
        if not others:
            return []
        lines = [bytes(self.buffer), *others[:-1]]
        self.buffer[:] = others[-1]
        return [line for line in lines if line]

    @property
    def is_flooded(self) -> bool:
        """Whether the process is in the middle of a line that is too long to be kept."""
        return len(self.buffer) > self.longest

    def kill(self) -> None:
        """End the process; what it has started ends when it is reaped."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def reap(self, retried: bool = False) -> Ending:
        """Return how the process ended.

        A process that goes on for longer than a second is killed.

        Args:
            retried: whether work that a fault of nightfuzz ends runs again.
        """
        status = self.reaper(self)
        # The journal changes until the process has ended: a library that closed the pipe may go on writing.
        ending = Ending(status, self.output.text(), self.journal.read(), self.receive())
        note_end(ending.outcome, retried)
        return ending

    def close(self) -> None:
        """Close our ends and remove the process's files.

        Call `reap` first.
        """
        for descriptor in (self.to_child, self.from_child, self.pidfd):
            if descriptor >= 0:
                os.close(descriptor)
        self.output.close()
        remove(self.directory)

    def discard(self, retried: bool = False) -> Ending:
        """End the process in any state, and close the link; `retried` as in `reap`."""
        self.kill()
        ending = self.reap(retried)
        self.close()
        return ending


class Links(Generic[T]):
    """Links that are waited for together, each with its owner; `compiling` counts the seconds that they compile."""

    def __init__(self, compiling: CompileClock) -> None:
        self.compiling = compiling
        self.owners: dict[Link, T] = {}
        self.selector = selectors.DefaultSelector()

    def __enter__(self) -> Links[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, link: Link, owner: T) -> None:
        """Wait for a link from now on."""
        self.owners[link] = owner
        for descriptor in (link.from_child, link.pidfd):
            self.selector.register(descriptor, selectors.EVENT_READ, link)

    def drop(self, link: Link) -> None:
        """Wait for a link no longer; before its descriptors are closed."""
        del self.owners[link]
        for descriptor in (link.from_child, link.pidfd):
            if descriptor in self.selector.get_map():
                self.selector.unregister(descriptor)

    def wait(self, seconds: float) -> Iterator[tuple[T, list[bytes], bool]]:
        """Yield for each link with an event its owner, the lines sent, and whether its process has ended.

        A process that the ended one has started may hold the pipe open, and go on writing.
        """
        events = self.selector.select(seconds)
        self.compiling.look([link.pid for link in self.owners])
        for link in self.owners:
            link.output.trim()
        for key, _ in events:
            link = key.data
            # The event of another link may have dropped this link.
            if link not in self.owners:
                continue
            if key.fd == link.pidfd:
                yield self.owners[link], [], True
                continue
            lines = link.receive()
            if link.closed is not None:
                # The process is about to end, or a library has closed the pipe. Its end decides between the two.
                self.selector.unregister(link.from_child)
            yield self.owners[link], lines, False

    def bury(self, link: Link, retried: bool = False) -> Ending:
        """Wait for a link no longer, end its process and close it; `retried` as in `Link.reap`."""
        self.drop(link)
        return link.discard(retried)

    def close(self) -> None:
        """End all processes that are left."""
        self.selector.close()
        for link in self.owners:
            link.discard()
