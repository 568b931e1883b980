"""Jittor as text: how values are spelled, how errors look, and all of its modes. The module does not import Jittor."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fuzz_core.adapters import literals
from fuzz_core.adapters.dialect import (
    BARE,
    INTERNAL,
    OUT_OF_MEMORY,
    REFERENCE,
    TELL,
    TOLD,
    TRUSTED,
    Dialect,
    ModeSpec,
    Way,
    derivative,
    doubles,
)
from fuzz_core.adapters.jittor.profile import PROFILE
from fuzz_core.adapters.program_checks import last_use
from fuzz_core.ir.values import Ref, Tensor

# The places that an operator `reindex` reads, by its result's: a shape, and an expression for each dimension.
Reindex = tuple[tuple[int, ...], tuple[str, ...]]

LIST = "(r if isinstance(r, (list, tuple)) else [r])"
# A variable of several elements has no format of its own.
_TELL = TELL.replace("{expected}", "{expected!s}").replace("{actual}", "{actual!s}") + "\n"
_COMPARED = (
    f"{_TELL}for a, b in zip(*({LIST} for r in (actual, expected))):\n"
    "    rtol = 1e-3 if a.dtype == 'float16' else 1.3e-6\n"
    "    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol, 1e-5, err_msg=told)"
)
CLOSE = f"actual = {{actual}}\nexpected = {{expected}}\n{_COMPARED}"
FINITE = f"{TRUSTED.replace(TOLD, _TELL)}r = actual\nassert all(np.isfinite(r.numpy()).all() for r in {LIST}), told"
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
    "        actual, expected = (jittor.grad(s(*xs), x) * d).sum().item(), (up - down) / 2e-6\n"
    f"        {_TELL}"
    "        np.testing.assert_allclose(actual, expected, 1e-3, 1e-5, err_msg=told)"
)
_SINGLY = (
    "expected = model(*args, **kwargs)\n"
    "jittor.sync_all()\n"
    "with jittor.flag_scope(lazy_execution=0):\n"
    "    actual = model(*args, **kwargs)\n"
)
PROGRAMS = {**BARE, "compiled": last_use("import jittor\nimport numpy as np", "jittor.Module", _SINGLY + _COMPARED)}
MODULES = "jittor.nn."
WIDENED = "getattr({m}, 'float64' if {x}.dtype == 'float64' else 'float32')()"


def identity(shape: tuple[int, ...], seed: int) -> tuple[Reindex, Reindex]:
    """Return two operators that together leave a Var as it is: they reverse or transpose it, and then undo that."""
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
    # Both calls use one object, because its parameters are drawn when they are read, after any seed was set.
    "fused": ModeSpec(
        f"{_MODES}Fused",
        Way(CLOSE, _pending, shared=True),
        share=0.05,
        dear=True,
        keeps_nan=False,
        meaning="with its arguments computed in the same fused operator",
        phrases=("in one fused operator", "by itself"),
    ),
    "grad": REFERENCE._replace(run=f"{_MODES}Gradient", dear=True),
    "grad-numerical": derivative(
        f"{_MODES}Gradient",
        Way(GRADIENT, _wide, "[{x}]", instance="{m}.float64()", owner=MODULES, shared=True),
        dear=True,
    ),
}


_INFERRED = {"bool", "int32", "float32"}
_MEMORY = r"cudaErrorMemoryAllocation|virtual memory exhausted|GPU memory is overflow|No space left on device"

# Messages of a compiler about code that Jittor has written, and of Python about names that Jittor's code lacks.
_INTERNAL = rf"{INTERNAL.replace('|Check failed', '')}|Run cmd failed|NameError: "
_ASSERTED = r"[Cc]ould you please report this issue"
# Messages that come after the request was accepted: Jittor's own code is being compiled for it.
_COMPILING = r"Error happend during compilation|Compile fused operator"


class JittorDialect(Dialect):
    """How Jittor is written and how it complains."""

    library = "jittor"
    searched = True
    imports = ("import jittor",)
    lacking = ("float8_e4m3fn", "float8_e5m2", "bfloat16", "complex32", "complex64", "complex128", "string")
    lazy = True
    # Jittor looks for these programs on the machine, or downloads them, at import.
    environment: Mapping[str, str] = {"use_mkl": "0", "nvcc_path": "", "gdb_path": "", "log_silent": "1"}
    # Not `trace_py_var`, which it asks for too: every operator fails of that on Python 3.11.
    verbose: Mapping[str, str] = {"JT_SYNC": "1", "log_silent": "0"}
    compiled = "JITTOR_HOME"
    modes = MODES
    programs = PROGRAMS
    identity = "jittor.nn.Identity"
    profile = PROFILE
    # A debugger writes about the handler between the two lines.
    caught = re.compile(
        r"^(?:Caught segfault at [^\n]*\n(?s:.*?)^)?(?:Segfault|Get signal (?P<number>\d+)), exit$", re.MULTILINE
    )
    miscompiled = re.compile(r"Run cmd failed")
    chatter = re.compile(r"Compiling Operators\(\d+/\d+\)[^\r\n]*\r?\n?")
    out_of_memory = re.compile(rf"{OUT_OF_MEMORY}|{_MEMORY}")
    # The text of a refused argument has `Check failed` too, and so have the assertions that ask for a report.
    internal_error = re.compile(
        rf"(?s)^(?!.*(?:{OUT_OF_MEMORY}|{_MEMORY}))(?:.*(?:{_INTERNAL})"
        rf"|(?:(?!.*Wrong inputs arguments)|(?=.*(?:{_COMPILING}))).*{_ASSERTED})"
    )
    poisons = re.compile(
        r"cudaError(?!(?:MemoryAllocation|Invalid(?:Value|Device)|NoDevice|InsufficientDriver|DevicesUnavailable|StubLibrary)\b)"
        r"|illegal memory access|device-side assert"
    )

    def __init__(self) -> None:
        super().__init__()
        self.native_modules = re.compile(r"(?:^|/)(?:jittor_core|jit_utils_core|\w*_op)(?:\.[\w-]+)*\.so")

    def own(self, tensor: Tensor) -> str:
        """See `Dialect`."""
        shape, dtype = literals.sizes(tensor.shape), "" if tensor.dtype == "float32" else f", {tensor.dtype!r}"
        told = f"jittor.array({{elements}}{'' if tensor.dtype in _INFERRED else dtype})"
        full = f"{shape}, {{value}}{dtype}"
        made = literals.short_expressions(
            tensor, literals.common_element(tensor), "jittor", f"{shape}{dtype}", full, told
        )
        if made:
            return min(made, key=len)
        # From numpy's generator: Jittor's own streams are the test's, and differ between versions.
        drawn = literals.numpy_array(tensor._replace(container="ndarray"))
        return f"jittor.array({drawn}{'' if tensor.dtype in ('bool', 'int32') else f', {tensor.dtype!r}'})"

    def ref(self, ref: Ref) -> str:
        """Return `'float32'`, or the name as it is."""
        return ref.name if ref.kind == "name" else repr(ref.name)

    def seed(self, seed: int) -> str:
        """Return `jittor.set_global_seed(0)`."""
        return f"jittor.set_global_seed({seed & 0x7FFFFFFF})"
