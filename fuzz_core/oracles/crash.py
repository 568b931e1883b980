"""Crash bugs (FreeFuzz, section 3.4): a meaningful exception about invalid input is no finding."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import Example, Outcomes

# What a process died of, by its last words and by where memory was missed; the first that fits.
_WORDS = (
    ("sanitizer report", re.compile(r"(?:Address|Memory|Thread|UndefinedBehavior|HWAddress)Sanitizer|runtime error: ")),
    (
        "heap corruption",
        re.compile(
            r"(?:malloc|free|realloc|calloc|munmap_chunk)\w*\(\): |double free|corrupted (?:size|double|unsorted|top)"
            r"|heap corruption|invalid (?:fastbin entry|next size|chunk size|old size)"
        ),
    ),
    ("stack corruption", re.compile(r"stack smashing detected")),
    (
        "failed check",
        re.compile(r"Check failed|CHECK failed|Assertion .* failed|LLVM ERROR|Fatal Python error: Aborted"),
    ),
    ("uncaught exception", re.compile(r"terminate called|what\(\): ")),
)
_PLACES = (
    ("null pointer", re.compile(r"\(fault in the null page\)")),
    ("stack overflow", re.compile(r"\(fault at the end of the stack\)")),
    ("wild pointer", re.compile(r"\(fault at a wild address\)")),
)
_SIGNALS = {
    "SIGSEGV": "segmentation fault",
    "SIGBUS": "bus error",
    "SIGFPE": "division by zero",
    "SIGILL": "illegal instruction",
    "SIGTRAP": "trap",
    "SIGABRT": "abort",
}
RECURSION = "RecursionError"
# The mode of what a model program came to although each of its blocks holds by itself: an exception that has fallen out
# of an expression of the library, where no statement is there to raise one.
PROGRAM = "program"
# A frame of code that has no file: text that the library was given to evaluate.
_EVALUATED = re.compile(r"(?:^|\()<(?!frozen)")


class Crash:
    """The process died by a signal, hung, lost its device, or an exception says itself that it is an internal error.

    What it died of is in the detail and not in the kind: one corruption of memory dies of SIGSEGV, SIGBUS or SIGABRT
    from run to run.
    """

    name = "crash"
    share = 1.0

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The first mode alone; a death in another mode is seen all the same."""
        return modes[:1]

    def judge(self, outcomes: Outcomes, dialect: Dialect) -> Verdict:
        """The first outcome that is one decides; see PROGRAM for the exceptions of that mode."""
        for mode, outcome in outcomes.items():
            kind = _kind(outcome, dialect)
            if not kind and mode == PROGRAM and outcome.kind == "exception":
                kind = "internal-error"
            if kind:
                return Verdict(self.name, kind, f"{mode}: {cause(outcome)}")
        return Verdict(self.name, "clean")

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """One per kind of outcome."""
        return (
            Example({"cpu": Outcome("ok")}, "clean"),
            Example({"cpu": Outcome("exception", "ValueError", "expected a positive size")}, "clean"),
            Example({"cpu": Outcome("exception", "SystemError", "returned NULL without setting")}, "internal-error"),
            Example({"cpu": Outcome("exception", RECURSION, "maximum recursion depth exceeded")}, "internal-error"),
            Example(
                {"cpu": Outcome("exception", "NameError", "name 'a' is not defined", ("<string>:<module>",))}, "clean"
            ),
            Example({"cpu": Outcome("exception", "TypeError", "unsupported operand")}, "clean"),
            Example({PROGRAM: Outcome("exception", "TypeError", "unsupported operand")}, "internal-error"),
            Example({PROGRAM: Outcome("oom", "MemoryError")}, "clean"),
            Example({"cpu": Outcome("signal", "SIGSEGV")}, "crash"),
            Example({"cpu": Outcome("signal", "SIGSEGV", "", ("(fault at the end of the stack)",))}, "crash"),
            Example({"cpu": Outcome("signal", "SIGBUS")}, "crash"),
            Example({"cpu": Outcome("signal", "SIGFPE")}, "crash"),
            Example({"cpu": Outcome("signal", "SIGABRT", "Check failed: rank == 2")}, "crash"),
            Example({"cpu": Outcome("signal", "SIGABRT", "malloc(): corrupted top size")}, "crash"),
            Example({"cpu": Outcome("signal", "SIGKILL")}, "clean"),
            Example({"cpu": Outcome("timeout", "5 s")}, "hang"),
            Example({"cpu": Outcome("oom", "MemoryError")}, "clean"),
            Example({"cpu": Outcome("exit", "1")}, "clean"),
        )


def _kind(outcome: Outcome, dialect: Dialect) -> str:
    if outcome.kind == "timeout":
        return "hang"
    text = f"{outcome.name}: {outcome.text}"
    if dialect.out_of_memory.search(text):
        return ""
    if outcome.kind == "signal":
        # SIGKILL comes from the kernel's out-of-memory killer or from us, never from the library.
        return "" if outcome.name == "SIGKILL" else "crash"
    if outcome.kind != "exception" or (outcome.name == "NameError" and _was_given(outcome)):
        return ""
    # Described arguments are never deep: recursion without an end is the library's own.
    if outcome.name == RECURSION or dialect.internal_error.search(text):
        return "internal-error"
    return "crash" if dialect.poisons.search(text) else ""


def _was_given(outcome: Outcome) -> bool:
    """Whether it happened in code that came as text: its names are the caller's."""
    return bool(outcome.frames) and _EVALUATED.search(outcome.frames[0]) is not None


def cause(outcome: Outcome) -> str:
    """What an outcome is called in the field, with the signal or exception: `heap corruption (SIGABRT)`."""
    if outcome.kind == "signal":
        return f"{_term(outcome)} ({outcome.name})"
    return f"stack overflow ({RECURSION})" if outcome.name == RECURSION else outcome.name


def _term(outcome: Outcome) -> str:
    for term, pattern in _WORDS:
        if pattern.search(outcome.text):
            return term
    for term, pattern in _PLACES:
        if any(pattern.search(frame) for frame in outcome.frames):
            return term
    return _SIGNALS.get(outcome.name, "death by a signal")
