"""Text that a call gives: what a library repeats of it, or its compiler says of it, is the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fuzz_core.ir.complaints import complaint_in
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.parts import texts_of
from fuzz_core.ir.values import Invocation, Map, Prim, Seq, TestCase, Value

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
    for place, value in enumerate(call.args):
        if (made := _filled(value)) != value:
            yield call._replace(args=(*call.args[:place], made, *call.args[place + 1 :]))
    for place, (name, value) in enumerate(call.kwargs):
        if (made := _filled(value)) != value:
            yield call._replace(kwargs=(*call.kwargs[:place], (name, made), *call.kwargs[place + 1 :]))


def _filled(value: Value) -> Value:
    if isinstance(value, Prim) and value.type == "str":
        return Prim("str", TEXT)
    if isinstance(value, Seq):
        return value._replace(items=tuple(map(_filled, value.items)))
    if isinstance(value, Map):
        return Map(tuple((name, _filled(item)) for name, item in value.entries))
    return value
