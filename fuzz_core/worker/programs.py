"""Model programs, run one after another in this process: each in its own namespace, on data that is made once."""

from __future__ import annotations

import faulthandler
import gc
import io
import re
import signal
from functools import cached_property
from typing import Any

from fuzz_core.adapters.models import Models
from fuzz_core.worker.execution import Execution
from fuzz_core.worker.loop import Channel, World
from fuzz_core.worker.observers import resident
from fuzz_core.worker.programs_data import Data, register_source
from fuzz_core.worker.programs_ran import ProgramRequest, ProgramResult
from fuzz_core.worker.programs_run import ProgramRun
from fuzz_core.worker.programs_watch import BlockPlace

# The file, in the process's own folder, for its Python stack when it dies or gets STACK_SIGNAL.
STACK_FILE = "stack"
STACK_SIGNAL = signal.SIGUSR1
# The most prefixes whose data is kept: data may be large.
KEPT = 2
# The collector runs if a program may have left this much garbage, and after this many programs.
GARBAGE_BYTES = 16 << 20
COLLECTED_EVERY = 32
# A process ends once it has grown by this much since its first program: this limits memory that is never given back.
MOST_GROWN_BYTES = 512 << 20


class Programs(Execution):
    """Runs model programs, as `Execution` runs test cases."""

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
        """The library's tools for model programs."""
        return self.adapter.models()

    def answer(self, request: dict[str, Any]) -> None:
        """Run the program of a request, and send the result."""
        if self.stack is None:
            self.stack = io.FileIO(STACK_FILE, "w")
            faulthandler.enable(self.stack)
            faulthandler.register(STACK_SIGNAL, self.stack)
        self.journal.begin(request["lease"], 0)
        ran = self.ran(ProgramRequest(**request["program"]))
        self.journal.end()
        self.channel.send({"replayed": request["lease"], "ran": ran._asdict()})

    def ran(self, asked: ProgramRequest) -> ProgramResult:
        """Execute a program and return its result."""
        before = self._released()
        self.first, self.numbers = self.first or before, self.numbers + 1
        watched = _watch_peak()
        # Code that rewrites functions by their source (AutoGraph) must not rewrite hooks.
        if not asked.hooked:
            register_source(asked.source)
        run = ProgramRun(self, asked)
        ran = run.finish(run.outcome())
        most = _peak() if watched else resident()
        run.close()
        spoilt = self.poisoned or self.adapter.has_changed(self.state)
        after = self._released(before)
        grown = after - self.first > MOST_GROWN_BYTES
        return ran._replace(memory=(before, max(most, before), after), spoilt=spoilt or grown or ran.disturbed)

    def _released(self, held: int = 0) -> int:
        """Return resident bytes after the library has freed memory; collects cycles if they may hold much."""
        self.models.forget()
        if held and (resident() > held + GARBAGE_BYTES or self.numbers % COLLECTED_EVERY == 0):
            gc.collect()
        return resident()

    def remembered(self, asked: ProgramRequest) -> Data | None:
        """Return the data of an earlier program with the same prefix, or None."""
        return self.kept.get(_key(asked))

    def remember(self, asked: ProgramRequest, data: Data) -> None:
        """Keep data for later programs, in place of the least recently used data."""
        self.kept.pop(_key(asked), None)
        self.kept[_key(asked)] = data
        for old in list(self.kept)[:-KEPT]:
            del self.kept[old]

    def note(self, place: BlockPlace | None) -> None:
        """Write the current block to the journal, for the supervisor of a dead process."""
        self.journal.again(False, "" if place is None else f"{place.phase} {place.number}")


def _key(asked: ProgramRequest) -> tuple[str, int, bool]:
    return asked.source[: asked.data], asked.seed, asked.doubled


def _watch_peak() -> bool:
    """Reset the kernel's record of this process's peak memory.

    Returns:
        Whether the kernel allows it.
    """
    try:
        with open("/proc/self/clear_refs", "wb", buffering=0) as file:  # noqa: PTH123 - as in `resident`
            file.write(b"5")
    except OSError:
        return False
    return True


def _peak() -> int:
    """Return the peak of this process's resident bytes since `_watch_peak`."""
    with open("/proc/self/status", "rb") as file:  # noqa: PTH123 - as in `resident`
        found = re.search(rb"^VmHWM:\s+(\d+) kB", file.read(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0
