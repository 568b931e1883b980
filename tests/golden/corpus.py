"""Verdicts and outcomes of every kind, in a fixed order, as findings of two years have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.oracles.crash import cause

NULL, STACK, WILD = "(fault in the null page)", "(fault at the end of the stack)", "(fault at a wild address)"

# Values for the variable parts of a message; each message is used with each set of values.
PATHS = ("/b/aten/src/ATen/native/A.cpp:27", "C:/w/core/b_op.cc:1031")
FILLINGS = (
    {"n": "5", "m": "-3", "f": "1.5e-3", "a": "0x7f3a10", "s": "[2, 3]", "p": PATHS[0], "v": "'x'"},
    {"n": "9223372036854775807", "m": "0", "f": "nan", "a": "0x1", "s": "(4,)", "p": PATHS[1], "v": '"a b"'},
)

MESSAGES = (
    "index {n} is out of bounds for dimension {m} with size {n}",
    'false INTERNAL ASSERT FAILED at "/build/aten/src/ATen/A.cpp":{n}, please report a bug to PyTorch. got {m}',
    '!needs_check INTERNAL ASSERT FAILED at "{p}", please report a bug to PyTorch.',
    'x.dim() == {n} INTERNAL ASSERT FAILED at "/pytorch/torch/csrc/autograd/b.cpp":33, please report a bug to PyTorch. '
    "Expected {s} but got {v}",
    "Sizes of tensors {s} and (4,) at dim {f}",
    "conv2d got tensor([[1., nan], [{n}, 2.]], dtype=torch.float32) at {a}",
    "{{{{function_node __wrapped__Add_device_/job:localhost/replica:0}}}} bad rank {n} [Op:Add]",
    "{{{{function_node __wrapped__Max_device_/job:x/device:CPU:0}}}} bad index {n} [Op:Max] name: a/max",
    "Graph execution error:\n\nDetected at node Max defined at (most recent call last):\n"
    '  File "/a/r.py", line {n}, in f\n\nbad index {m}\nof {v}\n\t [[{{{{node Max}}}}]] [Op:__inference_f_{n}]',
    "Exception encountered when calling Layer.call().\n\nGraph execution error:\n\nno node {n}",
    "Check failed: dims() < 9 ({n} vs. 9)",
    "Check failed: in.dims() == perm.size() ({n} vs. {m}) shape {s}",
    'Check failed: (Deprecated(), GetNodeAttr(n, "ksize", &k)) is OK (INVALID_ARGUMENT: ksize {n} is too large)',
    "F0000 00:00:1{n}.0 16 tensor.cc:357] Check failed: NDIMS == dims() ({n} vs. {m})Asking for tensor of {m}",
    "[f 1121 17:01:05.984565 40 executor.cc:686]\nExecute fused operator({n}/2) failed.\n[Reason]: "
    "[f 1121 17:01:05.984 40 log.cc:608] Check failed ret(256) == 0(0) Run cmd failed: g++ {p}",
    "Wrong inputs arguments, Please refer to examples(help(jt.add)).\n\nFailed reason:\x1b[38;5;1m[f 1121 "
    "17:01:05.984565 40 binary_op.cc:432] Check failed xshape({n}) == yshape(4) Shape not match\x1b[m",
    "compiler: expected ';' before {v}\nExecute fused operator(1/2) failed. {n}",
    "[f 1121 18:17:40.325978 96 executor.cc:{n}] Check failed: v->mem_ptr  Something wrong... Please report\n "
    "Var(2:1:1:1:i0:o0:s1:n0,float32,,0)[-1,493033449277826816,15,]",
    "reason {n}\n**********\nAsync error was detected. To locate the backtrace rerun your code",
    "got {f}; Exception raised from f at {p} (most recent call first):\nframe #0: c10::Error ({a} in libc10.so)",
    "log1p of int32 failed for torch.float16, dtype={v}",
    "pairs 3x4, 5*6 and {n}, {m}; {f}j; inf and -infinity; 0J0; v2d",
    "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([{n}, 2.])> is no <tf.Variable 'v:0' shape=(2,)>",
    "input must be {n}-dimensional, got {s}",
    "Unsupported dtype {v} for operand {n}",
    "Unrecognized dtype: UInt{n}",
    "only floating point is supported, {v} is not supported",
    "vector::_M_range_check: __n (which is {n}) >= this->size() (which is {m})",
    "map::at",
    "basic_string::_M_construct null not valid",
    "std::bad_alloc at {a}",
    "runtime error: index {n} out of bounds for type {v}",
    "'image' Must be non NULL, {n}",
    "returned NULL without setting an exception",
    "cannot access local variable {v} where it is not associated with a value",
    "maximum recursion depth exceeded while calling a Python object",
    "UserWarning: beta state. (Triggered internally at {p}.) value {n}",
    "\u2018quoted {n}\u2019 and `ticks {m}` and 'single' in {p}",
    "Trying to create tensor with negative dimension {m}: {s}",
    "CUDA error: an illegal memory access was encountered at {a}\nCompile with TORCH_USE_CUDA_DSA",
    "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED {n}",
    "could not create a primitive descriptor for {v} ({n})",
    "Expected all tensors on one device, {v} and cpu:{n}",
    "size mismatch, got input ({n}), mat ({n}x{m}), vec ({m})",
    "The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton dimension 1",
    "word " * 60 + "{n}",
    "a" * 196 + " {n}A",
    "",
    "\u00e9t\u00e9 \u6570 \u0663 {n} \udcff",
)
NAMES = ("RuntimeError", "SystemError", "InternalError", "UnboundLocalError", "NotImplementedError", "IndexError")
APIS = (
    "torch.add",
    "torch.nn.functional.conv2d",
    "tf.raw_ops.Max",
    "tf.image.resize",
    "jittor.nn.conv",
    "fakelib.pool",
)

SIGNALS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGABRT", "SIGKILL")
STACKS: tuple[tuple[str, ...], ...] = (
    (),
    (NULL,),
    (STACK,),
    (WILD,),
    ("at::native::add_kernel", "at::native::structured_add_out::impl", "at::_ops::add::call", "THPVariable_add", NULL),
    ("at::native::add_kernel", "at::native::add_kernel", "at::parallel_for", "at::native::outer", WILD),
    ("tensorflow::MaxOp::Compute", "tensorflow::KernelAndDeviceOp::Run", "tensorflow::(anonymous)::ExecutorState::Go"),
    ("c10::function_ref::callback_fn", "at::TensorIteratorBase::serial_for_each", "at::native::gcd_kernel"),
    ("Eigen::internal::TensorExecutor::run", "Eigen::ThreadPoolDevice::parallelFor", "tensorflow::f"),
    ("torch/functional.py:stft", "torch/_meta.py:g"),
)
SAID = (
    "",
    "UserWarning: sparse layouts are not supported everywhere",
    "Check failed: size <= kMaxSize (2147483649 vs. 2147483648)",
    "F0000 00:00:17.0 16 png_io.cc:357] 'image' Must be non NULL\n    @ 0x7 f()",
    "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check: __n (3)",
    "python: /b/src/kernel.cpp:88: void f(int): Assertion `n > 0' failed.",
    "LLVM ERROR: Cannot select: 0x5581 t12: i64",
    "double free or corruption (out)",
    "malloc(): corrupted top size",
    "free(): invalid next size (fast)",
    "*** stack smashing detected ***: terminated",
    "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014",
    "/b/a.cpp:3:4: runtime error: load of null pointer of type 'int'",
    "Fatal Python error: Aborted",
)
MODES = ("strided", "out", "inplace", "vmap", "cuda", "compile", "onednn-off", "threads", "function", "xla", "program")
DIFFERENCES = (
    "Mismatched elements: 1 / 4\nGreatest difference 0.5 at (0, 1)",
    "Mismatched elements: 812 / 4096\nGreatest difference 1e30 at (2, 1)",
    "Mismatched elements: 1 / 1 (nan)\n[nan], expected [1.]",
    "other structure: tuple of 2, expected Tensor",
    "dtype is torch.float32, expected torch.float64",
    "dtype is int64, expected int32",
    "shape is (1,), expected (2,)",
    "accepts what cpu refuses: ValueError: p must be in [0, 1], got 3.5",
    "accepts what eager refuses: RuntimeError: bad rank 7 [Op:Max]",
    "refuses what cpu accepts: RuntimeError: could not create a primitive at /b/x.cpp:14",
    "refuses what eager accepts: InvalidArgumentError: Graph execution error:\n\nDetected at node M defined at (x):\n"
    "\n\nbad index 3\n\t [[{{node M}}]] [Op:__inference_f_2]",
    "result holds uninitialized memory",
)
VERSIONS = (
    ("regression", "accepted before, now SIGSEGV"),
    ("regression", "ValueError: a negative size -3 before, now SIGABRT: Check failed: rank == 2 (3 vs. 2)"),
    ("regression", "takes ten times as long\n1.2e-3 s before, now 3.4e-2 s"),
    ("regression", "other values\n[1.] before, now [2.]"),
    ("changed", "accepted before, now ValueError: p must be in [0, 1], got 3.5"),
    ("changed", "other values of torch.float16\n[1.] before, now [2.]"),
    ("changed", "ValueError: negative -1 before, now TypeError: negative"),
    ("fixed", "SIGSEGV before, now accepted"),
    ("fixed", "timeout: 5 s before, now accepted"),
)


class ReportedCase(NamedTuple):
    """A worker's report on one test case."""

    api: str
    verdict: Verdict
    outcome: Outcome


def corpus() -> list[ReportedCase]:
    """Returns all cases. Add a new case at the end of its part, so that the stored answers of older cases stay."""
    return [*_exceptions(), *_deaths(), *_ends(), *_disagreements(), *_changes()]


def _exceptions() -> Iterator[ReportedCase]:
    for number, message in enumerate(MESSAGES):
        for which, filling in enumerate(FILLINGS):
            outcome = Outcome("exception", NAMES[number % len(NAMES)], message.format(**filling))
            yield _crashed("internal-error", number + which, outcome)
    told = "INTERNAL ASSERT FAILED"
    for number, name in enumerate((*NAMES, "RecursionError", "TypeError", "InvalidArgumentError", "UnknownError")):
        yield _crashed("internal-error", number, Outcome("exception", name, told, ("torch/a.py:f", "torch/b.py:g")))
    poisoned = Outcome("exception", "RuntimeError", "CUDA error: device-side assert triggered")
    yield _crashed("crash", 0, poisoned, "cuda")
    yield _crashed("internal-error", 1, Outcome("exception", "TypeError", "unsupported operand 3"), "program")


def _deaths() -> Iterator[ReportedCase]:
    for number, name in enumerate(SIGNALS):
        for which, frames in enumerate(STACKS):
            yield _crashed("crash", number + which, Outcome("signal", name, "", frames))
    for number, said in enumerate(SAID):
        for which, name in enumerate(("SIGABRT", "SIGSEGV")):
            yield _crashed("crash", number, Outcome("signal", name, said, STACKS[(number + which) % len(STACKS)]))
    yield _crashed("internal-error", 0, Outcome("signal", "SIGABRT", "INTERNAL ASSERT FAILED"))


def _ends() -> Iterator[ReportedCase]:
    for number, api in enumerate(APIS):
        yield ReportedCase(
            api, Verdict("crash", "hang", "cpu: timeout"), Outcome("timeout", f"{number + 1} s", seconds=number)
        )
        leak = f"every call leaves {4096 * number} bytes"
        yield ReportedCase(api, Verdict("leak", "leak", f"cpu*: {leak}"), Outcome("ok", text=leak))
        slow = f"cuda@float16: 3.2e-{number} s, cuda@float32: 1.5e-4 s"
        yield ReportedCase(
            api, Verdict("performance", "slow", slow), Outcome("ok", text="3.200e-02 3.100e-02", seconds=0.03)
        )
        strided = f"strided@: 9.{number}e-1 s, cpu@: 1.0e-4 s"
        yield ReportedCase(api, Verdict("performance", "slow", strided), Outcome("ok", text="9.000e-01"))
        documented = f'p = {number}.5, documented: "must be in [0, {number}]" (docstring)'
        refused = Outcome("exception", "RefusedByDocumentation", documented)
        yield ReportedCase(api, Verdict("bounds", "bounds", f"documented: {documented}"), refused)
        alone = f"{number} of 4 values are not finite\n[nan, 1.]"
        yield ReportedCase(api, Verdict("nonfinite", "nonfinite", f"cpu-fp64: {alone}"), Outcome("ok", text=alone))
        yield ReportedCase(api, Verdict("crash", "crash", "cpu: exit"), Outcome("exit", str(number)))
        yield ReportedCase(api, Verdict("crash", "crash", "cpu: oom"), Outcome("oom", "MemoryError", f"{number} bytes"))
        yield ReportedCase(api, Verdict("crash", "crash", "cpu: skipped"), Outcome("skipped", "nothing to compare"))
        yield ReportedCase(
            api, Verdict("documentation", "documentation", "page 3: no result"), Outcome("ok", text="[2]")
        )
    long = 'dim = 7, documented: "the dimension along which to compute, between -rank and rank - 1" (docstring)'
    for api in APIS:
        yield ReportedCase(
            api, Verdict("bounds", "bounds", f"documented: {long}"), Outcome("exception", "ValueError", long)
        )


def _disagreements() -> Iterator[ReportedCase]:
    for number, difference in enumerate(DIFFERENCES):
        for which, mode in enumerate(MODES):
            if (number + which) % 2 == 0 or which < 2:
                refuses = difference.startswith("refuses")
                kind = "inconsistent" if difference.startswith(("refuses", "accepts")) else "wrong-result"
                outcome = Outcome("exception" if refuses else "ok", "ValueError" if refuses else "", difference)
                yield ReportedCase(APIS[which % 6], Verdict("differential", kind, f"{mode}: {difference}"), outcome)
    for mode, kind in (("meta", "wrong-metadata"), ("fake", "wrong-metadata"), ("grad-forward", "wrong-gradient"),
                       ("grad-numerical", "wrong-gradient"), ("training", "wrong-gradient")):  # fmt: skip
        for number, difference in enumerate(DIFFERENCES[:7]):
            yield ReportedCase(
                APIS[number % 6], Verdict("differential", kind, f"{mode}: {difference}"), Outcome("ok", text=difference)
            )


def _changes() -> Iterator[ReportedCase]:
    for number, (kind, said) in enumerate(VERSIONS):
        for which in range(2):
            death = said.partition(", now ")[2].startswith("SIG")
            outcome = Outcome("signal", "SIGSEGV", "", STACKS[5]) if death else Outcome("ok", text=said)
            yield ReportedCase(APIS[(number + which) % 6], Verdict("versions", kind, f"baseline: {said}"), outcome)


def _crashed(kind: str, number: int, outcome: Outcome, mode: str = "cpu") -> ReportedCase:
    return ReportedCase(APIS[number % len(APIS)], Verdict("crash", kind, f"{mode}: {cause(outcome)}"), outcome)
