"""Execution of a test case in every mode that its oracles ask for, and its verdicts."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from functools import lru_cache
from time import perf_counter
from types import SimpleNamespace
from typing import Any

from fuzz_core.adapters import quotes
from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import REDZONE, Dialect
from fuzz_core.adapters.documentation import Documented
from fuzz_core.adapters.modes import Device, Mode, mode_of
from fuzz_core.ir.constraints import Documentation
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.outcome import Outcome, Verdict, complaint_in, with_complaint
from fuzz_core.ir.rng import derive
from fuzz_core.ir.tree import children, rewritten, texts_of, with_children, with_tensors
from fuzz_core.ir.values import Fill, Invocation, Prim, Tensor, TestCase, prim
from fuzz_core.oracles.contract import Oracle, oracle_of
from fuzz_core.oracles.cost import PRECISIONS, timed
from fuzz_core.oracles.kinds import ACCEPTS, REFUSES
from fuzz_core.worker.blame import blame_for_refusal, with_blame
from fuzz_core.worker.evidence import Difference, Refusal
from fuzz_core.worker.excuses import OUT_OF_BOUNDS, find_excuse
from fuzz_core.worker.limits import own_output
from fuzz_core.worker.observers import LEAST_BYTES, left_behind, outline, resident

MAX_MESSAGE = 2000
MAX_REMEMBERED = 4096
REPEATS = 7
# A call that takes more than a share of this is not repeated often enough to be judged.
TIMED_SECONDS = 1.0
# Calls that take longer are not weighed. A glance at this many repetitions separates most suspects from leaks.
WEIGHED_SECONDS = 0.002
GLANCE = 30
TEXT = "nightfuzz_text"
# A shorter text of the call may be in a message by chance.
LEAST_CHARACTERS = 4


class Execution:
    """Runs test cases in this process.

    Args:
        clock: returns seconds.
        devices: whether modes of devices are the only ones.
    """

    def __init__(
        self,
        adapter: Adapter,
        dialect: Dialect,
        oracles: Sequence[str],
        clock: Callable[[], float] = perf_counter,
        documentation: Documentation | None = None,
        devices: bool = False,
    ) -> None:
        self.clock = clock
        self.adapter = adapter
        self.dialect = with_text_cache(dialect)
        self.modes = (*adapter.device_modes(), *(() if devices else adapter.ways))
        self.oracles: list[Oracle] = [oracle_of(name) for name in oracles]
        self.ways: dict[str, Mode] = {}
        # Called before each execution in a mode other than the first, with whether the mode is expensive, and its name.
        self.alive: Callable[[bool, str], None] = lambda dear, mode: None
        if documentation:
            self.modes += (quotes.MODE,)
            self.ways[quotes.MODE] = Documented(adapter, documentation, clock)
        # The outline of the first mode's result: no live object may outlast its test.
        self.shown: Hashable = None
        # Whether a device has failed, so that no later test of this process can be judged.
        self.poisoned = False

    def inside(self) -> float:
        """Return the seconds spent in calls of the library so far."""
        return sum(way.builder.inside for way in self.ways.values())

    def mode(self, name: str) -> Mode:
        """Return the mode of a name."""
        if name not in self.ways:
            self.ways[name] = mode_of(self.adapter, name, self.clock)
        return self.ways[name]

    def start_devices(self) -> None:
        """Start the further devices: the start takes a second, which would count as a test's own time."""
        for name in self.adapter.device_modes()[1:]:
            mode = self.mode(name)
            assert isinstance(mode, Device)
            mode.start()

    def judge(
        self, test: TestCase, redzone: bool = False, oracles: Sequence[Oracle] | None = None
    ) -> tuple[Outcome, list[tuple[Verdict, Outcome]]]:
        """Return the outcome of the first mode, and every verdict that is not clean with the outcome it rests on.

        If an oracle meets a read out of bounds in another mode, the differential oracle looks at REDZONE, too.

        Args:
            redzone: whether the differential oracle looks at REDZONE regardless of its share.
            oracles: the oracles that judge; None for those of the run.
        """
        first = self.modes[0]
        plain, result = self.run(test, first)
        if plain.kind == "exception" and next(texts_of(test.invocation), None) is not None:
            plain = self._without_given(test, plain)
        results = {first: (plain, result)}
        self.shown = outline(result)
        verdicts: list[tuple[Verdict, Outcome]] = []
        for oracle in self.oracles if oracles is None else oracles:
            if oracle.share < 1.0 and derive(test.seed, oracle.name) % 1000 >= oracle.share * 1000:
                continue
            planned = oracle.plan(test, self.modes, self.dialect)
            if not planned:
                continue
            outcomes = {mode: self._outcome(test, mode, results) for mode in planned}
            redzone = redzone or any(outcome.name == OUT_OF_BOUNDS for outcome in outcomes.values())
            verdict = oracle.judge(outcomes, self.dialect)
            if not verdict.clean:
                verdicts.append((verdict, outcomes.get(verdict.mode, plain)))
        if redzone and REDZONE in self.modes and REDZONE not in results:
            outcome = self._outcome(test, REDZONE, results)
            verdict = oracle_of("differential").judge({REDZONE: outcome}, self.dialect)
            verdicts += [] if verdict.clean else [(verdict, outcome)]
        return plain, verdicts + self._failures(results)

    def reads_out_of_bounds(self, test: TestCase) -> bool:
        """See `worker.evidence.Executor`."""
        outcome = self._outcome(test, REDZONE, {})
        return outcome.kind == "ok" and bool(outcome.text) and not outcome.name

    def _without_given(self, test: TestCase, plain: Outcome) -> Outcome:
        """Return a failure without the caller's part: code that is compiled, or text that the message repeats."""
        if oracle_of("crash").judge({self.modes[0]: plain}, self.dialect).clean:
            return plain
        if self.dialect.compiled and uses_compiled_text(test, lambda other: self.run(other, self.modes[0])[0]):
            return Outcome("skipped", "GivenCode", "the caller's text is compiled")
        return without_given(test, plain)

    def weigh(self, test: TestCase, alive: Callable[[], None]) -> list[tuple[Verdict, Outcome]]:
        """Return the verdict of the leak oracle on a suspect; `alive` is called before each repetition."""
        oracle = oracle_of("leak")
        planned = oracle.plan(test, self.modes, self.dialect)
        outcomes = {mode: self._repeated(test, mode.rstrip("*"), alive) for mode in planned}
        verdict = oracle.judge(outcomes, self.dialect)
        return [] if verdict.clean else [(verdict, next(iter(outcomes.values())))]

    def _repeated(self, test: TestCase, mode: str, alive: Callable[[], None]) -> Outcome:
        """Return the outcome of a quick call that returns, with the bytes that each repetition leaves in its text."""
        outcome = self.run(test, mode)[0]
        if outcome.kind != "ok" or outcome.seconds > WEIGHED_SECONDS:
            return outcome

        def call() -> None:
            alive()
            self.run(test, mode)

        held = resident()
        for _ in range(GLANCE):
            call()
        left = left_behind(call) if resident() - held >= GLANCE * LEAST_BYTES else 0
        return outcome._replace(text=f"every call leaves {left} bytes" if left else "")

    def _failures(self, results: dict[str, tuple[Outcome, Any]]) -> list[tuple[Verdict, Outcome]]:
        """Return the first verdict of the crash oracle on a further mode that was executed for another oracle."""
        if len(results) == 1 or all(oracle.name != "crash" for oracle in self.oracles):
            return []
        crash = oracle_of("crash")
        others = ((mode, outcome) for mode, (outcome, _) in results.items() if mode != self.modes[0])
        judged = ((crash.judge({mode: outcome}, self.dialect), outcome) for mode, outcome in others)
        return [found for found in judged if not found[0].clean][:1]

    def _outcome(self, test: TestCase, mode: str, results: dict[str, tuple[Outcome, Any]]) -> Outcome:
        """Return the outcome of a mode; its text is the difference of the result from that of the reference mode."""
        if mode not in results and self.poisoned:
            return Outcome("skipped", "poisoned")
        if self.modes[0] in results and results[self.modes[0]][0].kind == "skipped":
            # The input may be unsafe for every kernel.
            return results[self.modes[0]][0]
        if mode == REDZONE and self.modes[0] in results and results[self.modes[0]][0].kind != "ok":
            return Outcome("skipped", "nothing to compare")
        if "@" in mode:
            results[mode] = self._timed(test, mode)
            return results[mode][0]
        way = self.mode(mode)
        spec = way.spec
        if spec.against:
            against = self._outcome(test, spec.against, results).kind
            compared = against == "ok" or (against == "exception" and spec.relation == "behaviour")
            if not (compared and way.applies(test)):
                return Outcome("skipped", "nothing to compare")
        if mode not in results:
            results[mode] = self.run(test, mode)
        outcome, result = results[mode]
        if not (spec.against and spec.relation):
            return outcome
        plain, expected = results[spec.against]
        if spec.relation == "behaviour" and {plain.kind, outcome.kind} == {"ok", "exception"}:
            return self._refusal(test, mode, plain, outcome)
        if outcome.kind != "ok" or plain.kind != "ok":
            return outcome
        if self.adapter.refusal(expected):
            return Outcome("skipped", "the plain result breaks the library's own invariants")
        text = self.adapter.differences(expected, result, spec.relation)
        if not text:
            return outcome
        found = Difference(self, test, mode, expected, result)
        excuse = find_excuse(found)
        return outcome._replace(text=text if excuse else with_blame(text, found), name=excuse.name if excuse else "")

    def _refusal(self, test: TestCase, mode: str, plain: Outcome, outcome: Outcome) -> Outcome:
        """Judge a call that one of two modes refuses; an internal error is a bug of its own."""
        refused = plain if plain.kind == "exception" else outcome
        said = f"{refused.name}: {refused.text}"
        if self.dialect.internal_error.search(said):
            return outcome._replace(text="")
        against = self.mode(mode).spec.against
        refusal = Refusal(self, test, {against: plain, mode: outcome})
        excuse = find_excuse(refusal)
        if outcome.kind == "ok":
            return outcome._replace(text=f"{ACCEPTS}{against} refuses: {said}", name=excuse.name if excuse else "")
        if excuse:
            return outcome
        return outcome._replace(text=f"{REFUSES}{against} accepts: {said}{blame_for_refusal(refusal)}")

    def run(self, test: TestCase, mode: str) -> tuple[Outcome, Any]:
        """Return outcome and live result of one execution; every exception of the library is an outcome."""
        began = self.clock()
        try:
            way = self.mode(mode.split("@")[0])
            if mode != self.modes[0]:
                # A device loads the code of a kernel at its first use, and compiles some.
                self.alive(way.spec.dear or isinstance(way, Device), mode)
            self.adapter.reset(test.seed)
            result = way.run(test)
            return Outcome("ok", seconds=self.clock() - began), result
        except BuildError as error:
            return Outcome("skipped", "BuildError", str(error)), None
        except BaseException as error:  # noqa: BLE001 - what a library raises, even KeyboardInterrupt, is an outcome
            return self.failure(error, self.clock() - began), None

    def failure(self, error: BaseException, seconds: float) -> Outcome:
        """Return the outcome that stands for an exception."""
        name, text = type(error).__name__, _message(error)
        if isinstance(error, MemoryError):
            return Outcome("oom", "MemoryError", text, seconds=seconds)
        if isinstance(error, SystemExit):
            return Outcome("exit", str(error.code)[:100], seconds=seconds)
        if self.dialect.miscompiled.search(text):
            text = with_complaint(text, own_output())
        if self.dialect.out_of_memory.search(f"{name}: {text}"):
            return Outcome("oom", name, text, seconds=seconds)
        self.poisoned = self.poisoned or self.dialect.poisons.search(text) is not None
        frames: tuple[str, ...] = ()
        if self.dialect.internal_error.search(f"{name}: {text}"):
            stack = traceback.extract_tb(error.__traceback__)[-5:]
            frames = tuple(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in stack)
        return Outcome("exception", name, text, frames[::-1], seconds)

    def _timed(self, test: TestCase, mode: str) -> tuple[Outcome, Any]:
        """Return the times of repeated calls after a warm-up, in the mode's dtype if it names one."""
        name, _, precision = mode.partition("@")
        if precision:
            test = test._replace(invocation=with_precision(test.invocation, precision))
        elif not self.mode(name).applies(test):
            return Outcome("skipped", "nothing to compare"), None
        outcome, result = self.run(test, name)
        times: list[float] = []
        while outcome.kind == "ok" and len(times) < REPEATS and sum(times) < TIMED_SECONDS:
            times.append(self._cost(test, name))
        return (timed(times) if times else outcome), result

    def _cost(self, test: TestCase, mode: str) -> float:
        """Return the seconds of one call: the library's alone on the first device, with the wait on other devices."""
        before = self.mode(mode).builder.inside
        outcome = self.run(test, mode)[0]
        if mode in self.modes[1 : len(self.adapter.device_modes())]:
            return outcome.seconds
        return self.mode(mode).builder.inside - before


def _message(error: BaseException) -> str:
    try:
        return str(error)[:MAX_MESSAGE]
    except Exception as inner:  # noqa: BLE001 - an exception that cannot be printed is still the library's outcome
        return f"(message cannot be read: {type(inner).__name__})"


def with_precision(value: Invocation, dtype: str) -> Invocation:
    """Return the same call with every floating-point tensor of PRECISIONS in another dtype."""

    def cast(tensor: Tensor) -> Tensor:
        if tensor.dtype not in PRECISIONS:
            return tensor
        # Kept elements are bytes of their own dtype. The cost of a call depends on shapes, not on elements.
        return tensor._replace(dtype=dtype, fill=Fill() if tensor.fill.kind == "values" else tensor.fill)

    return with_tensors(value, cast)


def with_text_cache(dialect: Dialect) -> Dialect:
    """Return the dialect with patterns that search each text once: the same few messages come again and again."""
    found = copy(dialect)
    for name in ("out_of_memory", "internal_error", "poisons"):
        search = lru_cache(MAX_REMEMBERED)(getattr(dialect, name).search)
        setattr(found, name, SimpleNamespace(search=search))
    return found


def uses_compiled_text(test: TestCase, run: Callable[[TestCase], Outcome]) -> bool:
    """Return whether the library compiles a text among the arguments: with another text, the compiler complains.

    A name that is looked up (of an operator, a mode) is not compiled: with such a word, the call is refused.
    """
    parts = children(test.invocation)
    for place, value in enumerate(parts):
        made = rewritten(value, lambda each: prim(TEXT) if isinstance(each, Prim) and each.type == "str" else each)
        call = with_children(test.invocation, (*parts[:place], made, *parts[place + 1 :]))
        if made != value and TEXT in complaint_in(run(test._replace(invocation=call)).text):
            return True
    return False


def without_given(test: TestCase, outcome: Outcome) -> Outcome:
    """Return the outcome without the texts of the call in its message.

    A text that looks like an internal error is no bug of the exception that refuses it.
    """
    said = outcome.text
    for text in sorted(texts_of(test.invocation), key=len, reverse=True):
        if len(text) >= LEAST_CHARACTERS:
            said = said.replace(text, "…")
    return outcome._replace(text=said)
