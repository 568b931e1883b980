"""What the zygote has loaded, and how its children talk to the controller.

Functions are bound at import: a test may put others in their place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from json import dumps, loads
from os import _exit, write
from typing import Any, NamedTuple

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.listing import Listed
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.worker.journal import Journal
from fuzz_core.worker.plan import Plan


class World(NamedTuple):
    """What the zygote has loaded and its children share."""

    adapter: Adapter
    dialect: Dialect
    listed: list[Listed]
    hooks: Hooks | None
    plan: Plan | None


class Channel(NamedTuple):
    """A child's pipes and journal; lines are JSON."""

    incoming: int
    outgoing: int
    journal: Journal

    def write(self, line: str) -> None:
        """Sends one line whole; a closed pipe ends the process, since nobody is there to work for.

        It begins on a line of its own, whatever a library may have written to the pipe before.
        """
        data = b"\n" + line.encode("utf-8", "replace")
        try:
            while data:
                data = data[write(self.outgoing, data) :]
        except OSError:
            _exit(0)

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message."""
        self.write(dumps(message) + "\n")

    def lines(self) -> Iterator[dict[str, Any]]:
        """Messages from the controller until it closes the pipe."""
        with os.fdopen(self.incoming, "rb", buffering=1 << 16, closefd=False) as file:
            for line in file:
                yield loads(line)
