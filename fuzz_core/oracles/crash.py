"""The oracle of crashes (FreeFuzz, section 3.4): a meaningful exception about invalid input is no finding."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import EachMode, VerdictExample, each

# Messages of the allocator and the compiler's own checks about memory that was corrupted long before.
CORRUPTION = {
    "heap corruption": re.compile(
        r"(?:malloc|free|realloc|calloc|munmap_chunk)\w*\(\): |double free|corrupted (?:size|double|unsorted|top)"
        r"|heap corruption|invalid (?:fastbin entry|next size|chunk size|old size)"
    ),
    "stack corruption": re.compile(r"smashing detected"),
}
# Causes of a death, by the process's last words and by the place of a fault; the first match counts.
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
# The mode of a model program that fails although each of its blocks works alone. Its exception comes from an expression
# of the library, not from a statement that raises.
PROGRAM = "program"
# A frame of code that has no file: text that the library was given to evaluate.
_EVALUATED = re.compile(r"(?:^|\()<(?!frozen)")


class Crash(EachMode):
    """The process dies by a signal, hangs or loses its device, or an exception reports an internal error.

    The cause of death is in the detail and not in the kind: the same corruption of memory raises SIGSEGV, SIGBUS or
    SIGABRT by chance.

    Args:
        swept: whether the test is a cell of the sweep, which has modes of its own.
    """

    name = "crash"

    def __init__(self, swept: bool = False) -> None:
        self.swept = swept

    def plan(self, test: TestCase, modes: Sequence[str], dialect: Dialect) -> Sequence[str]:
        """Return the first mode, and those for each cell; a death in another mode is noticed without a plan."""
        if not self.swept:
            return modes[:1]
        return [*modes[:1], *(mode for mode in modes[1:] if mode in dialect.modes and dialect.modes[mode].swept)]

    def kind(self, mode: str, outcome: Outcome, dialect: Dialect) -> str:
        """Return the kind; see PROGRAM for the exceptions of that mode."""
        unexplained = "internal-error" if mode == PROGRAM and outcome.kind == "exception" else ""
        return _kind(outcome, dialect) or unexplained

    def said(self, outcome: Outcome) -> str:
        """Return the cause of death."""
        return cause(outcome)

    def examples(self, dialect: Dialect) -> Sequence[VerdictExample]:
        """Return an example for each kind of outcome."""
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
        # SIGKILL comes from the kernel's out-of-memory killer or from nightfuzz, never from the library.
        return "" if outcome.name == "SIGKILL" else "crash"
    # The names in code that came as text are the caller's.
    given = outcome.name == "NameError" and outcome.frames and _EVALUATED.search(outcome.frames[0])
    if outcome.kind != "exception" or given:
        return ""
    # Described arguments are never deep: recursion without an end is the library's own.
    if outcome.name == RECURSION or dialect.internal_error.search(text):
        return "internal-error"
    return "crash" if dialect.poisons.search(text) else ""


def cause(outcome: Outcome) -> str:
    """Return the usual name of an outcome, with the signal or exception: `heap corruption (SIGABRT)`."""
    if outcome.kind != "signal":
        return f"stack overflow ({RECURSION})" if outcome.name == RECURSION else outcome.name
    said = (term for term, words in _WORDS.items() if words.search(outcome.text))
    missed = (term for place, term in _PLACES.items() if place in outcome.frames)
    term = next(itertools.chain(said, missed), _SIGNALS.get(outcome.name, "death by a signal"))
    return f"{term} ({outcome.name})"
