"""Crash bugs (FreeFuzz, section 3.4): a meaningful exception about invalid input is no finding."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import EachMode, Example, each

# What the allocator and the compiler's own checks say of memory, which was corrupted long before.
CORRUPTION = {
    "heap corruption": re.compile(
        r"(?:malloc|free|realloc|calloc|munmap_chunk)\w*\(\): |double free|corrupted (?:size|double|unsorted|top)"
        r"|heap corruption|invalid (?:fastbin entry|next size|chunk size|old size)"
    ),
    "stack corruption": re.compile(r"smashing detected"),
}
# What a process died of, by its last words and by where memory was missed; the first that fits.
_WORDS = {
    "sanitizer report": re.compile(r"(?:Address|Memory|Thread|UndefinedBehavior|HWAddress)Sanitizer|runtime error: "),
    **CORRUPTION,
    "failed check": re.compile(r"Check failed|CHECK failed|Assertion .* failed|LLVM ERROR|Fatal Python error: Aborted"),
    "uncaught exception": re.compile(r"terminate called|what\(\): "),
}
_PLACES = {
    "(fault in the null page)": "null pointer",
    "(fault at the end of the stack)": "stack overflow",
    "(fault at a wild address)": "wild pointer",
}
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


class Crash(EachMode):
    """The process died by a signal, hung, lost its device, or an exception says itself that it is an internal error.

    What it died of is in the detail and not in the kind: one corruption of memory dies of SIGSEGV, SIGBUS or SIGABRT
    from run to run.
    """

    name = "crash"

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """The first mode alone; a death in another mode is seen all the same."""
        return modes[:1]

    def kind(self, mode: str, outcome: Outcome, dialect: Dialect) -> str:
        """See PROGRAM for the exceptions of that mode."""
        unexplained = "internal-error" if mode == PROGRAM and outcome.kind == "exception" else ""
        return _kind(outcome, dialect) or unexplained

    def said(self, outcome: Outcome) -> str:
        """What it died of."""
        return cause(outcome)

    def examples(self, dialect: Dialect) -> Sequence[Example]:
        """One per kind of outcome."""
        mistaken, oom = Outcome("exception", "TypeError", "unsupported operand"), Outcome("oom", "MemoryError")
        given = Outcome("exception", "NameError", "name 'a' is not defined", ("<string>:<module>",))
        plain = (
            (Outcome("ok"), "clean"),
            (Outcome("exception", "ValueError", "expected a positive size"), "clean"),
            (Outcome("exception", "SystemError", "returned NULL without setting"), "internal-error"),
            (Outcome("exception", RECURSION, "maximum recursion depth exceeded"), "internal-error"),
            (given, "clean"),
            (mistaken, "clean"),
            (Outcome("signal", "SIGSEGV"), "crash"),
            (Outcome("signal", "SIGSEGV", "", ("(fault at the end of the stack)",)), "crash"),
            (Outcome("signal", "SIGBUS"), "crash"),
            (Outcome("signal", "SIGFPE"), "crash"),
            (Outcome("signal", "SIGABRT", "Check failed: rank == 2"), "crash"),
            (Outcome("signal", "SIGABRT", "malloc(): corrupted top size"), "crash"),
            (Outcome("signal", "SIGKILL"), "clean"),
            (Outcome("timeout", "5 s"), "hang"),
            (oom, "clean"),
            (Outcome("exit", "1"), "clean"),
        )
        return [*each("cpu", plain), *each(PROGRAM, [(mistaken, "internal-error"), (oom, "clean")])]


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
    said = (term for term, words in _WORDS.items() if words.search(outcome.text))
    missed = (term for place, term in _PLACES.items() if place in outcome.frames)
    return next(itertools.chain(said, missed), _SIGNALS.get(outcome.name, "death by a signal"))
