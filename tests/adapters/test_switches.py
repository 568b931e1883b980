"""A library's switches: a test that leaves them changed ends its process."""

from __future__ import annotations

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
