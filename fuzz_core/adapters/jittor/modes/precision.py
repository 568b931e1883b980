"""Jittor's doubles: modules, too, compute in them."""

from __future__ import annotations

from typing import Any

import jittor

from fuzz_core.adapters import doubling
from fuzz_core.adapters.building import Change


class Widened(doubling.Widened):
    """Modules with the parameters that they have in the plain call, as doubles."""

    def instance(self, live: Any) -> Any:
        """See `Change`."""
        return live.float64() if isinstance(live, jittor.Module) else live


class Doubled(doubling.Doubled):
    """A call whose arguments are doubles."""

    dear = True

    def change(self) -> Change:
        """See `Changed`."""
        return Widened(self.adapter, self.noise)


class Precise(Doubled, doubling.Precise):
    """See `doubling.Precise`."""


class Nudged(Doubled, doubling.Nudged):
    """See `doubling.Nudged`."""


class NudgedBack(Doubled, doubling.NudgedBack):
    """See `doubling.NudgedBack`."""
