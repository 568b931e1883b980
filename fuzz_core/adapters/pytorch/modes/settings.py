"""The same call under other settings of the library."""

from __future__ import annotations

from typing import Any

import torch

from fuzz_core.adapters.pytorch.modes.promised import Promised
from fuzz_core.adapters.pytorch.ways import THREADS
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import TestCase

# What is smaller is not worth a second thread to the library.
LEAST_SHARED = 2048


class OneDnnOff(Promised):
    """oneDNN's kernels against PyTorch's own."""

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with torch.backends.mkldnn.flags(enabled=False):
            return self.builder.call(test.invocation)


class Threads(Promised):
    """Several threads against the worker's single one."""

    def applies(self, test: TestCase) -> bool:
        """Where there is enough to share."""
        large = any(tensor.size >= LEAST_SHARED for tensor in tensors_of(test.invocation))
        return large and super().applies(test)

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        before = torch.get_num_threads()
        torch.set_num_threads(THREADS)
        try:
            return self.builder.call(test.invocation)
        finally:
            torch.set_num_threads(before)
