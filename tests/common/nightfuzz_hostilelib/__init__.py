"""hostilelib: what fakelib has against the process it runs in, beside three of its planted bugs."""

from __future__ import annotations

import importlib
from types import ModuleType

import nightfuzz_fakelib

from fuzz_core.adapters.inventory import Listed, entry

__all__ = ["Adapter", "Dialect"]

PLANTED = ("fakelib.add", "fakelib.outer", "fakelib.row_sum", "fakelib.scale", "fakelib.vanish", "fakelib.scribble")


class Adapter(nightfuzz_fakelib.Adapter):
    """Like fakelib's."""

    library = "hostilelib"
    prefixes = ("fakelib",)

    def load(self) -> ModuleType:
        """Imports both modules."""
        self.hostile = importlib.import_module("fakelib.hostile")
        self.root = importlib.import_module("fakelib")
        return self.root

    def listed(self) -> list[Listed]:
        """Hostile functions, and a few that are not."""
        peaceful = [each for each in super().listed() if each.api.name in PLANTED]
        return sorted([*peaceful, *map(self._hostile, self.hostile.__all__)], key=lambda each: each.api.name)

    def _hostile(self, name: str) -> Listed:
        found = getattr(self.hostile, name)
        return entry([f"fakelib.hostile.{name}"], found, self.hostile)


class Dialect(nightfuzz_fakelib.Dialect):
    """Like fakelib's."""

    library = "hostilelib"
    imports = ("import numpy as np", "import fakelib.hostile")
