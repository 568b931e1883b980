"""The one place where errors become exit codes: 0 clean, 1 bugs, 2 user error, 3 our bug, 130 interrupted."""

from __future__ import annotations

import errno
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from rich.console import Console

import fuzz_core
from fuzz_core.ir.errors import Interrupted, NightfuzzError, UserError

BUGS, USER_ERROR, OUR_BUG, INTERRUPTED = 1, 2, 3, 130


def guarded(work: Callable[[], int]) -> int:
    """Runs a command and turns what it raises into one clear error and an exit code."""
    say = partial(Console(stderr=True, highlight=False).print, markup=False, soft_wrap=True)
    try:
        return work()
    except UserError as error:
        say(f"error: {error}")
        return USER_ERROR
    except (KeyboardInterrupt, Interrupted):
        say("interrupted; everything found so far is kept")
        return INTERRUPTED
    except NightfuzzError as error:
        say(f"failed: {error}")
        return OUR_BUG
    except Exception as error:  # noqa: BLE001 - the boundary: whatever is left is our bug and is shown whole
        if _is_disk_full(error):
            say(
                f"error: no space is left on the disk: {error}\n  -> free some, or run the job again on another machine"
            )
            return USER_ERROR
        versions = f"nightfuzz {fuzz_core.__version__}, Python {sys.version.split()[0]}, {sys.platform}"
        say(f"this is a bug in nightfuzz; please report the lines below\n{versions}\n{traceback.format_exc()}")
        return OUR_BUG


def _is_disk_full(error: Exception) -> bool:
    number = error.errno if isinstance(error, OSError) else None
    return number in (errno.ENOSPC, errno.EDQUOT) or getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """While inside, the first SIGINT or SIGTERM asks to stop, the second raises KeyboardInterrupt."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
