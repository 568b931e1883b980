"""Dialects: they spell the values that adapters build as short as they can, and recognize bugs by the error text."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.adapters.arrays import row_major, simplest
from fuzz_core.adapters.dialect import DIALECTS, dialect_of
from fuzz_core.adapters.literals import element, literal, numpy_array, whole_range
from fuzz_core.ir.elements import elements, pack
from fuzz_core.ir.errors import BuildError, UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Fill, Ref, Tensor
from fuzz_core.oracles.contract import oracle_of

ZEROS, ONES = Fill("constant", 0.0), Fill("constant", 1.0)
TORCH, TF = dialect_of("torch"), dialect_of("tensorflow")


def written(*values: Any, dtype: str = "int64") -> Fill:
    return Fill("values", data=pack(np.array(values, dtype=dtype)))


SPELLINGS = [
    (Tensor("float32", (2, 3), ZEROS), "torch.zeros(2, 3)", "tf.zeros([2, 3])"),
    (Tensor("float32", (), ONES), "torch.ones(())", "tf.ones([])"),
    (Tensor("float32", (0, 3)), "torch.empty(0, 3)", "tf.zeros([0, 3])"),
    (Tensor("int32", (2, 3), ONES), "torch.ones(2, 3, dtype=torch.int32)", "tf.fill([2, 3], 1)"),
    (Tensor("float32", (2, 3), Fill("constant", 2.5)), "torch.full((2, 3), 2.5)", "tf.fill([2, 3], 2.5)"),
    (Tensor("bool", (2,), written(1, 0, dtype="bool")), "torch.tensor([True, False])", "tf.constant([True, False])"),
    (Tensor("int64", (2,), written(7, -1)), "torch.tensor([7, -1])", "tf.constant([7, -1], tf.int64)"),
    (Tensor("int64", (1,), written(2**63 - 1)), "torch.tensor([2**63 - 1])", "tf.constant([2**63 - 1], tf.int64)"),
    (Tensor("int64", (40,), written(*range(40))), "torch.arange(40)", None),
    (
        Tensor("float16", (2,), written(0.1, float("nan"), dtype="float16")),
        "torch.tensor([0.1, torch.nan], dtype=torch.float16)",
        "tf.constant([0.1, float('nan')], tf.float16)",
    ),
    (Tensor("float32", (8, 8)), "torch.rand(8, 8)", "tf.random.uniform([8, 8], seed=0)"),
    (
        Tensor("float32", (64,), Fill("uniform", -1.0, 1.0)),
        "torch.rand(64) * 2 - 1",
        "tf.random.uniform([64], -1, 1, seed=0)",
    ),
    (
        Tensor("int64", (64,), Fill("uniform", 0.0, 9.0)),
        "torch.randint(10, (64,))",
        "tf.random.uniform([64], 0, 10, tf.int64, seed=0)",
    ),
    (
        Tensor("float32", (64,), Fill("constant", 0.0, special=float("inf"))),
        "torch.where(torch.arange(64).view(64) % 3 == 0, torch.inf, torch.zeros(64))",
        "tf.where(tf.reshape(tf.range(64), [64]) % 3 == 0, float('inf'), tf.zeros([64]))",
    ),
    (Tensor("float32", (2,), ZEROS, requires_grad=True), "torch.zeros(2).requires_grad_()", "tf.zeros([2])"),
    (Tensor("float32", (3, 2), ZEROS, strides=(1, 3)), "torch.zeros(2, 3).t()", "tf.zeros([3, 2])"),
    (Tensor("float32", (2, 3), ZEROS, strides=(0, 1)), "torch.zeros(3).expand(2, 3)", None),
    (Tensor("float32", (2,), ZEROS, strides=(2,)), "torch.zeros(3)[::2]", None),
    (Tensor("float32", (2, 2), ZEROS, strides=(3, 1)), "torch.zeros(2, 3)[..., :2]", None),
    (Tensor("float32", (2, 3, 4), ZEROS, strides=(12, 1, 3)), "torch.zeros(2, 4, 3).mT", None),
    (Tensor("float32", (2, 2), ZEROS, strides=(1, 1)), "torch.zeros(3).as_strided((2, 2), (1, 1))", None),
    (Tensor("float32", (2,), ONES, "parameter", None, True), "torch.nn.Parameter(torch.ones(2))", None),
    (Tensor("float64", (2,), ONES, "ndarray"), "np.ones(2)", "np.ones(2)"),
    (Tensor("float32", (2,), written(1.0, 2.0, dtype="float32"), "variable"), None, "tf.Variable([1.0, 2.0])"),
    (Tensor("string", (2,), Fill("values", data=b"a\0b'")), None, "tf.constant(['a', \"b'\"])"),
    (Tensor("uint8", (3,), Fill("constant", 7.0)), None, "tf.constant(7, tf.uint8, [3])"),
    (Tensor("float32", (), Fill("constant", -0.0)), None, "-tf.zeros([])"),
    (Tensor("complex64", (), Fill("constant", -0.0)), None, "tf.complex(-tf.zeros([]), tf.zeros([]))"),
]

BUGS = [
    'RuntimeError: x.is_cuda() INTERNAL ASSERT FAILED at "a.cpp":33, please report a bug to PyTorch.',
    "RuntimeError: vector::_M_range_check: __n (which is 5) >= this->size() (which is 2)",
    "IndexError: basic_string::at: __n (which is 0) >= this->size() (which is 0)",
    "RuntimeError: bad optional access",
    "RuntimeError: std::bad_variant_access",
    "SystemError: <built-in function x> returned NULL without setting an exception",
    "ValueError: cannot create std::vector larger than max_size()",
    "UnboundLocalError: cannot access local variable 'x' where it is not associated with a value",
]
CLEAN = [
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
    "TypeError: f(): incompatible function arguments: 1. (arg0: std::vector<int>) -> None",
    "RuntimeError: Expected X to be true, but got false. (please report an enhancement request to PyTorch.)",
    "ValueError: step must be positive",
]
MEMORY = [
    "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried",
    "RuntimeError: std::bad_alloc",
    "MemoryError: std::bad_alloc",
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
    "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 8 EiB",
    "OSError: [Errno 12] Cannot allocate memory",
]
# Error texts that name a device, and whether each says that the device is lost.
DEVICES = [
    ("torch", "CUDA error: an illegal memory access was encountered", True),
    ("torch", "CUDA error: device-side assert triggered", True),
    ("torch", "CUDA error: unspecified launch failure", True),
    ("torch", "CUDA error: invalid device function", True),
    ("torch", "CUDA error: out of memory", False),
    ("torch", "CUDA error: CUDA driver version is insufficient for CUDA runtime version", False),
    ("torch", "CUDA error: no CUDA-capable device is detected", False),
    ("torch", "HIP error: no ROCm-capable device is detected", False),
    ("torch", "CUDA error: CUDA-capable device(s) is/are busy or unavailable", False),
    ("torch", "CUDA error: invalid device ordinal", False),
    (
        "torch",
        "CUDA error: invalid device ordinal\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        False,
    ),
    ("tensorflow", "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered", True),
    ("tensorflow", "CUDA_ERROR_INVALID_DEVICE_POINTER", True),
    ("tensorflow", "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", False),
    ("tensorflow", "CUDA_ERROR_INVALID_DEVICE: invalid device ordinal", False),
    ("jittor", "cudaErrorIllegalAddress", True),
    ("jittor", "cudaErrorInvalidDeviceFunction", True),
    ("jittor", "code=35(cudaErrorInsufficientDriver)", False),
    ("jittor", "code=100( cudaErrorNoDevice )", False),
]


class DescribeSpelling:
    @pytest.mark.parametrize(
        ("tensor", "torch", "tensorflow"), SPELLINGS, ids=lambda v: v if isinstance(v, str) else ""
    )
    def test_writes_the_shortest_expression(self, tensor: Tensor, torch: str | None, tensorflow: str | None) -> None:
        if torch is not None:
            assert TORCH.tensor(tensor) == torch
        if tensorflow is not None:
            assert TF.tensor(tensor) == tensorflow

    def test_refuses_dtypes_that_the_library_does_not_have(self) -> None:
        with pytest.raises(BuildError, match="no dtype string"):
            TORCH.tensor(Tensor("string", (1,)))
        with pytest.raises(BuildError, match="no dtype complex32"):
            TF.tensor(Tensor("complex32", (1,)))

    def test_writes_references(self) -> None:
        assert TORCH.ref(Ref("dtype", "float32")) == "torch.float32"
        assert TORCH.ref(Ref("device", "cpu")) == "torch.device('cpu')"
        assert TORCH.ref(Ref("name", "torch.nn.functional.relu")) == "torch.nn.functional.relu"
        assert TF.ref(Ref("dtype", "bfloat16")) == "tf.bfloat16"
        assert TF.ref(Ref("dtype", "float8_e5m2")) == "tf.dtypes.experimental.float8_e5m2"

    @given(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers())
    def test_writes_scalars_that_read_back(self, value: Any) -> None:
        again = eval(literal(value))
        assert type(again) is type(value)
        assert repr(again) == repr(value)

    @given(st.floats(width=32), st.sampled_from(["float16", "float32", "float64"]))
    def test_writes_elements_that_round_trip_in_their_dtype(self, value: float, dtype: str) -> None:
        with np.errstate(over="ignore"):
            wanted = np.dtype(dtype).type(value)
            again = np.dtype(dtype).type(eval(element(wanted, dtype)))
        assert np.array_equal(wanted, again, equal_nan=True)
        assert np.signbit(again) == np.signbit(wanted) or np.isnan(wanted)

    def test_writes_few_digits_for_narrow_dtypes(self) -> None:
        assert element(np.float32(0.33333334), "bfloat16") == "0.334"
        assert element(np.float16(0.1), "float16") == "0.1"


@pytest.mark.parametrize("ends", [(0.0, -1.0), (-1.0, 0.0)])
def test_integers_are_drawn_between_two_ends_whichever_is_lower(ends: tuple[float, float]) -> None:
    assert whole_range(Tensor("int8", (3,), Fill("uniform", *ends))) == (-1, 0)
    spelt = TORCH.tensor(Tensor("int8", (3,), Fill("uniform", *ends)))
    assert spelt == TORCH.tensor(Tensor("int8", (3,), Fill("uniform", *sorted(ends))))


@pytest.mark.parametrize("ends", [(0.0, -9.0), (-3.5, 2.0), (1e308, -1.5e308)])
@pytest.mark.parametrize("dtype", ["float64", "int16", "complex128"])
def test_numpy_draws_between_two_ends_whichever_is_lower(ends: tuple[float, float], dtype: str) -> None:
    source = numpy_array(Tensor(dtype, (8, 8), Fill("uniform", *ends), "ndarray"))
    drawn = eval(source, {"np": np}).real.astype("float64")
    assert len(np.unique(drawn)) > 1
    assert min(ends) <= drawn.min() <= drawn.max() <= max(ends)


def test_a_small_view_keeps_its_elements_however_far_it_reaches_up_to_a_bound() -> None:
    near = Tensor("bool", (2, 2), Fill("uniform", 0.0, 1.0), strides=(40, 5))
    assert "torch.tensor([" in TORCH.tensor(near) and "torch.rand" not in TORCH.tensor(near)
    far = near._replace(strides=(10**6, 5))
    assert TORCH.tensor(far) == "torch.randint(2, (1000006,), dtype=torch.bool).as_strided((2, 2), (1000000, 5))"


@st.composite
def strided(draw: st.DrawFn) -> Tensor:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    strides = draw(st.tuples(*(st.integers(0, 12) for _ in shape)))
    return Tensor("float32", shape, Fill("uniform", 0.0, 9.0, 4), strides=strides)


class DescribeLayout:
    @given(strided())
    def test_views_have_the_strides_and_elements_of_the_buffer(self, tensor: Tensor) -> None:
        view = simplest(tensor)
        assert tensor.strides is not None
        if view is None:
            assert tensor.strides == row_major(tensor.shape)
            return
        base = _Numpy(elements(view.base).reshape(view.base.shape))
        made = eval(f"base{view.suffix}", {"base": base}).array
        assert made.shape == tensor.shape
        moved = [step // 4 for step, n in zip(made.strides, tensor.shape, strict=True) if n > 1]
        assert moved == [step for step, n in zip(tensor.strides, tensor.shape, strict=True) if n > 1]


class _Numpy:
    """The few methods of torch's tensors, on a numpy array, that a suffix needs to be evaluated."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> _Numpy:
        return _Numpy(self.array[index])

    def t(self) -> _Numpy:
        return _Numpy(self.array.T)

    @property
    def mT(self) -> _Numpy:  # noqa: N802
        return self.transpose(-1, -2)

    def transpose(self, one: int, other: int) -> _Numpy:
        return _Numpy(self.array.swapaxes(one, other))

    def permute(self, *order: int) -> _Numpy:
        return _Numpy(self.array.transpose(order))

    def expand(self, *shape: int) -> _Numpy:
        return _Numpy(np.broadcast_to(self.array, shape))

    def as_strided(self, shape: Any, strides: Any) -> _Numpy:
        return _Numpy(np.lib.stride_tricks.as_strided(self.array, shape, [4 * step for step in strides]))


class DescribeErrors:
    @pytest.mark.parametrize("text", BUGS)
    def test_knows_internal_errors(self, text: str) -> None:
        assert TORCH.internal_error.search(text)
        assert not TORCH.out_of_memory.search(text)

    @pytest.mark.parametrize("library", DIALECTS)
    @pytest.mark.parametrize("text", CLEAN)
    def test_knows_clean_errors(self, text: str, library: str) -> None:
        assert not dialect_of(library).internal_error.search(text)
        assert not dialect_of(library).out_of_memory.search(text)

    @pytest.mark.parametrize("text", MEMORY)
    def test_knows_clean_out_of_memory(self, text: str) -> None:
        assert TORCH.out_of_memory.search(text)
        assert not TORCH.internal_error.search(text)

    @pytest.mark.parametrize(("library", "text", "lost"), DEVICES)
    def test_knows_a_device_that_is_lost_from_one_that_is_not_there(self, library: str, text: str, lost: bool) -> None:
        dialect, outcome = dialect_of(library), Outcome("exception", "RuntimeError", text)
        assert (dialect.poisons.search(text) is not None) == lost
        assert oracle_of("crash").judge({"cpu": outcome}, dialect).clean != lost

    def test_tells_tensorflows_internal_errors_from_those_of_the_machine(self) -> None:
        assert TF.internal_error.search("InternalError: {{function_node x}} Unexpected rank")
        assert TF.internal_error.search("SystemError: returned a result with an exception set")
        assert not TF.internal_error.search("InternalError: failed to allocate memory")
        assert not TF.internal_error.search("InternalError: libdevice not found at ./libdevice.10.bc")
        assert not TF.internal_error.search("InvalidArgumentError: slice index 5 of dimension 0 out of bounds")
        assert TF.out_of_memory.search("ResourceExhaustedError: OOM when allocating tensor with shape[9]")

    @pytest.mark.parametrize(
        ("library", "name", "own"),
        [
            ("torch", "/x/torch/lib/libtorch_cpu.so", True),
            ("torch", "/x/torch/lib/libc10.so", True),
            ("torch", "/x/torch/_C.cpython-311-x86_64-linux-gnu.so", True),
            ("torch", "/x/torch/lib/libgomp-24e2ab19.so.1", False),
            ("torch", "/lib/x86_64-linux-gnu/libc.so.6", False),
            ("tensorflow", "/x/tensorflow/libtensorflow_cc.so.2", True),
            ("tensorflow", "/x/tensorflow/python/_pywrap_tfe.so", True),
            ("tensorflow", "/usr/lib/libomp.so", False),
        ],
    )
    def test_knows_its_shared_objects(self, library: str, name: str, own: bool) -> None:
        assert bool(dialect_of(library).native_modules.search(name)) is own

    def test_names_what_there_is_for_an_unknown_library(self) -> None:
        with pytest.raises(UserError, match=f"choose one of: {', '.join(sorted(DIALECTS))}"):
            dialect_of("jax")


READ_TORCH = """
import json, sys
import numpy as np, torch
out = []
for source in json.load(sys.stdin):
    made = eval(source)
    if isinstance(made, np.ndarray):
        made = torch.from_numpy(made)
    flat = made.detach().to(torch.complex128).reshape(-1)
    numbers = torch.view_as_real(flat).tolist()
    out.append([str(made.dtype)[6:], list(made.shape), list(made.stride()), made.requires_grad, numbers])
print(json.dumps(out))
"""
READ_TF = """
import json, sys
import numpy as np, tensorflow as tf
out = []
for source in json.load(sys.stdin):
    made = tf.convert_to_tensor(eval(source))
    flat = np.ravel(tf.cast(tf.cast(made, tf.float64) if made.dtype.is_floating else made, tf.complex128).numpy())
    out.append([made.dtype.name, list(made.shape), None, False, np.stack([flat.real, flat.imag], -1).tolist()])
print(json.dumps(out))
"""
LIVE = [
    Tensor(dtype, shape, fill, "tensor", strides, grad)
    for dtype in ("float32", "float64", "int64", "int32", "uint8", "bool", "complex64", "complex128")
    for shape, strides in [((), None), ((3,), None), ((2, 3), None), ((0, 2), None), ((3, 2), (1, 3)), ((2, 3), (0, 1))]
    for fill in (ZEROS, ONES, Fill("constant", 3.0), Fill("uniform", 0.0, 9.0, 3), Fill(special=float("inf")))
    for grad in (False, True)
]


def evaluated(python: Path, program: str, sources: list[str]) -> list[Any]:
    command = [str(python), "-c", program]
    done = subprocess.run(command, input=json.dumps(sources), capture_output=True, text=True, check=True, timeout=300)
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def expected(tensor: Tensor) -> list[list[float]]:
    view = simplest(tensor)
    if view is None:
        flat = elements(tensor)
    else:
        assert tensor.strides is not None
        buffer = elements(view.base)
        offsets = sum(np.indices(tensor.shape)[i] * step for i, step in enumerate(tensor.strides))
        flat = buffer[np.ravel(offsets)]
    wide = flat.astype(np.complex128)
    return np.stack([wide.real, wide.imag], -1).tolist()


@pytest.mark.real
class DescribeLiveSpelling:
    def test_torch_makes_what_is_described(self, torch_python: Path) -> None:
        answers = evaluated(torch_python, READ_TORCH, [TORCH.tensor(tensor) for tensor in LIVE])
        for tensor, (dtype, shape, strides, grad, numbers) in zip(LIVE, answers, strict=True):
            differentiable = tensor.requires_grad and tensor.dtype.startswith(("float", "complex"))
            assert (dtype, tuple(shape), grad) == (tensor.dtype, tensor.shape, differentiable)
            assert tensor.size == 0 or tuple(strides) == (tensor.strides or row_major(tensor.shape))
            assert np.array_equal(numbers, expected(tensor), equal_nan=True)

    def test_tensorflow_makes_what_is_described(self, tensorflow_python: Path) -> None:
        plain = [tensor for tensor in LIVE if tensor.strides is None]
        answers = evaluated(tensorflow_python, READ_TF, [TF.tensor(tensor) for tensor in plain])
        for tensor, (dtype, shape, _, _, numbers) in zip(plain, answers, strict=True):
            assert (dtype, tuple(shape)) == (tensor.dtype, tensor.shape)
            assert np.array_equal(numbers, expected(tensor), equal_nan=True)


@pytest.mark.parametrize("library", DIALECTS)
def test_a_death_in_any_mode_has_a_script(library: str) -> None:
    dialect = dialect_of(library)
    for mode, spec in dialect.modes.items():
        way = dialect.way_of(mode)
        assert way == mode if spec.script else way in dialect.ways, mode
    assert dialect.way_of("cpu") == dialect.way_of("unheard-of") == ""


def test_the_script_of_a_reference_is_that_of_a_mode_which_executes_it() -> None:
    assert (TORCH.way_of("grad"), TORCH.way_of("grad-grad")) == ("grad-numerical", "grad-second")
    assert TORCH.way_of("grad", timed=True) == TORCH.way_of("grad-second", timed=True) == ""
    assert TORCH.way_of("strided", timed=True) == "strided"
    assert (TF.way_of("function-known"), TF.way_of("cpu-fp64-nudged")) == ("function", "cpu-fp64")
