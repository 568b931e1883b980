"""PyTorch as text: how values are spelled, how errors look, and all of its modes, without an import of PyTorch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from fuzz_core.adapters import literals
from fuzz_core.adapters.dialect import (
    DEVICE,
    GAPS,
    INTERNAL,
    REFERENCE,
    Dialect,
    ModeSpec,
    Way,
    derivative,
    doubles,
    redzones,
    told_inside,
)
from fuzz_core.adapters.pytorch import checks
from fuzz_core.adapters.pytorch.profile import FORMS, PROFILE
from fuzz_core.ir.dtypes import DTYPES, double_of
from fuzz_core.ir.values import Fill, Invocation, Ref, Tensor, prim

# The same elements at other places in memory: expressions of `x`, for the worker and for scripts alike.
TRANSPOSED = "x.mT.contiguous().mT"
STEPPED = "x.repeat_interleave(2)[::2]"
EXPANDED = "x.flatten()[0].expand(x.shape)"
LAYOUTS = (TRANSPOSED, EXPANDED, "torch.stack((x, x), -1)[..., 0]", "torch.stack((x, x))[1]")
# An index that misses a dimension by more than a gap may reach another element.
SPACED = "torch.nn.functional.pad(x, (0, {gap}) * x.dim(), value={fill})[tuple(map(slice, x.shape))]"
LARGEST_GAP = 128
MOST_SPACED = 1 << 22
CHANNELS = {4: "channels_last", 5: "channels_last_3d"}


def other_layout(tensor: Tensor, seed: int) -> str:
    """Return the expression that scatters a tensor, by the test case's seed; empty if it has no other layout."""
    rank = len(tensor.shape)
    if tensor.container == "ndarray" or tensor.strides is not None or tensor.size < 2:
        return ""
    if rank in CHANNELS and seed & 1:
        return f"x.contiguous(memory_format=torch.{CHANNELS[rank]})"
    chosen = LAYOUTS[(seed >> 1) % len(LAYOUTS)]
    if chosen == EXPANDED and (tensor.fill.kind != "constant" or tensor.fill.special is not None):
        chosen = TRANSPOSED
    return STEPPED if chosen == TRANSPOSED and rank == 1 else chosen


def spaced(tensor: Tensor, fill: str) -> str:
    """Return the expression that puts gaps behind each row of a tensor of real numbers; empty for any other tensor."""
    if tensor.container == "ndarray" or DTYPES[tensor.dtype].kind != "float" or not tensor.size or not tensor.shape:
        return ""
    gap = LARGEST_GAP
    while gap and math.prod(length + gap for length in tensor.shape) > MOST_SPACED:
        gap //= 2
    return SPACED.format(gap=gap, fill=fill)


def batch(tensor: Tensor) -> str:
    """Return two members for `vmap`: the tensor itself, and its elements in another order."""
    return "torch.stack((x, x.flip(0)))" if tensor.shape else "torch.stack((x, x))"


def inplace(invocation: Invocation) -> Invocation | None:
    """Return the call that writes its result into its first tensor, by convention, whether or not it exists."""
    name = invocation.api.rpartition(".")[2]
    if invocation.api.startswith("torch.nn."):
        kept = tuple(pair for pair in invocation.kwargs if pair[0] != "inplace")
        return invocation._replace(kwargs=(*kept, ("inplace", prim(True))))
    if invocation.then is not None or not invocation.args or name.startswith("_") or name.endswith("_"):
        return None
    return invocation._replace(api=f"torch.Tensor.{name}_")


def _of(expression: str, source: str) -> str:
    return re.sub(r"\bx\b", source, expression)


def _scattered(source: str, tensor: Tensor, seed: int) -> str:
    return _of(other_layout(tensor, seed), source) or source


def _spaced(fill: str) -> Callable[[str, Tensor, int], str]:
    return lambda source, tensor, seed: _of(spaced(tensor, fill), source) or source


def _wide(source: str, tensor: Tensor, seed: int) -> str:
    if double_of(tensor.dtype) == tensor.dtype:
        return source
    return f"{source}.{'double()' if DTYPES[tensor.dtype].kind == 'float' else 'to(torch.complex128)'}"


def _batched(source: str, tensor: Tensor, seed: int) -> str:
    return _of(batch(tensor), source)


def _gradcheck(text: str) -> Way:
    check = (
        "try:\n    {actual}\nexcept GradcheckError as error:\n"
        '    raise AssertionError(f"a derivative is not the difference quotient: {error}") from None'
    )
    wide, imported = (
        _same("", ".double().detach().requires_grad_()"),
        "from torch.autograd.gradcheck import GradcheckError",
    )
    return Way(check, wide, text, "{m}.double()", NN, imports=(imported,))


def _same(text: str, floats: str = "") -> Callable[[str, Tensor, int], str]:
    """Return a spelling that appends `text` for any tensor.

    Args:
        floats: a text that is appended too for tensors that can have gradients.
    """
    return lambda source, tensor, seed: source + text + floats * (DTYPES[tensor.dtype].kind == "float")


NN = "torch.nn."
_MODES = "fuzz_core.adapters.pytorch.modes:"
_REDZONES = "fuzz_core.adapters.pytorch.redzones:"
MODES: dict[str, ModeSpec] = {
    "strided": ModeSpec(
        f"{_MODES}Strided",
        Way(checks.CLOSE, _scattered),
        share=0.2,
        equivalent=True,
        meaning="the same values in non-contiguous tensors",
        phrases=("with non-contiguous tensors", "with contiguous tensors"),
    ),
    **doubles(f"{_MODES}Doubled", Way(checks.FINITE, _wide, instance="{m}.to({x}.dtype)", owner=NN)),
    "out": ModeSpec(
        f"{_MODES}Out",
        Way(checks.OUT, actual="f({x}, out=actual)", more="out"),
        share=0.1,
        equivalent=True,
        meaning="the result written into `out=`",
        phrases=("written into out=", "returned without out="),
    ),
    "inplace": ModeSpec(
        f"{_MODES}InPlace",
        Way(f"{checks.EXPECTED}{{actual}}\nactual = x\n{checks.close(checks.NAN)}", actual="g({x})", call=inplace),
        share=0.3,
        equivalent=True,
        meaning="the in-place variant",
        phrases=("in place", "by the call that returns it"),
    ),
    "meta": ModeSpec(
        f"{_MODES}Meta",
        Way(checks.ALIKE, _same(".to('meta')"), instance="{m}.to({x}.device)", owner=NN),
        relation="shape",
        share=0.2,
        kind="wrong-metadata",
        independent=True,
        meaning="the meta device, without data",
        phrases=("on the meta device", "on the CPU"),
    ),
    "fake": ModeSpec(
        f"{_MODES}Fake",
        Way(
            checks.FAKE,
            lambda source, tensor, seed: f"mode.from_tensor({source})",
            imports=("from torch._subclasses.fake_tensor import FakeTensorMode",),
        ),
        relation="strides",
        share=0.05,
        kind="wrong-metadata",
        phrases=("on fake tensors", "on real tensors"),
    ),
    "vmap": ModeSpec(
        f"{_MODES}VMap",
        Way(checks.FIRST, _batched, "torch.vmap(f, randomness='same')({x})"),
        share=0.1,
        independent=True,
        meaning="`torch.vmap` compared with a loop",
        phrases=("under torch.vmap", "by the plain call"),
    ),
    "backward": ModeSpec(
        f"{_MODES}Backward",
        Way(checks.SUMMED, _same("", ".detach().requires_grad_().clone()")),
        relation="",
        share=0.03,
        swept=True,
    ),
    "grad": REFERENCE._replace(run=f"{_MODES}Gradient"),
    "grad-forward": derivative(
        f"{_MODES}Forward",
        _gradcheck("torch.autograd.gradcheck(f, ({x},), check_forward_ad=True)"),
        share=0.01,
        meaning="reverse-mode compared with forward-mode gradients",
        phrases=("by forward mode", "by backward mode"),
        trusted=False,
    ),
    "grad-numerical": derivative(f"{_MODES}Gradient", _gradcheck("torch.autograd.gradcheck(f, ({x},))")),
    "grad-grad": REFERENCE._replace(run=f"{_MODES}Second"),
    "grad-second": derivative(
        f"{_MODES}Second",
        _gradcheck("torch.autograd.gradgradcheck(f, ({x},))"),
        against="grad-grad",
        meaning="gradients of gradients",
        phrases=("by difference quotient of the gradient", "by double backward"),
    ),
    "compile": ModeSpec(
        f"{_MODES}Compiled",
        Way(checks.CLOSE, _same(".clone()"), "torch.compile(f, backend='aot_eager')({x})"),
        relation="behaviour",
        share=0.0005,
        dear=True,
        meaning="`torch.compile` with the backend `aot_eager`",
        phrases=("under torch.compile", "by the plain call"),
    ),
    **redzones(
        f"{_REDZONES}Redzone",
        Way(checks.SURROUNDED, actual="f(*[between(t, large) for t in [{x}]])"),
    ),
    GAPS[0]: REFERENCE._replace(run=f"{_REDZONES}GapsZeros", script=Way(checks.CLOSE, _spaced("0"))),
    GAPS[1]: REFERENCE._replace(run=f"{_REDZONES}Gaps", script=Way(checks.CLOSE, _spaced("torch.inf"))),
    "onednn-off": ModeSpec(
        f"{_MODES}OneDnnOff",
        Way(checks.UNDONE, _same(".clone()")),
        share=0.02,
        equivalent=True,
        meaning="without oneDNN",
        phrases=("without oneDNN", "with oneDNN"),
    ),
    "threads": ModeSpec(
        f"{_MODES}Threads",
        Way(checks.THREADED, _same(".clone()")),
        share=0.002,
        meaning=f"with {checks.THREADS} threads",
        phrases=(f"with {checks.THREADS} threads", "with one thread"),
    ),
}
_MOVED = Way(checks.ON_GPU, _same(".cuda()"), instance="{m}.to({x}.device)", owner=NN)
DEVICES = {
    "cuda": DEVICE._replace(script=_MOVED, phrases=("on a CUDA device", "on the CPU")),
    "cuda-nocudnn": DEVICE._replace(
        script=_MOVED._replace(check=checks.NO_CUDNN),
        meaning="the same call on a CUDA device without cuDNN",
        phrases=("on a CUDA device without cuDNN", "on the CPU"),
    ),
}


_INFERRED = ("bool", "int64", "float32", "complex64")
# A view that reaches further would fill a script with numbers that no view shows.
_MOST_TOLD = 1024

_OUT_OF_MEMORY = (
    r"can't allocate memory|not enough memory|std::bad_alloc|(?:CUDA|HIP|XPU) out of memory|OutOfMemoryError"
    r"|MemoryError|[Cc]annot allocate memory|Unable to allocate|failed to allocate|CUBLAS_STATUS_ALLOC_FAILED"
)
_INTERNAL = (
    rf"{INTERNAL}|invalid (?:vector|map) subscript|array::at"
    r"|(?:Error|Exception): (?:stoi|stol|stoll|stod|bad_function_call|bad function call)\b"
)
# Messages of CUDA and ROCm about a call that leaves the device as it was: too much memory, or a missing kernel, device
# or driver.
_HARMLESS = (
    r"out of memory|invalid argument|no kernel image|invalid device ordinal"
    r"|(?:no |all )?\w+-capable device|\w+ driver (?:version is insufficient|is a stub)"
)


class TorchDialect(Dialect):
    """How PyTorch is written and how it complains."""

    library = "torch"
    searched = True
    imports = ("import torch",)
    strided = True
    forms = FORMS
    one_thread = "torch.set_num_threads(1)"
    lacking = ("string",)
    modes, programs = MODES | DEVICES, checks.PROGRAMS
    identity, computes = "torch.nn.Identity", "forward"
    profile = PROFILE
    out_of_memory = re.compile(_OUT_OF_MEMORY)
    internal_error = told_inside(_INTERNAL, _OUT_OF_MEMORY)
    poisons = re.compile(rf"(?:CUDA|HIP) error: (?!{_HARMLESS})|device-side assert\b")
    native_modules = re.compile(r"(?:^|/)(?:libtorch\w*|libc10\w*|libcaffe2\w*|libshm|_C)(?:\.[\w-]+)*\.so")

    def own(self, tensor: Tensor) -> str:
        """See `Dialect`; with strides and requires_grad.

        Views that reach over more than 1,024 places keep their range alone, too.
        """
        differentiable = tensor.requires_grad and DTYPES[tensor.dtype].floating
        made = _layout(tensor)
        if tensor.container == "parameter":
            return f"torch.nn.Parameter({made}{'' if differentiable else ', requires_grad=False'})"
        return f"{_atom(made)}.requires_grad_()" if differentiable else made

    def ref(self, ref: Ref) -> str:
        """Return `torch.float32`, `torch.device('cpu')`, or the name as it is."""
        if ref.kind == "dtype":
            return f"torch.{ref.name}"
        return f"torch.device({ref.name!r})" if ref.kind == "device" else ref.name

    def seed(self, seed: int) -> str:
        """Return `torch.manual_seed(0)`."""
        return f"torch.manual_seed({seed & 0xFFFFFFFF})"


def _atom(source: str) -> str:
    return f"({source})" if re.search(r" [-+*>] [^()]*$", source) else source


def _layout(tensor: Tensor) -> str:
    from fuzz_core.adapters.arrays import simplest
    from fuzz_core.ir.elements import elements, pack

    view = simplest(tensor)
    if view is None:
        return _dense(tensor)
    base = view.base
    small = literals.inlined(tensor) and base.size <= _MOST_TOLD
    # The elements of a small view are written one by one, if they are drawn and differ.
    if small and not literals.inlined(base) and literals.common_element(base) is None:
        base = base._replace(fill=Fill("values", data=pack(elements(base))))
    return f"{_atom(_dense(base))}{view.suffix}"


def _dense(tensor: Tensor) -> str:
    from fuzz_core.ir.elements import elements

    if tensor.dtype.startswith("float8") and tensor.size and _overflows(tensor):
        return f"{_atom(_dense(tensor._replace(dtype='float32')))}.to(torch.{tensor.dtype})"
    counts = tensor.dtype == "int64" and len(tensor.shape) == 1 and tensor.size > 2 and literals.inlined(tensor)
    if counts and elements(tensor).tolist() == list(range(tensor.size)):
        return f"torch.arange({tensor.size})"
    shape = ", ".join(map(str, tensor.shape)) or "()"
    dtype = _dtype(tensor, "float32")
    full = f"{literals.sizes(tensor.shape)}, {{value}}{_dtype(tensor, *_INFERRED)}"
    told = f"torch.tensor({{elements}}{_dtype(tensor, *_INFERRED)})"
    made = literals.short_expressions(tensor, literals.common_element(tensor), "torch", f"{shape}{dtype}", full, told)
    return _short_constants(min(made, key=len) if made else _draw(tensor))


def _overflows(tensor: Tensor) -> bool:
    """Return whether a literal is too large for an 8-bit float, which refuses it; a cast gives infinity or NaN."""
    from fuzz_core.ir.elements import elements

    flat = abs(elements(tensor))
    return bool(((flat > DTYPES[tensor.dtype].largest) & (flat < math.inf)).any())


def _dtype(tensor: Tensor, *inferred: str) -> str:
    return "" if tensor.dtype in inferred else f", dtype=torch.{tensor.dtype}"


def _short_constants(source: str) -> str:
    for number in ("-inf", "inf", "nan"):
        source = source.replace(f"float('{number}')", f"{'-' * (number[0] == '-')}torch.{number[-3:]}")
    return source


def _draw(tensor: Tensor) -> str:
    if literals.has_special_elements(tensor):
        fill = tensor.fill._replace(special=None)
        mask = f"torch.arange({tensor.size}).view({', '.join(map(str, tensor.shape))}) % 3 == 0"
        return f"torch.where({mask}, {literals.literal(tensor.fill.special)}, {_dense(tensor._replace(fill=fill))})"
    return _integers(tensor) if DTYPES[tensor.dtype].kind in ("int", "uint", "bool") else _floats(tensor)


def _floats(tensor: Tensor) -> str:
    shape = ", ".join(map(str, tensor.shape))
    low, high = tensor.fill.low, tensor.fill.high
    if tensor.dtype.startswith("float8") or tensor.dtype == "complex32":
        wider = tensor._replace(dtype="float32" if tensor.dtype.startswith("float8") else "complex64")
        return f"{_atom(_floats(wider))}.to(torch.{tensor.dtype})"
    dtype = _dtype(tensor, "float32")
    base = literals.scaled(f"torch.rand({shape}{dtype})", low, high)
    return f"{base} + {literals.literal(complex(0, low))}" if low and DTYPES[tensor.dtype].kind == "complex" else base


def _integers(tensor: Tensor) -> str:
    low, high = literals.whole_range(tensor)
    shape = literals.sizes(tensor.shape)
    if DTYPES[tensor.dtype].kind == "uint" and tensor.dtype != "uint8":
        signed = tensor._replace(dtype="int64")
        return f"{_integers(signed)}.to(torch.{tensor.dtype})"
    first = "" if low == 0 else f"{literals.literal(low)}, "
    last = literals.literal(min(high + 1, 2**63 - 1))
    return f"torch.randint({first}{last}, {shape}{_dtype(tensor, 'int64')})"
