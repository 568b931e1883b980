"""A process above the zygote that runs no foreign code: it sees to it that nothing outlives the controller."""

from __future__ import annotations

import os
import select
import shutil

from fuzz_core.worker.descendants import adopt, end_children
from fuzz_core.worker.limits import die_with_parent

ORDERLY = b"."


def guard(scratch: str) -> None:
    """Returns in a new process, which is to become the zygote; the old one stays and guards it.

    When the zygote ends, or the controller does, every descendant is killed. Standard input is the controller's
    lifeline: it writes `ORDERLY` and closes it when it will clean up by itself; where it was closed without a word,
    the controller was killed, and its folder `scratch` is removed here.
    """
    adopt()
    guardian = os.getpid()
    pid = os.fork()
    if pid == 0:
        die_with_parent(guardian)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.close(nowhere)
        return
    orphaned = _wait(pid)
    end_children()
    if orphaned:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def _wait(zygote: int) -> bool:
    """Until there is nothing more to guard; whether the controller was killed."""
    poll = select.poll()
    ended = os.pidfd_open(zygote)
    for descriptor in (0, ended):
        poll.register(descriptor, select.POLLIN)
    ready = dict(poll.poll())
    return 0 in ready and os.read(0, 1) != ORDERLY
