"""Jittor's modes: one record each, with the text of what a script does."""

from __future__ import annotations

from fuzz_core.adapters.dialect import BARE, REFERENCE, ModeSpec, Way, derivative, doubles
from fuzz_core.adapters.watching import last_use
from fuzz_core.ir.values import Tensor

# The places that an operator `reindex` reads, by its result's: a shape, and an expression for each dimension.
Reindex = tuple[tuple[int, ...], tuple[str, ...]]

LIST = "(r if isinstance(r, (list, tuple)) else [r])"
CLOSE = (
    "for a, b in zip(*({list} for r in ({actual}, {expected}))):\n"
    "    rtol = 1e-3 if a.dtype == 'float16' else 1.3e-6\n"
    "    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol, 1e-5)"
).replace("{list}", LIST)
FINITE = f"r = {{expected}}\nassert all(np.isfinite(r.numpy()).all() for r in {LIST}), {{actual}}"
GRADIENT = (
    "xs = {actual}\n"
    "wave = lambda x, turn: jittor.array(np.cos(turn + 1.7 * np.arange(x.numel())).reshape(x.shape), 'float64')\n"
    "def s(*xs):\n"
    "    r = f(*xs)\n"
    f"    parts = [(wave(r, 0.3) * r).sum() for r in {LIST} if r.dtype == 'float64']\n"
    "    return sum(parts[1:], parts[0])\n"
    "for i, x in enumerate(xs):\n"
    "    if x.dtype == 'float64':\n"
    "        d = wave(x, 0.9)\n"
    "        up, down = (s(*xs[:i], x + step * d, *xs[i + 1 :]).item() for step in (1e-6, -1e-6))\n"
    "        np.testing.assert_allclose((jittor.grad(s(*xs), x) * d).sum().item(), (up - down) / 2e-6, 1e-3, 1e-5)"
)
_SINGLY = (
    "expected = model(*args, **kwargs)\n"
    "jittor.sync_all()\n"
    "with jittor.flag_scope(lazy_execution=0):\n"
    "    actual = model(*args, **kwargs)\n"
)
_ALIKE = CLOSE.replace("{actual}", "actual").replace("{expected}", "expected")
PROGRAMS = {**BARE, "compiled": last_use("import jittor\nimport numpy as np", "jittor.Module", _SINGLY + _ALIKE)}
MODULES = "jittor.nn."
WIDENED = "getattr({m}, 'float64' if {x}.dtype == 'float64' else 'float32')()"


def identity(shape: tuple[int, ...], seed: int) -> tuple[Reindex, Reindex]:
    """Two operators in a row that leave a Var as it is: it is turned around, or transposed, and turned back."""
    if seed & 1 or len(shape) < 2:
        turned = tuple(f"xshape{i}-1-i{i}" for i in range(len(shape)))
        return (shape, turned), (shape, turned)
    places = tuple(f"i{i}" for i in range(len(shape)))[::-1]
    return (shape[::-1], places), (shape, places)


def _pending(source: str, tensor: Tensor, seed: int) -> str:
    steps = identity(tensor.shape or (1,), seed)
    return source + "".join(f".reindex({list(shape)}, {list(places)})" for shape, places in steps)


def _wide(source: str, tensor: Tensor, seed: int) -> str:
    return f"{source}.float64()" if tensor.dtype in ("float16", "float32") else source


_MODES = "fuzz_core.adapters.jittor.modes:"
MODES: dict[str, ModeSpec] = {
    **doubles(f"{_MODES}Precise", Way(FINITE, _wide, instance=WIDENED, owner=MODULES), dear=True),
    # One object for all calls: what is drawn for its parameters is drawn when it is looked at, whatever seed was set.
    "fused": ModeSpec(f"{_MODES}Fused", Way(CLOSE, _pending, shared=True), share=0.05, dear=True, keeps_nan=False),
    "grad": REFERENCE._replace(run=f"{_MODES}Reverse", dear=True),
    "grad-numerical": derivative(
        f"{_MODES}Numerical",
        Way(GRADIENT, _wide, "[{x}]", instance="{m}.float64()", owner=MODULES, shared=True),
        dear=True,
    ),
}
