"""What makes fakelib a library that can be fuzzed: found by its name, from outside the project."""

from typing import Any

from nightfuzz_fakelib.dialect import Dialect

__all__ = ["Adapter", "Dialect"]


def __getattr__(name: str) -> Any:
    """The adapter needs numpy, which a job that holds a token does not have."""
    if name != "Adapter":
        raise AttributeError(name)
    from nightfuzz_fakelib.adapter import Adapter

    return Adapter
