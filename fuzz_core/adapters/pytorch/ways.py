"""PyTorch's modes as text."""

from __future__ import annotations

from fuzz_core.adapters.dialect import Way
from fuzz_core.ir.values import Tensor

CLOSE = "torch.testing.assert_close({actual}, {expected}, equal_nan=True)"


def _scattered(source: str, tensor: Tensor) -> str:
    if tensor.strides is not None or tensor.size < 2:
        return source
    return f"{source}.repeat_interleave(2)[::2]" if len(tensor.shape) == 1 else f"{source}.mT.contiguous().mT"


def _wide(source: str, tensor: Tensor) -> str:
    wide = {"float16": "double", "bfloat16": "double", "float32": "double", "complex64": "to(torch.complex128)"}
    way = wide.get(tensor.dtype)
    return source if way is None else f"{source}.{way if way.endswith(')') else way + '()'}"


WAYS: dict[str, Way] = {
    "strided": Way(CLOSE, _scattered),
    "cpu-fp64": Way("assert torch.isfinite({expected}).all(), {actual}", _wide, instance="{m}.to({x}.dtype)"),
    "cuda": Way(f"{CLOSE[:-1]}, check_device=False)", lambda source, _: f"{source}.cuda()"),
}
