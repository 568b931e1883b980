"""Tests of the contradiction, a bug in one line: the call's result, and the expected result."""

from types import SimpleNamespace

import pytest

from fuzz_core.ir.outcome import Outcome
from nightfuzz.reports.contradiction import (
    ValuePair,
    blame_sentence,
    contradiction,
    outcome_sentence,
    values_in,
    wrong_side,
)

FAR = "Tensor-likes are not close! Mismatched elements: 3 / 4 (75.0%) Greatest absolute difference: 2.5 at index (0, 1)"
ASSERTED = 'a INTERNAL ASSERT FAILED at "/b/c.cpp":1, please report a bug to PyTorch.'
FAILED_CHECK = Outcome("signal", "SIGABRT", "F a.cc:1] Check failed: n > 0")
DTYPES = "another dtype\nThe values for attribute 'dtype' do not match: torch.float32 != torch.bool."
SCALARS = "other values\nScalars are not close! Expected 26.923 but got inf. Absolute difference: inf"
SAYS = [
    ("crash", "", Outcome("signal", "SIGSEGV"), "segmentation fault (SIGSEGV)"),
    (
        "crash",
        "",
        Outcome("signal", "SIGABRT", "F a.cc:1] Check failed: n > 0"),
        "abort (SIGABRT): Check failed: n > 0",
    ),
    ("hang", "", Outcome("timeout", "5 s"), "does not return"),
    (
        "internal-error",
        "",
        Outcome(
            "exception",
            "RuntimeError",
            ASSERTED,
        ),
        "RuntimeError: a INTERNAL ASSERT FAILED",
    ),
    (
        "internal-error",
        "",
        Outcome("exception", "RuntimeError", f"{ASSERTED} no q"),
        "RuntimeError: INTERNAL ASSERT FAILED: no q",
    ),
    (
        "bounds",
        "documented",
        Outcome("exception", "RuledOut", 'tau = `-1`, documented: "non-negative" (docstring)'),
        'returns, though the documentation forbids tau=-1: "non-negative"',
    ),
    (
        "bounds",
        "documented",
        Outcome("exception", "RuledOut", 'features = `tensor<2,int8>`, documented: "must be float16" (op definition)'),
        'returns, though the documentation forbids features=<2-D int8 tensor>: "must be float16"',
    ),
    (
        "leak",
        "cpu",
        Outcome("ok", text="every call leaves 4096 bytes\nexpected less than 256 new pages of memory, got 9"),
        "memory leak: every call leaves 4096 bytes",
    ),
    (
        "wrong-metadata",
        "meta",
        Outcome("ok", text="another dtype\ntorch.float32, expected torch.bfloat16"),
        "dtype float32 on the meta device, bfloat16 on the CPU",
    ),
    (
        "wrong-metadata",
        "meta",
        Outcome("ok", text=DTYPES),
        "dtype float32 on the meta device, bool on the CPU",
    ),
    (
        "wrong-metadata",
        "fake",
        Outcome("ok", text="another stride\n(1, 2), expected (2, 1)"),
        "strides (1, 2) on fake tensors, (2, 1) on real tensors",
    ),
    (
        "crash",
        "",
        Outcome("signal", "SIGABRT", "free(): invalid pointer"),
        "abort (SIGABRT): free(): invalid pointer",
    ),
    (
        "wrong-metadata",
        "fake",
        Outcome("ok", text="another stride\nexpected [(2, 1)], got [(1, 2)]"),
        "strides [(1, 2)] on fake tensors, [(2, 1)] on real tensors",
    ),
    (
        "out-of-bounds",
        "redzone",
        Outcome(
            "ok", text="other values\nexpected -0.4143296182155609, got -4.578470230102539\nScalars are not close!"
        ),
        "reads out of bounds: the result -4.58 with large numbers in memory around its arguments, "
        "-0.414 with zeros in that memory",
    ),
    # The script's call is smaller than the call that was found.
    (
        "wrong-result",
        "function",
        Outcome("ok", text="192 of 192 elements differ\nexpected 1.0, got 2.0\nMismatched elements: 1 / 1 (100%)"),
        "result 2 inside tf.function, 1 outside of tf.function",
    ),
    (
        "wrong-gradient",
        "grad-forward",
        Outcome(
            "ok",
            text="another derivative\na derivative is not the difference quotient: Jacobian computed with forward mode "
            "mismatch for output 0 with respect to input 0,\nnumerical:tensor([[1.]])\nanalytical:tensor([[2.]])\n",
        ),
        "gradient 2 by forward mode, 1 by difference quotient",
    ),
    # The mode is the difference quotient, and its result is right.
    (
        "wrong-gradient",
        "grad-numerical",
        Outcome("ok", text="another derivative\nby tensor 0: -1.8712, expected -0.3042"),
        "gradient -0.304 by autograd, -1.87 by difference quotient",
    ),
    (
        "wrong-gradient",
        "grad-numerical",
        Outcome(
            "ok",
            text="another derivative\nJacobian mismatch for output 0 with respect to input 0,\n"
            "numerical:tensor([[1.0, 0.0],\n        [0.0, 3.0]], dtype=torch.float64)\n"
            "analytical:tensor([[1.0, 0.0],\n        [0.0, 64.0]], dtype=torch.float64)\n",
        ),
        "gradient 64 by autograd, 3 by difference quotient",
    ),
    (
        "wrong-result",
        "strided",
        Outcome("ok", text=SCALARS),
        "result inf with non-contiguous tensors, 26.9 with contiguous tensors",
    ),
    (
        "wrong-result",
        "out",
        Outcome("ok", text=f"other values\n{FAR}"),
        "result written into out= differs from that returned without out=: 3 of 4 elements, by up to 2.5",
    ),
    (
        "wrong-result",
        "out",
        Outcome("ok", text=f"other values\n{FAR}\nexpected tensor([1., 2.,\n 3., 4.]), got tensor([1., 2., 5., nan])"),
        "result nan written into out=, 4 returned without out= (3 of 4 elements)",
    ),
    (
        "wrong-result",
        "function",
        Outcome("ok", text="2 of 4 elements differ\nfirst at (0, 1): 5.0 against 4.0"),
        "result 5 inside tf.function, 4 outside of tf.function (2 of 4 elements)",
    ),
    (
        "nonfinite",
        "cpu-fp64",
        Outcome("ok", text="not finite in 1 of 4 elements"),
        "NaN or infinity in the call's own precision (1 of 4 elements), finite in double precision",
    ),
    (
        "nonfinite",
        "cpu-fp64",
        Outcome("ok", text="not finite in 1 of 1 elements\nexpected tensor(3., dtype=torch.float64), got tensor(nan)"),
        "result nan in the call's own precision, 3 in double precision",
    ),
    (
        "inconsistent",
        "compile",
        Outcome("exception", "TypeError", "refuses what cpu accepts: TypeError: no bool"),
        "refused under torch.compile (TypeError: no bool), accepted by the plain call",
    ),
    (
        "inconsistent",
        "compile",
        Outcome("ok", text="accepts what cpu refuses: ValueError: no bool"),
        "accepted under torch.compile, refused by the plain call (ValueError: no bool)",
    ),
]


@pytest.mark.parametrize(("kind", "mode", "outcome", "line"), SAYS, ids=[line for *_, line in SAYS])
def test_a_bug_says_what_the_call_gives_and_what_it_should_give(kind, mode, outcome, line):
    assert outcome_sentence(kind, outcome, mode) == line


def test_a_line_names_the_side_that_evidence_calls_wrong():
    text = "5 of 5 elements differ\nexpected 0.5, got 0.25\nwrong: {}, by NumPy"
    signature = "torch.sin: wrong-result: vmap: other values"
    bugs = [
        SimpleNamespace(api="torch.sin", kind="wrong-result", signature_text=signature, outcome=Outcome("ok", "", told))
        for told in map(text.format, ("vmap", "cpu"))
    ]
    assert {contradiction(bug) for bug in bugs} == {"result 0.25 under torch.vmap, 0.5 by the plain call"}
    assert [wrong_side(bug) for bug in bugs] == [
        "the one under torch.vmap, by NumPy",
        "the one by the plain call, by NumPy",
    ]


@pytest.mark.parametrize(
    ("kind", "mode", "blame", "sentence"),
    [
        (
            "wrong-result",
            "vmap",
            "vmap, by NumPy",
            "The result under torch.vmap is wrong. The result by the plain call is right: NumPy's function of the same "
            "name gives the right result.",
        ),
        (
            "wrong-result",
            "strided",
            "cpu, by double precision",
            "The result with non-contiguous tensors is right. The result with contiguous tensors is wrong: the right "
            "result is closer to double precision.",
        ),
        (
            "wrong-gradient",
            "grad-numerical",
            "grad, by difference quotients",
            "The gradient by autograd is wrong: it differs from the gradient by difference quotient.",
        ),
    ],
)
def test_a_sentence_names_the_wrong_side_with_the_evidence(kind, mode, blame, sentence):
    head = f"torch.sin: {kind}: {mode}: other values"
    told = Outcome("ok", "", f"5 of 5 elements differ\nexpected 0.5, got 0.25\nwrong: {blame}")
    bug = SimpleNamespace(api="torch.sin", kind=kind, signature_text=head, outcome=told)
    assert blame_sentence(bug) == sentence
    undecided = SimpleNamespace(**{**vars(bug), "outcome": told._replace(text=told.text.partition("\nwrong")[0])})
    assert blame_sentence(undecided) == ""


def test_numbers_have_as_many_digits_as_tell_them_apart():
    assert values_in("expected 1.0000001, got 1.0000002") == ValuePair("1.0000002", "1.0000001")


def test_a_hostile_text_gives_one_bounded_line():
    text = "other values\nexpected " + "1e999 " * 5000 + "\x1b[31m, got " + "nan\n" * 5000
    line = outcome_sentence("wrong-result", Outcome("ok", text=text), "strided")
    assert "\n" not in line and "\x1b" not in line and len(line) <= 400
