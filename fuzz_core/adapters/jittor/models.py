"""What running model programs needs of Jittor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jittor

from fuzz_core.adapters.models import Models


class Passing(jittor.Module):  # type: ignore[misc] # no stubs
    """See `Models.passing`."""

    def __init__(self, note: Callable[[Any], object]) -> None:
        super().__init__()
        self.note = note

    def execute(self, value: Any) -> Any:
        """The value."""
        self.note(value)
        return value


class JittorModels(Models):
    """It compiles everything anyway."""

    def streams(self) -> Callable[[], None] | None:
        """Its generator is not to be read: numbers may have been drawn from it since it was seeded."""
        return None

    def passing(self, note: Callable[[Any], object]) -> Any:
        """A module."""
        return Passing(note)
