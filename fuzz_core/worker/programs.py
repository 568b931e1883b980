"""Model programs, run one after the other in this process: each in names of its own, on data that is made once."""

from __future__ import annotations

import faulthandler
import gc
import io
import re
import signal
from functools import cached_property
from typing import Any

from fuzz_core.adapters.models import Models
from fuzz_core.worker.channel import Channel, World
from fuzz_core.worker.execution import Execution
from fuzz_core.worker.observers import resident
from fuzz_core.worker.programs_data import Data, shown
from fuzz_core.worker.programs_ran import Asked, Ran
from fuzz_core.worker.programs_run import Run
from fuzz_core.worker.programs_watching import Place

# Where this process writes what Python was at when it dies, or is asked by STACK_SIGNAL; in its own folder.
STACK_FILE = "stack"
STACK_SIGNAL = signal.SIGUSR1
# Data of so many kinds at a time: they may be large.
KEPT = 2
# All objects are looked through where a program may have left so much garbage, and after so many programs.
GARBAGE_BYTES = 16 << 20
COLLECTED_EVERY = 32
# What a process has grown by since its first program before it ends: memory that nobody gives back is limited.
MOST_GROWN_BYTES = 512 << 20


class Programs(Execution):
    """Runs programs, as `Execution` runs test cases."""

    def __init__(self, world: World, channel: Channel) -> None:
        super().__init__(world.adapter, world.dialect, ())
        assert channel.journal is not None
        self.channel = channel
        self.journal = channel.journal
        self.state = self.adapter.state()
        self.kept: dict[tuple[str, int, bool], Data] = {}
        self.stack: io.FileIO | None = None
        self.numbers = 0
        self.first = 0

    @cached_property
    def models(self) -> Models:
        """What the library has for them."""
        return self.adapter.models()

    def answer(self, request: dict[str, Any]) -> None:
        """Runs the program of a request, and sends what it came to."""
        if self.stack is None:
            self.stack = io.FileIO(STACK_FILE, "w")
            faulthandler.enable(self.stack)
            faulthandler.register(STACK_SIGNAL, self.stack)
        self.journal.begin(request["lease"], 0)
        ran = self.ran(Asked(**request["program"]))
        self.journal.end()
        self.channel.send({"replayed": request["lease"], "ran": ran._asdict()})

    def ran(self, asked: Asked) -> Ran:
        """What a program comes to."""
        before = self._released()
        self.first, self.numbers = self.first or before, self.numbers + 1
        watched = _watch_peak()
        shown(asked.source)
        run = Run(self, asked)
        ran = run.told(run.outcome())
        most = _peak() if watched else resident()
        run.close()
        spoilt = self.poisoned or self.adapter.state() != self.state
        after = self._released(before)
        grown = after - self.first > MOST_GROWN_BYTES
        return ran._replace(memory=(before, max(most, before), after), spoilt=spoilt or grown or ran.disturbed)

    def _released(self, held: int = 0) -> int:
        """Resident bytes once the library has forgotten, without what is in cycles if it may be much."""
        self.models.forget()
        if held and (resident() > held + GARBAGE_BYTES or self.numbers % COLLECTED_EVERY == 0):
            gc.collect()
        return resident()

    def remembered(self, asked: Asked) -> Data | None:
        """The data of a program, where another one had the same."""
        return self.kept.get(_key(asked))

    def remember(self, asked: Asked, data: Data) -> None:
        """Keeps it for the next ones, in the place of what has not been asked for the longest."""
        self.kept.pop(_key(asked), None)
        self.kept[_key(asked)] = data
        for old in list(self.kept)[:-KEPT]:
            del self.kept[old]

    def note(self, place: Place | None) -> None:
        """Writes down which block the process is in, for whoever finds it dead."""
        self.journal.again(False, "" if place is None else f"{place.phase} {place.number}")


def _key(asked: Asked) -> tuple[str, int, bool]:
    return asked.source[: asked.data], asked.seed, asked.doubled


def _watch_peak() -> bool:
    """From now on the kernel remembers how much memory this process held at most, where it lets itself be told to."""
    try:
        with open("/proc/self/clear_refs", "wb", buffering=0) as file:  # noqa: PTH123 - as in `resident`
            file.write(b"5")
    except OSError:
        return False
    return True


def _peak() -> int:
    """Resident bytes of this process at most since then."""
    with open("/proc/self/status", "rb") as file:  # noqa: PTH123 - as in `resident`
        found = re.search(rb"^VmHWM:\s+(\d+) kB", file.read(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0
