"""Which apis are measured: a fixed sample, drawn from the names alone."""

from __future__ import annotations

from collections.abc import Iterable

from fuzz_core.ir.rng import derive

STREAM = "bench sample 1"


def sample(names: Iterable[str], size: int) -> list[str]:
    """`size` of the names, sorted; a name that comes or goes changes one place of the sample, not all of it."""
    return sorted(sorted(set(names), key=lambda name: (derive(STREAM, name), name))[:size])
