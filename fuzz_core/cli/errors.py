"""The one place where errors become exit codes: 0 clean, 1 bugs, 2 user error, 3 our bug, 130 interrupted."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from rich.console import Console

import fuzz_core
from fuzz_core.cli.streams import close_output, open_output
from fuzz_core.execution.faults import Faults
from fuzz_core.ir.errors import Interrupted, NightfuzzError, UserError

BUGS, USER_ERROR, OUR_BUG, INTERRUPTED = 1, 2, 3, 130
KEPT = "interrupted; all findings so far are kept"
STOPPING = "stopping after the running tests; press Ctrl-C again to end at once"
_SPACE = "free some space, or name a folder on another disk"
_OPEN = "allow more open files: `ulimit -n 4096`, or give fewer --workers"
_MEMORY = "end other programs, or give fewer --workers"
_WRITABLE = "make it writable, or name another folder: --state DIR, NIGHTFUZZ_CACHE, TMPDIR"
_OURS = "this is a bug in nightfuzz; please report the lines below"
# Faults of the machine by the number that the system gives them: what is wrong, and the remedy.
_FAULTS = {
    errno.ENOSPC: ("no space is left on the disk", _SPACE),
    errno.EDQUOT: ("the disk quota is used up", _SPACE),
    errno.EFBIG: ("a file is larger than this user's files may be", "raise that limit: `ulimit -f unlimited`"),
    errno.EIO: ("the disk fails to read or write", "check the disk (`dmesg` tells more), or use another disk"),
    errno.EROFS: ("the file system is read-only", _WRITABLE),
    errno.EACCES: ("this user has no permission", _WRITABLE),
    errno.EPERM: ("this user has no permission", _WRITABLE),
    errno.EMFILE: ("too many files are open", _OPEN),
    errno.ENFILE: ("too many files are open on this machine", _OPEN),
    errno.ENOMEM: ("no memory is left", _MEMORY),
    errno.EAGAIN: ("no further process can be started", "end other programs, or raise `ulimit -u`"),
}


def guarded(work: Callable[[], int], verbose: bool = False) -> int:
    """Run a command, and turn what it raises into one clear error and an exit code.

    Args:
        verbose: whether the traceback of a user error is shown too.
    """
    open_output()
    code = _code_of(work, verbose)
    return code if close_output() or code != 0 else USER_ERROR


def summed_up(faults: Faults) -> list[str]:
    """Return the lines of a command's summary about faults of nightfuzz's own code in workers; empty without any."""
    own = [f"{count} of the workers ended by a fault of nightfuzz at {place}" for place, count in faults.counts.items()]
    damage = "one worker ended by an error at {} that did not come again: a call may have damaged the process"
    return [*own, *map(damage.format, faults.damages)]


def exit_code(faults: Faults, code: int) -> int:
    """Print the faults of nightfuzz's own code in workers, and return the exit code of a command that had `code`.

    The bugs that the command has found are on record, so the faults come last.
    """
    if not faults.counts:
        return code
    traces = "\n\n".join(faults.traces.values())
    say(f"{_OURS}\n{_versions()}\n{traces}")
    return code if code == INTERRUPTED else OUR_BUG


def _versions() -> str:
    return f"nightfuzz {fuzz_core.__version__}, Python {sys.version.split()[0]}, {sys.platform}"


def _code_of(work: Callable[[], int], verbose: bool) -> int:
    try:
        code = work()
    except UserError as error:
        say(f"error: {error}", verbose)
        return USER_ERROR
    except (KeyboardInterrupt, Interrupted):
        say(KEPT)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the boundary: whatever is left is our bug and is shown whole
        if fault := _fault(error):
            say(f"error: {fault}", verbose)
            return USER_ERROR
        if isinstance(error, NightfuzzError):
            say(f"failed: {error}", verbose)
            return OUR_BUG
        say(f"{_OURS}\n{_versions()}", True)
        return OUR_BUG
    if code == INTERRUPTED:
        say(KEPT)
    return code


def say(text: str, traced: bool = False) -> None:
    """Print an error, with its traceback if that is wanted.

    If standard error is closed or full, the text is lost.
    """
    trace = f"\n{traceback.format_exc()}" if traced else ""
    with suppress(OSError):
        console = Console(stderr=True, highlight=False)
        console.print(f"{text}{trace}", markup=False, emoji=False, soft_wrap=True)


def _fault(error: BaseException | None) -> str:
    """Return the fault of the machine that an error comes from, with its remedy; empty where it comes from none."""
    if error is None:
        return ""
    if isinstance(error, MemoryError):
        return f"no memory is left\n  -> {_MEMORY}"
    number = error.errno if isinstance(error, OSError) else None
    if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
        number = errno.ENOSPC
    if number in _FAULTS:
        problem, remedy = _FAULTS[number]
        where = getattr(error, "filename", None) or ("" if isinstance(error, OSError) else error)
        return f"{problem}{f': {where}' if where else ''}\n  -> {remedy}"
    # An error while the first one was handled hides its cause.
    return _fault(error.__cause__ or error.__context__)


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Have the first SIGINT or SIGTERM ask to stop, and the second raise KeyboardInterrupt."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        # A print could be in the middle of another one, which a handler must not enter again.
        with suppress(OSError):
            os.write(2, f"{STOPPING}\n".encode())

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
