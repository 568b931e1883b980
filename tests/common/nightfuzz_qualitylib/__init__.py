"""What makes qualitylib a library that can be fuzzed: found by its name, from outside the project."""

from nightfuzz_qualitylib.adapter import Adapter
from nightfuzz_qualitylib.dialect import Dialect

__all__ = ["Adapter", "Dialect"]
