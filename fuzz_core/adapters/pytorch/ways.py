"""PyTorch's modes as text."""

from __future__ import annotations

import re
from collections.abc import Callable

from fuzz_core.adapters.dialect import BARE, Way
from fuzz_core.adapters.watching import last_use, twice
from fuzz_core.ir.dtypes import DTYPES, widened
from fuzz_core.ir.values import Invocation, Tensor, prim


def close(actual: str, expected: str) -> str:
    """A statement that fails where two results differ beyond the default tolerances."""
    return f"torch.testing.assert_close({actual}, {expected}, equal_nan=True)"


CLOSE = close("{actual}", "{expected}")
ALIKE = "torch.testing.assert_close({actual}, {expected}, check_stride=True, check_device=False)"
FIRST = (
    "actual = {actual}\nactual = actual[0] if isinstance(actual, torch.Tensor) else [r[0] for r in actual]\n"
    + close("actual", "{expected}")
)
OUT = (
    "expected = {expected}\n"
    "out = tuple(map(torch.empty_like, expected)) if isinstance(expected, tuple) else torch.empty_like(expected)\n"
    "{actual}\n" + close("out", "expected")
)
FAKE = (
    "for fake, real in zip(tree_flatten(actual)[0], tree_flatten({expected})[0]):\n"
    "    if isinstance(real, torch.Tensor):\n"
    "        assert fake.stride() == real.stride()"
)

# The same elements at other places in memory: expressions of `x`, for the worker and for scripts alike.
TRANSPOSED = "x.mT.contiguous().mT"
STEPPED = "x.repeat_interleave(2)[::2]"
EXPANDED = "x.flatten()[0].expand(x.shape)"
LAYOUTS = (TRANSPOSED, EXPANDED, "torch.stack((x, x), -1)[..., 0]", "torch.stack((x, x))[1]")
CHANNELS = {4: "channels_last", 5: "channels_last_3d"}

_PLAIN = "import torch"
_MODULE = "torch.nn.Module"
_COMPILED = (
    "with torch.no_grad():\n"
    "    expected = model(*args, **kwargs)\n"
    "    actual = torch.compile(lambda: model(*args, **kwargs), backend='aot_eager')()\n"
)
_TRAINED = (
    "model.zero_grad()\n"
    "with torch.enable_grad():\n"
    "    model(*args, **kwargs).sum().backward()\n"
    "missing = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]\n"
    "assert not missing, missing\n"
)
_NOTING = """
backward = torch.autograd.backward

def noting(loss, *args, **kwargs):
    if isinstance(loss, torch.Tensor) and loss.numel() == 1:
        print("trained by", loss.item())
    return backward(loss, *args, **kwargs)

torch.autograd.backward = noting
"""
PROGRAMS = {
    **BARE,
    "compiled": last_use(_PLAIN, _MODULE, _COMPILED + close("actual", "expected")),
    "training": last_use(_PLAIN, _MODULE, _TRAINED),
    "cpu-fp64": twice(_PLAIN, "torch.set_default_dtype(getattr(torch, sys.argv[1]))", _NOTING),
}
ONE_DNN_OFF = "torch.backends.mkldnn.flags(enabled=False)"
THREADS = 4


def layout(tensor: Tensor, seed: int) -> str:
    """The expression that scatters a tensor, by the test case's seed; empty where it has no other layout."""
    rank = len(tensor.shape)
    if tensor.container == "ndarray" or tensor.strides is not None or tensor.size < 2:
        return ""
    if rank in CHANNELS and seed & 1:
        return f"x.contiguous(memory_format=torch.{CHANNELS[rank]})"
    chosen = LAYOUTS[(seed >> 1) % len(LAYOUTS)]
    if chosen == EXPANDED and (tensor.fill.kind != "constant" or tensor.fill.special is not None):
        chosen = TRANSPOSED
    return STEPPED if chosen == TRANSPOSED and rank == 1 else chosen


def batch(tensor: Tensor) -> str:
    """Two members for `vmap`: the tensor itself, and its elements in another order."""
    return "torch.stack((x, x.flip(0)))" if tensor.shape else "torch.stack((x, x))"


def inplace(invocation: Invocation) -> Invocation | None:
    """The call that writes its result into its first tensor, by PyTorch's conventions, whether or not there is one."""
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
    return _of(layout(tensor, seed), source) or source


def _wide(source: str, tensor: Tensor, seed: int) -> str:
    if widened(tensor.dtype) == tensor.dtype:
        return source
    return f"{source}.{'double()' if DTYPES[tensor.dtype].kind == 'float' else 'to(torch.complex128)'}"


def _leaf(source: str, tensor: Tensor, seed: int) -> str:
    """A double that gradients are taken of; gradients of integers there are none."""
    return f"{source}.double().detach().requires_grad_()" if DTYPES[tensor.dtype].kind == "float" else source


def _trained(source: str, tensor: Tensor, seed: int) -> str:
    return f"{source}.detach().requires_grad_().clone()" if DTYPES[tensor.dtype].kind == "float" else source


def _batched(source: str, tensor: Tensor, seed: int) -> str:
    return _of(batch(tensor), source)


def _same(text: str) -> Callable[[str, Tensor, int], str]:
    return lambda source, tensor, seed: f"{source}{text}"


def _gradcheck(text: str) -> Way:
    return Way("assert {actual}", _leaf, text, instance="{m}.double()", owner="torch.nn.")


WAYS: dict[str, Way] = {
    "strided": Way(CLOSE, _scattered),
    "cpu-fp64": Way(
        "assert torch.isfinite({expected}).all(), {actual}", _wide, instance="{m}.to({x}.dtype)", owner="torch.nn."
    ),
    "out": Way(OUT, actual="f({x}, out=out)", more="out"),
    "inplace": Way("expected = {expected}\n{actual}\n" + close("x", "expected"), actual="g({x})", call=inplace),
    "meta": Way(
        ALIKE.replace("check_stride=True, ", ""), _same(".to('meta')"), instance="{m}.to({x}.device)", owner="torch.nn."
    ),
    "fake": Way(
        f"with FakeTensorMode(allow_non_fake_inputs=True) as mode:\n    actual = {{actual}}\n{FAKE}",
        lambda source, tensor, seed: f"mode.from_tensor({source})",
        imports=(
            "from torch._subclasses.fake_tensor import FakeTensorMode",
            "from torch.utils._pytree import tree_flatten",
        ),
    ),
    "vmap": Way(FIRST, _batched, "torch.vmap(f, randomness='same')({x})"),
    "backward": Way(
        "results = [r for r in tree_flatten({actual})[0] if isinstance(r, torch.Tensor) and r.requires_grad]\n"
        "sum((r.abs() if r.is_complex() else r).sum() for r in results).backward()",
        _trained,
        imports=("from torch.utils._pytree import tree_flatten",),
    ),
    "grad-forward": _gradcheck("torch.autograd.gradcheck(f, ({x},), check_forward_ad=True, raise_exception=False)"),
    "grad-numerical": _gradcheck("torch.autograd.gradcheck(f, ({x},), raise_exception=False)"),
    "grad-second": _gradcheck("torch.autograd.gradgradcheck(f, ({x},), raise_exception=False)"),
    "compile": Way(CLOSE, _same(".clone()"), "torch.compile(f, backend='aot_eager')({x})"),
    "onednn-off": Way(
        f"with {ONE_DNN_OFF}:\n    actual = {{actual}}\n{close('actual', '{expected}')}", _same(".clone()")
    ),
    "threads": Way(
        f"torch.set_num_threads({THREADS})\nactual = {{actual}}\n"
        f"torch.set_num_threads(1)\n{close('actual', '{expected}')}",
        _same(".clone()"),
    ),
    "cuda": Way(f"{CLOSE[:-1]}, check_device=False)", _same(".cuda()")),
}
