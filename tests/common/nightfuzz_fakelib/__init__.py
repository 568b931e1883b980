"""What makes fakelib a library that can be fuzzed: found by its name, from outside the project."""

from nightfuzz_fakelib.adapter import Adapter
from nightfuzz_fakelib.dialect import Dialect

__all__ = ["Adapter", "Dialect"]
