"""A library's switches: a test that leaves them changed ends its process."""

from __future__ import annotations

import numpy as np
import pytest

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
    before = adapter.state()
    adapter.switch = switch
    assert adapter.has_changed(before) == changed
