"""What a result would look like, computed without its elements."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from fuzz_core.adapters.building import Change, Unchanged
from fuzz_core.adapters.pytorch.modes.promised import Promised
from fuzz_core.ir.values import Ref, Tensor, TestCase


class _OnMeta:
    """Devices and modules without memory; tensors are built there."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        return live

    def instance(self, live: Any) -> Any:
        """See `Change`."""
        return live.to("meta") if isinstance(live, torch.nn.Module) else live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        return Ref("device", "meta") if ref.kind == "device" else ref


class Meta(Promised):
    """The meta device must foresee shape and dtype. Strides may depend on the device that it does not stand for."""

    relation = "shape"
    device = "meta"

    def change(self) -> Change:
        """See `Changed`."""
        return _OnMeta()


class _Fake(Unchanged):
    """Tensors that pretend to be on the CPU."""

    def __init__(self) -> None:
        self.faking: Any = None

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        return self.faking.from_tensor(live) if isinstance(live, torch.Tensor) else live


class Fake(Promised):
    """What the compiler believes of a result's strides must be true; of shape and dtype the meta device tells."""

    relation = "strides"

    def change(self) -> Change:
        """See `Changed`."""
        self.fake = _Fake()
        return self.fake

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with FakeTensorMode(allow_non_fake_inputs=True) as self.fake.faking:
            return self.builder.call(test.invocation)
