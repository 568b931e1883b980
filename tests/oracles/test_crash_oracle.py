"""Tests of the cause of a process's death in the field's terms; the cause never changes the signature of a bug."""

from __future__ import annotations

import pytest

from fuzz_core.adapters.dialect import DIALECTS, dialect_of
from fuzz_core.ir.outcome import Outcome
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.crash import cause
from fuzz_core.worker.stack import FAULTS, NULL_PAGE, OVERFLOW, WILD

DEATHS = [
    ("SIGSEGV", "", (), "segmentation fault (SIGSEGV)"),
    ("SIGSEGV", "", ("f", NULL_PAGE), "null pointer (SIGSEGV)"),
    ("SIGSEGV", "", ("f", OVERFLOW), "stack overflow (SIGSEGV)"),
    ("SIGBUS", "", ("f", WILD), "wild pointer (SIGBUS)"),
    ("SIGBUS", "", (), "bus error (SIGBUS)"),
    ("SIGFPE", "", (), "division by zero (SIGFPE)"),
    ("SIGILL", "", (), "illegal instruction (SIGILL)"),
    ("SIGABRT", "", (), "abort (SIGABRT)"),
    ("SIGABRT", "F0000 x.cc:1] Check failed: rank == 2", (), "failed check (SIGABRT)"),
    ("SIGABRT", "python: f.c:1: f: Assertion `n' failed.", (), "failed check (SIGABRT)"),
    ("SIGABRT", "terminate called after throwing an instance of 'c10::Error'", (), "uncaught exception (SIGABRT)"),
    ("SIGABRT", "double free or corruption (!prev)", (), "heap corruption (SIGABRT)"),
    ("SIGABRT", "malloc(): corrupted top size", (), "heap corruption (SIGABRT)"),
    ("SIGABRT", "*** stack smashing detected ***: terminated", (), "stack corruption (SIGABRT)"),
    ("SIGABRT", "==1==ERROR: AddressSanitizer: heap-buffer-overflow", (), "sanitizer report (SIGABRT)"),
    ("signal 64", "", (), "death by a signal (signal 64)"),
]


@pytest.mark.parametrize(("name", "said", "frames", "expected"), DEATHS)
def test_a_death_is_named_by_its_last_words_or_by_where_memory_was_missed(
    name: str, said: str, frames: tuple[str, ...], expected: str
) -> None:
    outcome = Outcome("signal", name, said, frames)
    assert cause(outcome) == expected
    for library in DIALECTS:
        verdict = oracle_of("crash").judge({"cpu": outcome}, dialect_of(library))
        assert (verdict.kind, verdict.detail) == ("crash", f"cpu: {expected}")


def test_every_place_that_a_trace_tells_has_a_term() -> None:
    terms = {cause(Outcome("signal", "SIGSEGV", "", (place,))) for place in FAULTS}
    assert len(terms) == len(FAULTS)
    assert "segmentation fault (SIGSEGV)" not in terms


@pytest.mark.parametrize("library", DIALECTS)
def test_recursion_without_an_end_is_the_librarys_own_fault(library: str) -> None:
    outcome = Outcome("exception", "RecursionError", "maximum recursion depth exceeded while calling a Python object")
    verdict = oracle_of("crash").judge({"cpu": outcome}, dialect_of(library))
    assert (verdict.kind, verdict.detail) == ("internal-error", "cpu: stack overflow (RecursionError)")


@pytest.mark.parametrize("outcome", [Outcome("exit", "3"), Outcome("skipped", "BuildError"), Outcome("oom", "x")])
def test_what_is_no_death_is_clean(outcome: Outcome) -> None:
    assert oracle_of("crash").judge({"cpu": outcome}, dialect_of("torch")).clean
