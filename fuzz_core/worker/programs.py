"""Model programs, run one after another in this process: each in its own namespace, on data that is made once."""

from __future__ import annotations

import builtins
import faulthandler
import gc
import io
import linecache
import re
import signal
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import Any

from fuzz_core.adapters.models import Models
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.worker.execution import Execution
from fuzz_core.worker.loop import Channel, World
from fuzz_core.worker.observers import resident
from fuzz_core.worker.programs_data import Data, Switches, as_main, reset
from fuzz_core.worker.programs_exception import PROGRAM, Raised, raised
from fuzz_core.worker.programs_flow import FlowWatch
from fuzz_core.worker.programs_ran import ELSEWHERE, MOST_LOSSES, ProgramRequest, ProgramResult
from fuzz_core.worker.programs_watch import BlockPlace, BlockWatch, Scales, compiled_use

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
# The names of a watched program, see `modelgen.moco.program`.
MADE, SEEN = "__made__", "__seen__"
# The names of a program with hooks, see `modelgen.moco.disassembly`.
CALLED, COMBINED = "__called__", "__combined__"
SAID_CHARACTERS = 1 << 16
LOSS = re.compile(r"^loss:?[ \t]+(\S+)[ \t]*$", re.MULTILINE)


class Programs(Execution):
    """Runs model programs, as `Execution` runs test cases."""

    def __init__(self, world: World, channel: Channel) -> None:
        super().__init__(world.adapter, world.dialect, ())
        assert channel.journal is not None
        self.channel = channel
        self.journal = channel.journal
        self.state = self.adapter.process_state()
        self.kept: dict[tuple[str, int, bool], Data] = {}  # data of earlier programs, by prefix
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
        # Code that rewrites functions by their source (AutoGraph) reads it here. It must not rewrite hooks.
        if not asked.hooked:
            linecache.cache[PROGRAM] = (len(asked.source), None, asked.source.splitlines(keepends=True), PROGRAM)
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


class ProgramRun:
    """The execution of one program, with its watch and its output."""

    def __init__(self, programs: Programs, asked: ProgramRequest) -> None:
        self.programs = programs
        self.asked = asked
        settle = programs.adapter.finish if asked.settled else None
        models, deep = programs.models, asked.compared or asked.doubled
        self.scales = Scales(models)
        self.watch = BlockWatch(
            programs.note,
            settle,
            asked.compared,
            models.passing,
            models.layer if deep else None,
            self.scales if deep else None,
        )
        self.said = ProgramOutput()
        self.noted: list[float] = []
        self.names: dict[str, Callable[..., Any]] = {
            MADE: self.watch.made,
            SEEN: self.watch.seen,
            "print": self.said.print,
        }
        self.flow = FlowWatch(models) if asked.hooked else None
        if self.flow is not None:
            self.names |= {CALLED: self.flow.called, COMBINED: self.flow.combined}
        self.made: Data | None = None
        self.reused = False
        self.place = BlockPlace(-1, "")
        self.where = Raised(0, "", ())

    def outcome(self) -> Outcome:
        """Execute the program; every exception is an outcome."""
        clock = self.programs.clock
        began, before = clock(), Switches()
        try:
            try:
                self._execute()
            finally:
                before.restore()
            return Outcome("ok", seconds=clock() - began)
        except BuildError as error:
            return Outcome("skipped", "BuildError", str(error))
        except BaseException as error:  # noqa: BLE001 - what a program raises, even KeyboardInterrupt, is an outcome
            seconds = clock() - began
            self.place = self.watch.place_of(error) or self.watch.named(error) or BlockPlace(-1, ELSEWHERE)
            where = raised(error)
            outcome = self.programs.failure(error, seconds)
            # An exit of the interpreter, or a lack of memory, is not raised by mistake.
            self.where = where if outcome.kind == "exception" else where._replace(how="")
            return outcome

    def _execute(self) -> None:
        programs, asked = self.programs, self.asked
        doubles = programs.models.doubles() if asked.doubled else nullcontext()
        if doubles is None:
            raise BuildError("no double precision to be switched on in this library")
        found = programs.kept.get(_key(asked))
        if found is None:
            reset(programs.adapter, asked.seed)
        with programs.models.program(), doubles:
            self.made = found or Data(programs.models, asked.source[: asked.data], self.names)
            self.reused = found is not None
            if self.made.reusable:
                programs.remember(asked, self.made)
                self.made.renew()
            with programs.models.losses(self.noted.append):
                self.made.run(asked.source[asked.data :], self.names)
                # Lazy results of the library belong to the program.
                programs.adapter.finish(None)

    def finish(self, outcome: Outcome) -> ProgramResult:
        """Restore the classes, and return the outcome with the observations and the checks after the run."""
        number, phase = self.place
        watch, where, programs = self.watch, self.where, self.programs
        watch.restore()
        ran = ProgramResult(
            outcome,
            where.line,
            None if number < 0 else number,
            phase,
            where.how,
            where.frames,
            saw=watch.saw,
            passed=watch.passed,
            losses=self.said.losses() or tuple(self.noted[-MOST_LOSSES:]),
            scales=self.scales.range,
            burst=self.scales.burst,
            reused=self.reused,
            disturbed=where.disturbed,
        )
        if self.flow is not None:
            self.flow.restore()
            return ran._replace(flow=self.flow.record())
        if outcome.kind != "ok" or self.made is None:
            return ran
        layers = watch.layers.values()
        trained = {number: told for number, layer in layers if (told := programs.models.gradients(layer))}
        with as_main(self.made.module):
            # The default tolerance does not fit a model with results in half precision.
            compiled = None if self.scales.half else compiled_use(programs.adapter, programs.models, watch.last)
            # A result that is not the same each time does not show what it depends on.
            same = None if compiled is None else watch.last
            untrained = () if same is None else programs.models.untrained(*same)
        return ran._replace(gradients=trained, compiled=compiled, untrained=untrained)

    def close(self) -> None:
        """Forget the objects of the program."""
        self.watch.close()
        if self.made is not None:
            vars(self.made.module).clear()


class ProgramOutput(io.TextIOBase):
    """The output of a program: its first 65,536 characters."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        """See `io`."""
        self.text += text[: SAID_CHARACTERS - len(self.text)]
        return len(text)

    def print(self, *values: Any, file: Any = None, **how: Any) -> None:
        """Do the work of the program's `print`."""
        builtins.print(*values, file=self if file is None else file, **how)

    def losses(self) -> tuple[float, ...]:
        """Return the numbers that stand alone on a line after the word `loss`."""
        found = []
        for text in LOSS.findall(self.text)[:MOST_LOSSES]:
            try:
                found.append(float(text))
            except ValueError:
                continue
        return tuple(found)
