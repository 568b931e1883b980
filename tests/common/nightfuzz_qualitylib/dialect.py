"""qualitylib as text."""

from __future__ import annotations

import re
from collections.abc import Callable

from fuzz_core.adapters import dialect, literals
from fuzz_core.adapters.dialect import NEVER, REFERENCE, TOLD, TRUSTED, ModeSpec, Way, derivative, doubles, redzones
from fuzz_core.ir.values import Invocation, Ref, Tensor

_COMPARED = f"{TOLD}np.testing.assert_allclose(actual.data, expected.data, 1e-5, 1e-5, err_msg=told)"
CLOSE = f"actual = {{actual}}\nexpected = {{expected}}\n{_COMPARED}"
INPLACE = f"expected = {{expected}}\nactual = {{actual}}\n{_COMPARED}"
_FACTS = "[getattr(r.data, name) for name in ('shape', 'dtype', 'strides')]"
ALIKE = f"actual, expected = ({_FACTS} for r in ({{actual}}, {{expected}}))\n{TOLD}assert actual == expected, told"


def _through(text: str) -> Callable[[str, Tensor, int], str]:
    return lambda source, tensor, seed: text.format(source)


def _scattered(source: str, tensor: Tensor, seed: int) -> str:
    return f"qualitylib.scattered({source})" if tensor.shape else source


def _inplace(invocation: Invocation) -> Invocation:
    return invocation._replace(api=f"{invocation.api}_")


_HERE = "nightfuzz_qualitylib.modes:"
MODES: dict[str, ModeSpec] = {
    "strided": ModeSpec(f"{_HERE}Strided", Way(CLOSE, _scattered), share=0.2, equivalent=True),
    **doubles(f"{_HERE}Precise", Way(f"{TRUSTED}assert np.isfinite(actual.data).all(), told", _through("{}.double()"))),
    "out": ModeSpec(
        f"{_HERE}Out",
        Way(CLOSE, actual="f({x}, out=qualitylib.empty_like(f({x})))", more="out"),
        share=0.1,
        equivalent=True,
    ),
    "inplace": ModeSpec(f"{_HERE}InPlace", Way(INPLACE, actual="g({x})", call=_inplace), share=0.3, equivalent=True),
    "meta": ModeSpec(
        f"{_HERE}Meta",
        Way(ALIKE, _through("{}.to('meta')")),
        relation="metadata",
        share=0.2,
        kind="wrong-metadata",
    ),
    "vmap": ModeSpec(
        f"{_HERE}VMap", Way(CLOSE, _through("qualitylib.twice({})"), "qualitylib.vmap(f)({x})[0]"), share=0.1
    ),
    **redzones(
        f"{_HERE}Redzone",
        Way(
            f"expected, actual = ({{actual}} for large in (False, True))\n{_COMPARED}",
            actual="f(*[qualitylib.between(t, large) for t in [{x}]])",
        ),
    ),
    "grad": REFERENCE._replace(run=f"{_HERE}Slope"),
    "grad-numerical": derivative(
        f"{_HERE}Quotient",
        Way(
            f"actual, expected = {{actual}}\n{TOLD}"
            "np.testing.assert_allclose(actual, expected, 1e-3, 1e-3, err_msg=told)",
            _through("{}.double()"),
            "qualitylib.derivative(f, {x}), qualitylib.quotient(f, {x})",
        ),
    ),
    "compiled": ModeSpec(f"{_HERE}Compiled", Way(CLOSE, actual="qualitylib.compiled(f)({x})"), relation="behaviour"),
    "threaded": ModeSpec(f"{_HERE}Threaded", Way(CLOSE, actual="qualitylib.threaded(f)({x})")),
}
DEVICES = {"cuda": ModeSpec(script=Way(CLOSE, _through("{}.to('cuda')")))}


class Dialect(dialect.Dialect):
    """Tensors are arrays of numpy's in arrays of qualitylib's."""

    library = "qualitylib"
    distributions = ("qualitylib",)
    imports = ("import numpy as np", "import qualitylib")
    strided = False
    modes = MODES | DEVICES
    internal_error = re.compile(r"INTERNAL ASSERT FAILED|SystemError: ")
    out_of_memory = re.compile(r"MemoryError|Unable to allocate")
    poisons = re.compile(r"device is lost")

    def __init__(self) -> None:
        super().__init__()
        self.native_modules = NEVER

    def tensor(self, tensor: Tensor) -> str:
        """`qualitylib.array(np.zeros((2, 3)))`."""
        return f"qualitylib.array({literals.numpy_array(tensor)})"

    def ref(self, ref: Ref) -> str:
        """A dtype by its numpy name, anything else as it is."""
        return f"np.{ref.name}" if ref.kind == "dtype" else ref.name

    def seed(self, seed: int) -> str:
        """`np.random.seed(0)`."""
        return f"np.random.seed({seed & 0xFFFFFFFF})"
