"""PyTorch as text: how its values are spelled and what its errors look like. Imports nothing of it."""

from __future__ import annotations

import re

import numpy as np

from fuzz_core.adapters import layout, spelling
from fuzz_core.adapters.dialect import Eager
from fuzz_core.adapters.pytorch.ways import PROGRAMS, WAYS
from fuzz_core.ir.drawing import elements, pack
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Fill, Ref, Tensor

_INFERRED = {"bool": "bool", "int64": "int", "float32": "float", "complex64": "complex"}
# A view that reaches further would make a script of numbers that nobody sees.
_MOST_TOLD = 1024

_OUT_OF_MEMORY = (
    r"can't allocate memory|not enough memory|std::bad_alloc|(?:CUDA|HIP|XPU) out of memory|OutOfMemoryError"
    r"|MemoryError|[Cc]annot allocate memory|Unable to allocate|failed to allocate|CUBLAS_STATUS_ALLOC_FAILED"
)
_INTERNAL = (
    r"INTERNAL ASSERT FAILED|report (?:a|this) bug|bug,? please report|[Tt]his should never (?:happen|be)"
    r"|SystemError: |UnboundLocalError: "
    r"|(?:RuntimeError|ValueError|IndexError|OverflowError): [^\n]*\bstd::(?!numeric_limits)"
    r"|vector::_M_|basic_string::|basic_string_view::|bad[ _]optional[ _]access|bad[ _]variant[ _]access"
    r"|\b(?:unordered_)?map::at|_Map_base::at|invalid (?:vector|map) subscript|array::at"
    r"|(?:Error|Exception): (?:stoi|stol|stoll|stod|bad_function_call|bad function call)\b"
    r"|[Uu]nknown (?:C\+\+ )?exception|Check failed"
)
# What CUDA and ROCm say of a call that leaves the device as it was: it asks for too much, or for what is not there.
_HARMLESS = (
    r"out of memory|invalid argument|no kernel image|invalid device ordinal"
    r"|(?:no |all )?\w+-capable device|\w+ driver (?:version is insufficient|is a stub)"
)


class TorchDialect(Eager):
    """How PyTorch is written and how it complains."""

    library = "torch"
    distributions = ("torch",)
    imports = ("import torch",)
    strided = True
    ways = WAYS
    programs = PROGRAMS
    out_of_memory = re.compile(_OUT_OF_MEMORY)
    internal_error = re.compile(rf"(?s)^(?!.*(?:{_OUT_OF_MEMORY})).*(?:{_INTERNAL})")
    poisons = re.compile(rf"(?:CUDA|HIP) error: (?!{_HARMLESS})|device-side assert")
    native_modules = re.compile(r"(?:^|/)(?:libtorch\w*|libc10\w*|libcaffe2\w*|libshm|_C)(?:\.[\w-]+)*\.so")

    def tensor(self, tensor: Tensor) -> str:
        """The shortest public expression with the described elements, dtype, strides and requires_grad.

        Large uniform draws, and views that reach over more than 1,024 places, keep their range alone. Raises BuildError
        for a dtype that PyTorch does not have.
        """
        if tensor.container == "ndarray":
            return spelling.numpy_array(tensor)
        dtype = DTYPES[tensor.dtype]
        if dtype.kind == "string":
            raise BuildError("no dtype string in torch")
        differentiable = tensor.requires_grad and dtype.floating
        made = _layout(tensor)
        if tensor.container == "parameter":
            return f"torch.nn.Parameter({made}{'' if differentiable else ', requires_grad=False'})"
        return f"{_atom(made)}.requires_grad_()" if differentiable else made

    def ref(self, ref: Ref) -> str:
        """`torch.float32`, `torch.device('cpu')`, or the name as it is."""
        if ref.kind == "dtype":
            return f"torch.{ref.name}"
        return f"torch.device({ref.name!r})" if ref.kind == "device" else ref.name

    def seed(self, seed: int) -> str:
        """`torch.manual_seed(0)`."""
        return f"torch.manual_seed({seed & 0xFFFFFFFF})"


def _atom(source: str) -> str:
    return f"({source})" if re.search(r" [-+*>] [^()]*$", source) else source


def _layout(tensor: Tensor) -> str:
    view = layout.simplest(tensor)
    if view is None:
        return _dense(tensor)
    # The elements of a small view are told, whatever lies between them.
    told = spelling.inlined(tensor) and view.base.size <= _MOST_TOLD
    return f"{_atom(_dense(_told(view.base) if told else view.base))}{view.suffix}"


def _told(tensor: Tensor) -> Tensor:
    """With its elements one by one, where they are drawn and differ."""
    if spelling.inlined(tensor) or spelling.common(tensor) is not None:
        return tensor
    return tensor._replace(fill=Fill("values", data=pack(elements(tensor))))


def _dense(tensor: Tensor) -> str:
    if tensor.dtype.startswith("float8") and tensor.size and _overflows(tensor):
        return f"{_atom(_dense(tensor._replace(dtype='float32')))}.to(torch.{tensor.dtype})"
    value = spelling.common(tensor)
    made = _filled(tensor, value)
    if tensor.size and spelling.inlined(tensor):
        made.append(_inline(tensor))
    return _short_constants(min(made, key=len) if made else _draw(tensor))


def _overflows(tensor: Tensor) -> bool:
    """8-bit floats refuse a literal that is too large; a cast gives infinity or NaN."""
    flat = np.abs(elements(tensor))
    return bool((flat[np.isfinite(flat)] > DTYPES[tensor.dtype].largest).any())


def _filled(tensor: Tensor, value: str | None) -> list[str]:
    dtype = "" if tensor.dtype == "float32" else f", dtype=torch.{tensor.dtype}"
    shape = ", ".join(map(str, tensor.shape)) or "()"
    if tensor.size == 0:
        return [f"torch.empty({shape}{dtype})"]
    if value is None:
        return []
    made = [f"torch.full({spelling.sizes(tensor.shape)}, {value}{_dtype(tensor)})"]
    if value in ("0.0", "0", "0j", "False"):
        made.insert(0, f"torch.zeros({shape}{dtype})")
    elif value in ("1.0", "1", "1+0j", "True"):
        made.insert(0, f"torch.ones({shape}{dtype})")
    return made


def _dtype(tensor: Tensor) -> str:
    return "" if tensor.dtype in _INFERRED else f", dtype=torch.{tensor.dtype}"


def _inline(tensor: Tensor) -> str:
    flat = elements(tensor)
    if tensor.dtype == "int64" and len(tensor.shape) == 1 and len(flat) > 2 and flat.tolist() == list(range(len(flat))):
        return f"torch.arange({len(flat)})"
    return f"torch.tensor({spelling.nested(flat, tensor.shape, tensor.dtype)}{_dtype(tensor)})"


def _short_constants(source: str) -> str:
    for number in ("-inf", "inf", "nan"):
        source = source.replace(f"float('{number}')", f"{'-' * (number[0] == '-')}torch.{number[-3:]}")
    return source


def _draw(tensor: Tensor) -> str:
    if spelling.special(tensor):
        fill = tensor.fill._replace(special=None)
        mask = f"torch.arange({tensor.size}).view({', '.join(map(str, tensor.shape))}) % 3 == 0"
        return f"torch.where({mask}, {spelling.literal(tensor.fill.special)}, {_dense(tensor._replace(fill=fill))})"
    return _integers(tensor) if DTYPES[tensor.dtype].kind in ("int", "uint", "bool") else _floats(tensor)


def _floats(tensor: Tensor) -> str:
    shape = ", ".join(map(str, tensor.shape))
    low, high = tensor.fill.low, tensor.fill.high
    if tensor.dtype.startswith("float8") or tensor.dtype == "complex32":
        wider = tensor._replace(dtype="float32" if tensor.dtype.startswith("float8") else "complex64")
        return f"{_atom(_floats(wider))}.to(torch.{tensor.dtype})"
    dtype = "" if tensor.dtype == "float32" else f", dtype=torch.{tensor.dtype}"
    base = spelling.scaled(f"torch.rand({shape}{dtype})", low, high)
    return f"{base} + {spelling.literal(complex(0, low))}" if low and DTYPES[tensor.dtype].kind == "complex" else base


def _integers(tensor: Tensor) -> str:
    low, high = spelling.whole_range(tensor)
    shape = spelling.sizes(tensor.shape)
    if DTYPES[tensor.dtype].kind == "uint" and tensor.dtype != "uint8":
        signed = tensor._replace(dtype="int64")
        return f"{_integers(signed)}.to(torch.{tensor.dtype})"
    first = "" if low == 0 else f"{spelling.literal(low)}, "
    last = spelling.literal(min(high + 1, 2**63 - 1))
    return f"torch.randint({first}{last}, {shape}{'' if tensor.dtype == 'int64' else f', dtype=torch.{tensor.dtype}'})"
