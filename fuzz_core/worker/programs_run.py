"""The execution of a model program."""

from __future__ import annotations

import builtins
import io
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.worker.programs_checks import Scales, compiled_use, gradients
from fuzz_core.worker.programs_data import Data, as_main, reset, restore_switches, switches
from fuzz_core.worker.programs_exception import Raised, raised
from fuzz_core.worker.programs_flow import FlowWatch
from fuzz_core.worker.programs_ran import ELSEWHERE, MOST_LOSSES, ProgramRequest, ProgramResult
from fuzz_core.worker.programs_watch import BlockPlace, BlockWatch

if TYPE_CHECKING:
    from fuzz_core.worker.programs import Programs

# The names of a watched program, see `modelgen.moco.program`.
MADE, SEEN = "__made__", "__seen__"
# The names of a program with hooks, see `modelgen.moco.disassembly`.
CALLED, COMBINED = "__called__", "__combined__"
SAID_CHARACTERS = 1 << 16
LOSS = re.compile(r"^loss:?[ \t]+(\S+)[ \t]*$", re.MULTILINE)


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
        self.place: BlockPlace | None = None
        self.where = Raised(0, "", ())

    def outcome(self) -> Outcome:
        """Execute the program; every exception is an outcome."""
        clock = self.programs.clock
        began, before = clock(), switches()
        try:
            try:
                self._execute()
            finally:
                restore_switches(before)
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
        found = programs.remembered(asked)
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
        number, phase = self.place or (-1, "")
        watch, where, programs = self.watch, self.where, self.programs
        watch.restore()
        ran = ProgramResult(outcome, where.line, None if number < 0 else number, phase, where.how, where.frames)
        losses = self.said.losses() or tuple(self.noted[-MOST_LOSSES:])
        ran = ran._replace(saw=watch.saw, passed=watch.passed, losses=losses, reused=self.reused)
        ran = ran._replace(disturbed=where.disturbed, scales=self.scales.range, burst=self.scales.burst)
        if self.flow is not None:
            self.flow.restore()
            return ran._replace(flow=self.flow.record())
        if outcome.kind != "ok" or self.made is None:
            return ran
        trained = gradients(programs.models, watch.layers.values())
        with as_main(self.made.module):
            # The default tolerance does not fit a model with results in half precision.
            compiled = None if self.scales.half else compiled_use(programs.adapter, programs.models, watch.last)
            # A result that is not the same each time does not show what it depends on.
            same = watch.last is not None and compiled is not None
            untrained = programs.models.untrained(*watch.last) if watch.last is not None and same else ()
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
