"""A worker that runs one given test case or program at a time until one kills it, and the traces of its death."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import select
import signal
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, prod
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fuzz_core.adapters import quotes
from fuzz_core.adapters.dialect import DOUBLE, LIBRARIES, REDZONE, Dialect, dialect_of
from fuzz_core.execution.link import CompileClock, Link, Links, Stopwatch
from fuzz_core.execution.zygote import MEMORY_BYTES, Zygote
from fuzz_core.ir.codec import encode_test
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.ir.wire import Executions, ModeRun, ModeRuns, PackedArray, ProgramResults, Replayed, answer, decode
from fuzz_core.modelgen.gandalf.scripts import SAID
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.crash import PROGRAM
from fuzz_core.worker.journal import Entry
from fuzz_core.worker.programs import STACK_FILE, STACK_SIGNAL
from fuzz_core.worker.programs_exception import PROGRAM as FILE
from fuzz_core.worker.programs_ran import ELSEWHERE, MAKE, MOST_FRAMES, OWN, USE, ProgramRequest, ProgramResult

TRIM_SECONDS = 0.05
# Results of a program come in one line.
MAX_ANSWER = 1 << 30
T = TypeVar("T")
Array: TypeAlias = NDArray[Any]
Results: TypeAlias = Mapping[int, Array]
MOST_NODES, MOST_BYTES = 1000, 1 << 26
# A process that runs native code answers at once as well: its signal handler does.
ASKED_SECONDS = 0.2
POLL_SECONDS = 0.005
MOST_STACK_BYTES = 1 << 16
# Modes of a program.
COMPILED, TRAINING, DOUBLED = "compiled", "training", DOUBLE
# Modes that run only on request, since they cost further executions.
DEEP = (COMPILED, TRAINING, DOUBLED)
ORACLES = {PROGRAM: "crash", TRAINING: "differential", DOUBLED: "nonfinite", quotes.MODE: "bounds"}
# The first words of the assertion that ends a program which should have been refused before.
ACCEPTED = "documentation rules this out"
# Factor on the default tolerance, or on the effect of a few roundings of the input: each compiled layer rounds in its
# own way.
FURTHER = 100.0
# Between these exponentials neither overflow nor vanish in single precision, and neither do squares.
SMALL, LARGE = 1e-6, 40.0
_PACKAGES = re.compile(r"(?<=\()[^()]*/(?:site|dist)-packages/")
INNERMOST = 5
_FRAME = re.compile(r'^  File "([^"\n]{1,1000})", line (\d{1,9}) in (\S{1,500})$', re.MULTILINE)


@dataclass(eq=False)
class Replayer:
    """Runs test cases in a process forked from a zygote; `timeout` in seconds, `memory` in bytes."""

    zygote: Zygote
    timeout: float
    memory: int = MEMORY_BYTES
    child: Link | None = None
    numbers: int = 0
    # Notes of the last process that ended: the block of the program, and the Python stack.
    left: tuple[Entry, Stack] | None = None

    def run(
        self,
        test: TestCase,
        *,
        fresh: bool = False,
        weigh: bool = False,
        mode: str = "",
        seconds: float | None = None,
    ) -> Replayed:
        """Execute a test case; `fresh` in a process that has run no other test, `weigh` looks for a leak too.

        Args:
            mode: for a program, the mode to check beside its plain run, see `shown`; for a call, whether it is REDZONE.
            seconds: the time limit of a call, if it is not the usual one.
        """
        if test.program:
            return self._whole(test, fresh, mode)
        request = {"test": encode_test(test), "weigh": weigh, "redzone": mode == REDZONE}
        replayed = self._asked(request, partial(decode, Replayed), fresh, seconds)
        return Replayed(replayed) if isinstance(replayed, Outcome) else replayed

    def _whole(self, test: TestCase, fresh: bool, mode: str) -> Replayed:
        compared, dialect = mode in DEEP, dialect_of(self.zygote.library)
        # Compiling a whole training step is not the question here, and takes long.
        settled = compared and dialect.lazy
        ran = self.program(test.program, seed=test.seed, settled=settled, compared=compared, fresh=fresh)
        double = None
        if mode == DOUBLED and is_lost(ran):
            double = self.program(test.program, seed=test.seed, doubled=True)
        return Replayed(ran.outcome, verdicts_on(ran, dialect, double), ran.spoilt)

    def tell(self, test: TestCase, modes: Sequence[str] = ("cpu",), repeats: int = 1, fresh: bool = False) -> ModeRuns:
        """Execute each mode `repeats` times, with other seeds and other garbage in memory, and return the results.

        A mode that does not apply has no entries; where the process dies, its death is the result of the first mode.
        """
        request = {"test": encode_test(test), "tell": list(modes), "repeats": repeats}
        told = self._asked(request, partial(decode, Executions), fresh)
        return {modes[0]: [ModeRun(told)]} if isinstance(told, Outcome) else told.told

    def results(self, source: str) -> Results | Outcome:
        """Return the arrays that a program leaves in `results`, by the number of their node.

        If the program did not end well, the result says how it ended.
        """
        ended = self._asked({"results": source}, read_results, False)
        return ended if isinstance(ended, Outcome) else ended.came

    def program(
        self,
        source: str,
        data: int = 0,
        seed: int = 0,
        *,
        settled: bool = False,
        doubled: bool = False,
        compared: bool = False,
        hooked: bool = False,
        fresh: bool = False,
    ) -> ProgramResult:
        """Run a model program, see `ProgramRequest`.

        If its process dies, line and block are the last ones that it noted.
        """
        request = {"program": ProgramRequest(source, data, seed, settled, doubled, compared, hooked)._asdict()}
        ran = self._asked(request, _ran, fresh)
        if isinstance(ran, ProgramResult) and ran.disturbed:
            ran = self._asked(request, _ran, True)
        if isinstance(ran, Outcome):
            assert self.left is not None
            entry, stack = self.left
            phase, _, number = entry.mode.partition(" ")
            known = entry.lease == self.numbers and phase in (MAKE, USE) and number.isascii() and number.isdecimal()
            inside, phase = (int(number), phase) if known else (None, ELSEWHERE)
            ran = ProgramResult(ran, stack.line, inside, phase, "", stack.frames, spoilt=True)
        # A program that ends too early may end in the line behind the last.
        return ran if ran.line <= source.count("\n") + 2 else ran._replace(line=0)

    def _asked(
        self, request: dict[str, Any], read: Callable[[dict[str, Any]], T], fresh: bool, seconds: float | None = None
    ) -> T | Outcome:
        """Return the answer to a request, or how the process ended instead."""
        limit = self.timeout if seconds is None else seconds
        if fresh:
            self.close()
        if self.child is None:
            self.child = self.zygote.fork("fuzz", self.memory)
            self.child.longest = MAX_ANSWER
        self.numbers += 1
        try:
            self.child.send({"lease": self.numbers, **request}, limit)
        except OSError:
            return self._died(None)
        child, links, over = self.child, Links[None](CompileClock(self.zygote.compiles)), False
        with contextlib.closing(links.selector):
            links.add(child, None)
            watch = Stopwatch(links.compiling, child.pid, time.monotonic())
            while not over and (left := limit - watch.seconds(time.monotonic())) > 0:
                # A process that it started may hold the pipe open after its death.
                for _, lines, ended in links.wait(min(left, TRIM_SECONDS)):
                    for line in [*lines, *(child.receive() if ended else [])]:
                        read_as = answer(line, self.numbers, read)
                        if read_as is not None:
                            if getattr(read_as, "spoilt", False):
                                self.close()
                            return read_as
                    over = over or ended or child.closed is not None
        return self._died(None if over else Outcome("timeout", f"{limit:g} s", seconds=limit))

    def _died(self, outcome: Outcome | None) -> Outcome:
        child, self.child = self.child, None
        assert child is not None
        if outcome is not None:
            asked(child)
            child.kill()
        ending = child.reap()
        self.left = ending.entry, stack_of(child)
        child.close()
        return outcome or ending.outcome

    def close(self) -> None:
        """End the process, if there is one."""
        child, self.child = self.child, None
        if child is not None:
            child.discard()


def _ran(message: dict[str, Any]) -> ProgramResult:
    return ProgramResult.from_json(message.get("ran"))


class ProgramAnswer(NamedTuple):
    """Arrays by node, or the end of the program instead."""

    came: Results | Outcome
    spoilt: bool = False  # the process is not to be used again


def read_results(message: dict[str, Any]) -> ProgramAnswer:
    """Read a worker's answer.

    Raises:
        CodecError, ValueError: a line is no result.
    """
    told = decode(ProgramResults, message)
    came = {node: _unpacked(packed) for node, packed in list(told.results.items())[:MOST_NODES]}
    return ProgramAnswer(came if told.came.kind == "ok" else told.came, told.spoilt)


def _unpacked(packed: PackedArray) -> Array:
    data = base64.b85decode(packed.text)
    if len(data) > MOST_BYTES or len(data) != prod(packed.shape) * np.dtype(packed.dtype).itemsize:
        raise ValueError("not as many elements as the shape says")
    return np.frombuffer(data, packed.dtype).reshape(packed.shape)


class Stack(NamedTuple):
    """The deepest line of the program, 0 where none is known, and the library's frames below it, innermost first."""

    line: int = 0
    frames: tuple[str, ...] = ()


def asked(child: Link) -> None:
    """Have a process that runs programs write its stack; any other one dies of the signal, and is about to anyway."""
    before = len(_written(child))
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(child.pidfd, STACK_SIGNAL)
    deadline = time.monotonic() + ASKED_SECONDS
    while time.monotonic() < deadline and len(_written(child)) == before:
        if select.select([child.pidfd], [], [], POLL_SECONDS)[0]:
            return


def stack_of(child: Link) -> Stack:
    """Return the stack that a process has left in its folder.

    A broken file raises no error: it comes from untrusted code.
    """
    frames: list[str] = []
    for file, line, name in _FRAME.findall(_written(child).decode("utf-8", "replace")):
        if file == FILE:
            return Stack(int(line), tuple(frames))
        frames = [*frames, f"{name} ({file}:{line})"][:MOST_FRAMES]
    return Stack()


def _written(child: Link) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(child.directory / STACK_FILE, flags)
    except OSError:
        return b""
    try:
        return os.read(descriptor, MOST_STACK_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)


def verdicts_on(
    ran: ProgramResult, dialect: Dialect, double: ProgramResult | None = None
) -> tuple[tuple[Verdict, Outcome], ...]:
    """Return every verdict on a program that is not clean, with its evidence.

    The caller handles a crash.
    """
    found = []
    for mode, seen in shown(ran, double).items():
        # If a compiler refuses a program, only an internal error is reported: no compiler takes every program.
        refused = mode == COMPILED and seen.kind == "exception"
        verdict = oracle_of("crash" if refused else ORACLES.get(mode, "differential")).judge({mode: seen}, dialect)
        found += [] if verdict.clean else [(verdict, seen)]
    return tuple(found)


def shown(ran: ProgramResult, double: ProgramResult | None = None) -> Mapping[str, Outcome]:
    """Return the outcome of a program by mode; `double` is the same program in double precision."""
    if ran.unexplained:
        return {PROGRAM: ran.outcome._replace(frames=tuple(_PACKAGES.sub("", each) for each in ran.frames[:INNERMOST]))}
    found = {}
    said = ran.outcome.text.partition(":")[0]
    if ran.how == OWN and ran.outcome.name == "AssertionError" and said in SAID:
        found[LIBRARIES] = Outcome("ok", text=f"{said}\n{ran.outcome.text}")
    if ran.how == OWN and ran.outcome.name == "AssertionError" and said == ACCEPTED:
        found[quotes.MODE] = Outcome("exception", quotes.RuledOut.__name__, ran.outcome.text.partition(": ")[2])
    if ran.compiled is not None and ran.compiled.refused:
        name, _, text = ran.compiled.refused.partition(": ")
        found[COMPILED] = Outcome("exception", name, text)
    elif ran.compiled is not None and ran.compiled.apart > FURTHER * max(1.0, ran.compiled.moved):
        told = f"{ran.compiled.apart:.1e} times the default tolerance from it"
        found[COMPILED] = Outcome("ok", text=f"the compiled model gives another result\n{told}")
    if ran.untrained:
        found[TRAINING] = Outcome(
            "ok", text=f"no gradient, though the result depends on it\n{', '.join(ran.untrained)}"
        )
    if double is not None and is_overflow(ran, double):
        found[DOUBLED] = Outcome("ok", text="the loss is not finite in single precision alone")
    return found


def is_lost(ran: ProgramResult) -> bool:
    """Return whether a program lost its numbers, and ran well but for what it says to that itself."""
    return (ran.outcome.kind == "ok" or ran.how == OWN) and not all(map(isfinite, ran.losses))


def is_overflow(ran: ProgramResult, double: ProgramResult) -> bool:
    """Return whether a layer, in single precision alone, overflows although its result has room in the type.

    An overflow in another place may be the program's own, and so may weights that explode.
    """
    kept = double.outcome.kind == "ok" and len(double.losses) >= len(ran.losses) and all(map(isfinite, double.losses))
    least, most = double.scales
    return is_lost(ran) and ran.burst and kept and least >= SMALL and most <= LARGE
