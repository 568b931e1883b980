"""Jittor's error texts: it words a failure of its own like a refusal, so the moment of the error decides.

The texts are those of Jittor 1.3.7.16.
"""

from __future__ import annotations

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.triage.signature import signature

REFUSED = "Wrong inputs arguments, Please refer to examples(help(jt.reindex)).\n\nFailed reason:"
CHECK = "{}Check failed: {}  Something wrong... Could you please report this issue?\n {}"
UNARY = CHECK.format("[f 1123 04:01:06.778038 00:C1 expr.cc:170] ", "is_unary_op.count(op)", "% is not unary op")
COMPILING = (
    "[f 1123 04:01:08.226412 72 parallel_compiler.cc:330] Error happend during compilation:\n"
    " [Error] source file location:/a/jit/reindex_hash_53ede3_op.cc\n"
    f"Compile fused operator(1/2)failed:[Op(5:1:1:1:i1:o1:s0,reindex->6),]\n\nReason: {UNARY}"
)
LATER = UNARY.replace("00:C1", "72")
NO_DIMENSION = CHECK.format("[f 1123 04:01:08.2 72 code_op.cc:25] ", "(i == 0) ^ (v[i] >= 0)", "Vary shape [1,-4,]")
NO_NAME = CHECK.format("[f 1123 04:01:08.2 72 nano_string.h:157] ", "iter != __string_to_ns.end()", "nope")


@pytest.mark.parametrize("said", [REFUSED + COMPILING, COMPILING, LATER, NO_DIMENSION])
def test_what_fails_once_its_arguments_were_taken_is_its_own_fault(said: str) -> None:
    assert dialect_of("jittor").internal_error.search(f"RuntimeError: {said}")


@pytest.mark.parametrize("said", [REFUSED + NO_DIMENSION, REFUSED + NO_NAME, REFUSED])
def test_what_it_refuses_is_not(said: str) -> None:
    assert not dialect_of("jittor").internal_error.search(f"RuntimeError: {said}")


def test_memory_that_runs_out_while_it_compiles_is_not() -> None:
    said = f"RuntimeError: {REFUSED}{COMPILING} virtual memory exhausted"
    assert not dialect_of("jittor").internal_error.search(said)


def test_a_fault_is_the_same_whether_it_compiles_within_the_call_or_later() -> None:
    verdict = Verdict("crash", "internal-error")
    told = [
        signature("jittor.nn.PixelShuffle", verdict, Outcome("exception", "RuntimeError", said))
        for said in (REFUSED + COMPILING, COMPILING, LATER)
    ]
    assert len(set(told)) == 1
