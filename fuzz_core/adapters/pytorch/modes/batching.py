"""Many calls at once."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from fuzz_core.adapters.pytorch.modes.promised import Promised, speaks_of_storage
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import TestCase


class VMap(Promised):
    """The first of two calls at once must give what it gives alone."""

    def applies(self, test: TestCase) -> bool:
        """See `Mode`: members of a batch have no storage of their own."""
        return super().applies(test) and not speaks_of_storage(self.function(test))

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        function, args, keywords = self.builder.parts(test.invocation)
        leaves, spec = tree_flatten((args, keywords))
        places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        if not places:
            raise BuildError("nothing to batch")

        def of_tensors(*tensors: Any) -> Any:
            for place, tensor in zip(places, tensors, strict=True):
                leaves[place] = tensor
            again, named = tree_unflatten(leaves, spec)
            return function(*again, **named)

        batched = [_batch(leaves[place]) for place in places]
        result = self.builder.timed(torch.vmap(of_tensors, randomness="same"), batched, {})
        return tree_map(_first, result)


def _batch(live: torch.Tensor) -> torch.Tensor:
    """See `ways.batch`."""
    return torch.stack((live, live.flip(0) if live.ndim else live))


def _first(part: Any) -> Any:
    return part[0] if isinstance(part, torch.Tensor) else part
