"""Tests that a compiler's first error is the reason of a failed call."""

from __future__ import annotations

from fuzz_core.ir.outcome import Outcome, Verdict, complaint_in, with_complaint
from fuzz_core.triage.signature import signature
from nightfuzz.reports.contradiction import outcome_sentence

EARLIER = "/a/first_op.cc:3:1: error: 'x' was not declared in this scope\n"
OUTPUT = (
    EARLIER + "\x1b[01m\x1b[K/a/jit/key_op.cc:\x1b[m\x1b[K In member function 'void run()':\n"
    "\x1b[01m\x1b[K/a/jit/key_op.cc:31:36:\x1b[m\x1b[K \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[Kexpected ';' before 'y'\n"
    "   31 |   x = id0*;\n"
    "/a/jit/key_op.cc:40:1: error: another one\n"
)
MESSAGE = (
    "\x1b[38;5;1m[f 1121 17:01:05.984565 40 executor.cc:686]\nExecute fused operator(1/2) failed.\n"
    "[Reason]: [f 1121 17:01:05.984 40 log.cc:608] Check failed ret(256) == 0(0) Run cmd failed: g++ /a/key_op.cc"
)
REFUSED = (
    "Wrong inputs arguments, Please refer to examples(help(jt.add)).\n\nFailed reason:\x1b[38;5;1m[f 1121 "
    "17:01:05.984565 40 binary_op.cc:432] Check failed xshape(3) == yshape(4) Shape not match\x1b[m"
)


def told(text: str) -> str:
    return signature("jittor.add", Verdict("crash", "internal-error"), Outcome("exception", "RuntimeError", text)).text


def test_the_first_error_of_the_last_compilation_comes_first() -> None:
    found = with_complaint(MESSAGE, OUTPUT)
    assert complaint_in(found) == "compiler: expected ';' before 'y'"
    assert found.endswith(MESSAGE)


def test_without_an_error_the_message_stays_as_it_is() -> None:
    assert with_complaint(MESSAGE, "warning: unused\n") == MESSAGE
    assert complaint_in(MESSAGE) == ""


def test_a_signature_is_the_complaint_or_the_reason_that_is_given() -> None:
    assert told(with_complaint(MESSAGE, OUTPUT)).startswith("jittor.add: RuntimeError: compiler: expected <value>")
    assert told(REFUSED).startswith("jittor.add: RuntimeError: Check failed xshape<shape> == yshape<shape> Shape not")


def test_who_compiles_is_no_part_of_a_fault() -> None:
    """An operator is compiled at its execution, or earlier together with others. The surrounding messages differ."""
    reason = "[f 1121 01:03:47.3 76 expr.cc:170] Check failed: is_unary_op.count(op)  Please report\n % is not unary op"
    executing = f"Execute fused operator(1/2) failed.[OP TYPE]: fused_op:( reindex,)\n[Reason]: {reason}\n"
    advice = "**********\nAsync error was detected. To locate the backtrace rerun your code"
    compiling = f"Compile fused operator(0/1)failed:[Op(3:1:1:1:i1:o1:s0,reindex->4),]\n\nReason: {reason}\n"
    assert told(executing + advice) == told(compiling)


def test_what_a_tensor_says_of_itself_and_advice_are_no_part_of_a_fault() -> None:
    check = "[f 1121 18:17:40.325978 96 executor.cc:{}] Check failed: v->mem_ptr  Something wrong... Please report\n {}"
    advice = "\n**********\nAsync error was detected. To locate the backtrace rerun your code\n>>> export JT_SYNC=1"
    older = check.format(691, "Var(2:1:1:1:i0:o0:s1:n0,float32,,0)[-1,493033449277826816,15,]")
    newer = check.format(695, "Var(7:1:2:1:i1:o0:s1:n0:g1,float64,,0)[3,]") + advice
    assert told(older) == told(newer)
    assert told(newer).endswith("Something wrong... Please report <tensor>")


def test_a_title_says_the_reason_without_the_log_head() -> None:
    outcome = Outcome("exception", "RuntimeError", REFUSED)
    assert (
        outcome_sentence("internal-error", outcome)
        == "RuntimeError: Check failed xshape(3) == yshape(4) Shape not match"
    )


def test_the_types_that_a_compiler_quotes_are_no_part_of_a_signature() -> None:
    said = "compiler: call of overloaded \u2018_erfinv({}&)\u2019 is ambiguous"
    first, second = (said.format(each) for each in ("bool", "short int"))
    assert told(first) == told(second)
    assert "<value>" in told(first)
