"""A library's switches: a test that leaves them changed ends its process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from libraryscripts import printed

from fuzz_core.adapters import base


class Incomparable:
    """A value that raises when it is compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    __hash__ = None  # type: ignore[assignment]


class SwitchAdapter(base.Adapter):
    """An adapter of one switch."""

    library = "switchlib"

    switch: object = "off"

    def state(self) -> object:
        return ("always", self.switch)


@pytest.mark.parametrize(
    ("switch", "changed"),
    [("off", False), ("on", True), (np.zeros(3), True), (Incomparable(), True)],
    ids=["same", "other", "array", "incomparable"],
)
def test_a_switch_of_any_value_is_seen_to_have_changed(switch: object, changed: bool) -> None:
    adapter = SwitchAdapter()
    before = adapter.process_state()
    adapter.switch = switch
    assert adapter.has_changed(before) == changed


@pytest.mark.parametrize(
    ("change", "undo"),
    [
        # The processor takes denormals for zeros in the whole process; numbers compare as if nothing were.
        ("torch.set_flush_denormal(True)", "torch.set_flush_denormal(False)"),
        ("torch.set_float32_matmul_precision('medium')", "torch.set_float32_matmul_precision('highest')"),
        ("torch.backends.mkldnn.set_flags(False)", "torch.backends.mkldnn.set_flags(True)"),
        ("torch.use_deterministic_algorithms(True)", "torch.use_deterministic_algorithms(False)"),
    ],
)
def test_a_process_that_computes_otherwise_is_seen(torch_python: Path, change: str, undo: str) -> None:
    script = f"""
import torch
before = adapter.process_state()
calm = adapter.has_changed(before)
{change}
changed = adapter.has_changed(before)
{undo}
print(calm, changed, adapter.has_changed(before))
"""
    assert printed(torch_python, "torch", script).split() == ["False", "True", "False"]


CELLS = """
from struct import pack
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.values import Invocation, Prim, Tensor
from fuzz_core.mutation.registry import RuleBook
from fuzz_core.mutation.sweep import Sweep
tensors = [Tensor(name, (2, 3)) for name, dtype in DTYPES.items() if dtype.floating]
call = Invocation("f", (Prim("float", 0.5), Prim("complex", 1j), *tensors))


def bits(value):
    number = value.value if isinstance(value, Prim) else value.fill.data if isinstance(value, Tensor) else None
    return pack("<d", number).hex() if isinstance(number, float) else number.hex() if isinstance(number, bytes) else ""


def cells():
    return [(cell.argument, cell.rule, bits(cell.value)) for cell in Sweep(RuleBook({})).cells([(1, call)])]
"""


@pytest.mark.parametrize(
    ("library", "changed"), [("torch", "import torch; torch.set_flush_denormal(True)"), ("jittor", "adapter.prepare()")]
)
def test_a_process_that_takes_denormals_for_zeros_has_the_cells_of_any_other(
    library: str, changed: str, request: pytest.FixtureRequest
) -> None:
    """The controller names a cell by its number; Jittor's operators change the processor's mode."""
    here: dict[str, Callable[[], object]] = {}
    exec(CELLS, here)
    script = f"{CELLS}\n{changed}\nsmall = 1e-300\nassert small * 1e-20 == 0.0\nprint(cells())"
    there = printed(request.getfixturevalue(f"{library}_python"), library, script)
    assert there.splitlines()[-1] == repr(here["cells"]())
