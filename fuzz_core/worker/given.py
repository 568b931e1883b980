"""Text that a call gives: what a library repeats of it, or its compiler says of it, is the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fuzz_core.ir.complaints import complaint_in
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.tree import children, rewritten, texts_of, with_children
from fuzz_core.ir.values import Invocation, Prim, TestCase, Value

TEXT = "nightfuzz_text"
# A shorter one is in many messages without being repeated.
LEAST_CHARACTERS = 4


def is_compiled(test: TestCase, run: Callable[[TestCase], Outcome]) -> bool:
    """Whether the compiler complains of a word that is put in the place of the text of one of the arguments.

    A name that is looked up (of an operator, a mode) is not compiled: with such a word, the call is refused.
    """
    calls = _with_text(test.invocation)
    return any(TEXT in complaint_in(run(test._replace(invocation=call)).text) for call in calls)


def without_given(test: TestCase, outcome: Outcome) -> Outcome:
    """The outcome without the texts of the call in its message: one that looks like an internal error makes no bug of
    the exception that refuses it."""
    said = outcome.text
    for text in sorted(texts_of(test.invocation), key=len, reverse=True):
        if len(text) >= LEAST_CHARACTERS:
            said = said.replace(text, "…")
    return outcome._replace(text=said)


def _with_text(call: Invocation) -> Iterator[Invocation]:
    """The call with TEXT for all texts in one of its arguments, for each that has any."""
    parts = children(call)
    for place, value in enumerate(parts):
        if (made := rewritten(value, _filled)) != value:
            yield with_children(call, (*parts[:place], made, *parts[place + 1 :]))


def _filled(value: Value) -> Value:
    return Prim("str", TEXT) if isinstance(value, Prim) and value.type == "str" else value
