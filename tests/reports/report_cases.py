"""Cases to render: small cases for the snapshots, and a case with a given text in every place that a worker fills."""

from __future__ import annotations

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.store.records import BugRow, TargetRecord
from fuzz_core.targets.facts import Environment
from fuzz_core.triage.assess import Severity, Validity
from nightfuzz.reports.case import DOES_NOT, NOT_CHECKED, SHOWS, Baseline, BugCase

TEST = TestCase(Invocation("torch.f", (prim(1),)), 1)
MESSAGE = 'n >= 3 INTERNAL ASSERT FAILED at "/w/Kernel.h":8, please report a bug to PyTorch. '
TORCH = TargetRecord(
    "torch-1", "torch==2.13.0", "torch", "2.13.0+cpu", "/env/bin/python", {"summary": "torch", "devices": ["cpu"]}
)
TENSORFLOW = TargetRecord(
    "tf-1", "tensorflow==2.21.0", "tensorflow", "2.21.0", "/env/bin/python", {"summary": "tf", "devices": ["cpu"]}
)
JITTOR = TargetRecord(
    "jittor-1", "jittor==1.3.11.0", "jittor", "1.3.11.0", "/env/bin/python", {"summary": "jittor", "devices": ["cpu"]}
)
OTHER = TORCH._replace(key="lib-1", spec="lib==1", library="lib", version="1")
TORCH_ENV = Environment("PyTorch version: 2.13.0+cpu\nOS: Debian", {"version": "2.13.0+cpu", "os": "Debian"})
TENSORFLOW_ENV = Environment(
    "tensorflow version: 2.21.0\nOS: Debian",
    {"version": "2.21.0", "git_version": "v2.21.0-0-gabc", "os": "Debian", "python": "3.11.7", "compiler": "Clang 18"},
)
JITTOR_ENV = Environment(
    "jittor version: 1.3.11.0\nOS: Debian", {"version": "1.3.11.0", "os": "Debian", "python": "3.11.7"}
)
JITTOR_LOG = "[i 1121 00 compiler.py:955] Jittor(1.3.11.0) src: <env>/jittor\nSegfault, exit\n\nexit status 1"
UNKNOWN = Severity(
    "crash",
    "",
    Validity("unknown", "fuzzing changed the arguments; no documentation says whether they are allowed"),
)
VALID = Severity("wrong-result", "", Validity("valid", "the plain call accepts it"))
PRIVATE = UNKNOWN._replace(grade="private", reason="the heap is corrupted")

TORCH_SCRIPT = """\
import torch

x = torch.zeros(2)
x.index_put((), torch.zeros(2))
# expected: a result, or an exception that says what is wrong with the arguments
# observed: RuntimeError: n >= 3 INTERNAL ASSERT FAILED
"""
COMPARISON = """\
import torch

x = torch.zeros(2, 2)

def f(x):
    return torch.sin(x)

torch.testing.assert_close(f(x.mT.contiguous().mT), f(x), equal_nan=True)
# expected: the same result from both calls
# observed: result with non-contiguous tensors differs from that with contiguous tensors
"""
TENSORFLOW_SCRIPT = """\
import tensorflow as tf

tf.raw_ops.EncodePng(image=tf.zeros([0, 1, 1], tf.uint8))
# expected: a result or a Python exception
# observed: abort (SIGABRT): Check failed: image
"""


JITTOR_SCRIPT = """\
import jittor

jittor.random((2,), 'float32', 'strange').sync()
# expected: a result or a Python exception
# observed: segmentation fault (SIGSEGV)
"""


def bug(number: int = 3, **told: object) -> BugRow:
    outcome = Outcome("exception", "RuntimeError", MESSAGE, ("torch/nn/f.py:g",), 0.5)
    row = BugRow(
        number, "torch-1", "d", "torch.Tensor.index_put: RuntimeError: n", "torch.Tensor.index_put", "crash",
        "internal-error", TEST, TORCH_SCRIPT, outcome, 5, 5, 2, "2026-01-02T00:00:00.000+00:00", True, "open",
    )  # fmt: skip
    return row._replace(**told)


def torch_case(**told: object) -> BugCase:
    modes = {"cpu": SHOWS, "strided": NOT_CHECKED, "compile": DOES_NOT}
    case = BugCase(bug(), TORCH, UNKNOWN, TORCH_ENV, modes, also=("torch.index_put",))
    return case._replace(**told)


def comparison_case() -> BugCase:
    differs = Outcome("ok", "", "other values\nTensor-likes are not close! Mismatched elements: 1 / 4 (25.0%)")
    signed = "torch.sin: wrong-result: strided: other values"
    head = {"api": "torch.sin", "oracle": "differential", "kind": "wrong-result", "signature_text": signed}
    row = bug(4, **head, script=COMPARISON, outcome=differs)
    return torch_case(bug=row, severity=VALID, modes={"cpu": DOES_NOT, "strided": SHOWS}, also=())


CHECK = """\
import torch

actual = torch.f(torch.zeros(()), tau=-1)
print(told := f"expected an exception, got {actual}")
raise AssertionError('the documentation forbids tau=-1 ("non-negative"): ' + told)
# expected: an exception, because the documentation forbids the argument
"""


def check_case(script: str = CHECK) -> BugCase:
    """Returns the case of a call that accepts a value which the documentation forbids."""
    said = Outcome("exception", "RuledOut", 'tau = `-1`, documented: "non-negative" (docstring)')
    forbidden = UNKNOWN._replace(grade="documentation", validity=Validity("invalid", "documented: non-negative"))
    row = bug(11, api="torch.f", oracle="bounds", kind="bounds", script=script, outcome=said)
    return torch_case(bug=row, severity=forbidden, also=())


def accepted_cases() -> list[BugCase]:
    """Returns cases of calls that one mode accepts and the plain mode refuses: with a short and with a long script."""
    said = Outcome("ok", "", "accepts what cpu refuses: ValueError: no bool")
    head = {"oracle": "differential", "kind": "inconsistent", "outcome": said, "api": "torch.g"}
    signed = "torch.g: inconsistent: strided: accepts what cpu refuses"
    rows = [bug(12, script="import torch\n\ntorch.g(1)\n", signature_text=signed, **head)]
    rows += [bug(13, script=COMPARISON, signature_text=signed, **head)]
    return [torch_case(bug=row, severity=VALID, also=()) for row in rows]


def refused_case() -> BugCase:
    """Returns the case of a call that a graph refuses for its shapes, and the plain mode accepts."""
    node = "'{{node F}} = F[T=DT_FLOAT](x)' with input shapes: []."
    said = Outcome("exception", "ValueError", f"refuses what cpu accepts: ValueError: rank is 0 for {node}")
    signed = "tf.raw_ops.F: inconsistent: function: refuses what cpu accepts"
    head = {"oracle": "differential", "kind": "inconsistent", "api": "tf.raw_ops.F", "signature_text": signed}
    test = TestCase(Invocation("tf.raw_ops.F"), 0, rules=("Mutate a Value",))
    return tensorflow_case(bug=bug(14, test=test, outcome=said, script=COMPARISON, **head))


def tensorflow_case(**told: object) -> BugCase:
    died = Outcome("signal", "SIGABRT", "Check failed: image 'image' Must be non NULL", ("tensorflow::png::Write",))
    row = bug(5, api="tf.raw_ops.EncodePng", kind="crash", script=TENSORFLOW_SCRIPT, outcome=died, target="tf-1")
    return BugCase(row, TENSORFLOW, UNKNOWN, TENSORFLOW_ENV, {"cpu": SHOWS})._replace(**told)


def jittor_case(**told: object) -> BugCase:
    died = Outcome("signal", "SIGSEGV", "", ("jittor::RandomOp::RandomOp",))
    row = bug(6, api="jittor.random", kind="crash", script=JITTOR_SCRIPT, outcome=died, target="jittor-1")
    return BugCase(row, JITTOR, UNKNOWN, JITTOR_ENV, {"cpu": SHOWS}, JITTOR_LOG)._replace(**told)


def regression_case() -> BugCase:
    return torch_case(baseline=Baseline("2.12.0", "ok", 5))


def hostile_case(text: str, target: TargetRecord = TORCH) -> BugCase:
    """Returns a case with the text in every place that a worker, a library or a seed fills."""
    facts = dict.fromkeys(("version", "os", "python", "cuda", "gpu", "compiler", "git_version"), text)
    row = bug(
        api=text, kind="crash", signature_text=text, script=f"import torch\n{text}\n# expected: {text}\n",
        outcome=Outcome("exception", text or "E", text, (text, text)), origin=text,
    )  # fmt: skip
    severity = Severity("crash", "", Validity("unknown", text))
    place = target._replace(spec=text, version=text, info={"summary": text, "devices": [text]})
    modes = {text: SHOWS, "cpu": text, "strided": NOT_CHECKED}
    return BugCase(
        row, place, severity, Environment(text, facts, text), modes, text, Baseline(text, text, 5), text, (text,)
    )
