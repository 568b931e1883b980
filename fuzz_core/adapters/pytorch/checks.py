"""PyTorch as text: how the scripts of each mode compare two results, and the checks around whole programs."""

from __future__ import annotations

from fuzz_core.adapters.dialect import BARE, TOLD, TRUSTED
from fuzz_core.adapters.program_checks import last_use, losses_in_doubles

ONE_DNN_OFF = "torch.backends.mkldnn.flags(enabled=False)"
THREADS = 4


def close(more: str = "") -> str:
    """Return statements that fail if `actual` and `expected` differ beyond the default tolerances."""
    checked = f'torch.testing.assert_close(actual, expected{more}, msg=lambda m: m + "\\n" + told)'
    return TOLD + checked


ACTUAL, EXPECTED = "actual = {actual}\n", "expected = {expected}\n"
NAN = ", equal_nan=True"
CLOSE = ACTUAL + EXPECTED + close(NAN)
ALIKE = ACTUAL + EXPECTED + close(", check_device=False")
FIRST = (
    f"{ACTUAL}actual = actual[0] if isinstance(actual, torch.Tensor) else [r[0] for r in actual]\n"
    f"{EXPECTED}{close(NAN)}"
)
OUT = (
    f"{EXPECTED}several = isinstance(expected, tuple)\n"
    "actual = tuple(map(torch.empty_like, expected)) if several else torch.empty_like(expected)\n"
    f"{{actual}}\n{close(NAN)}"
)
_LEAVES = (
    "def leaves(result):\n"
    "    return [r for part in result for r in leaves(part)] if isinstance(result, (tuple, list)) else [result]\n\n"
)
FAKE = (
    f"{_LEAVES}with FakeTensorMode(allow_non_fake_inputs=True) as mode:\n    actual = {{actual}}\n{EXPECTED}"
    "pairs = [(a, b) for a, b in zip(leaves(actual), leaves(expected)) if isinstance(b, torch.Tensor)]\n"
    "actual, expected = [a.stride() for a, b in pairs], [b.stride() for a, b in pairs]\n"
    f"{TOLD}assert actual == expected, told"
)

FINITE = f"{TRUSTED}assert torch.isfinite(actual).all(), told"
SUMMED = (
    f"{_LEAVES}results = [r for r in leaves({{actual}}) if isinstance(r, torch.Tensor) and r.requires_grad]\n"
    "sum((r.abs() if r.is_complex() else r).sum() for r in results).backward()"
)
UNDONE = f"with {ONE_DNN_OFF}:\n    actual = {{actual}}\n{EXPECTED}{close(NAN)}"
FULL_PRECISION = "torch.backends.cudnn.allow_tf32 = False\n"
ON_GPU = f"{FULL_PRECISION}{ACTUAL}{EXPECTED}{close(f'{NAN}, check_device=False')}"
NO_CUDNN = (
    f"with torch.backends.cudnn.flags(enabled=False):\n    actual = {{actual}}\n"
    f"{EXPECTED}{close(f'{NAN}, check_device=False')}"
)
THREADED = f"torch.set_num_threads({THREADS})\n{ACTUAL}torch.set_num_threads(1)\n{EXPECTED}{close(NAN)}"
# A function for workers and scripts alike. The size of the storage stays, so that views and functions of storages find
# the same size in it. Both rooms are made each time, so that unwritten results find the same numbers in freed memory.
BETWEEN = """\
def between(x, large):
    # The same tensor in memory, with 4096 zeros or large numbers in front of it, and as many behind it.
    count = x.untyped_storage().nbytes() // x.element_size()
    if count == 0:
        return x
    rooms = torch.zeros(2, 8192 + (count + 63) // 64 * 64, dtype=x.dtype)
    rooms[1] = torch.finfo(x.dtype).max if x.is_floating_point() or x.is_complex() else 1
    rooms[:, 4096 : 4096 + count] = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage(), 0, (count,))
    room = rooms[int(large)].view(torch.uint8).numpy()
    inside = torch.frombuffer(room, dtype=x.dtype, count=count, offset=4096 * x.element_size())
    return torch.empty(0, dtype=x.dtype).set_(inside.untyped_storage(), x.storage_offset(), x.shape, x.stride())
"""
SURROUNDED = f"{BETWEEN}\nexpected, actual = ({{actual}} for large in (False, True))\n{close(NAN)}"
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
    "compiled": last_use(_PLAIN, _MODULE, _COMPILED + close(NAN)),
    "training": last_use(_PLAIN, _MODULE, _TRAINED, "wrong-gradient"),
    "cpu-fp64": losses_in_doubles(_PLAIN, "torch.set_default_dtype(getattr(torch, sys.argv[1]))", _NOTING),
}
