"""What running model programs needs of Jittor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import jittor
import numpy as np

from fuzz_core.adapters.models import Models


class JittorModels(Models):
    """It compiles everything: operators together where it may, or each by itself.

    `untrained` cannot be told: where there is no gradient, `jittor.grad` gives zeros, as where it is zero.
    """

    layer, computes = jittor.Module, "execute"

    def streams(self) -> Callable[[], None] | None:
        """Its generator is not to be read: numbers may have been drawn from it since it was seeded."""
        return None

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """Operator by operator."""

        def once(*args: Any, **kwargs: Any) -> Any:
            with jittor.flag_scope(lazy_execution=0):
                return call(*args, **kwargs)

        return once

    def promised(self, result: Any) -> bool:
        """Numbers alone: all is compiled with `-Ofast`, which promises nothing of NaN and infinity."""
        if isinstance(result, list | tuple):
            return all(map(self.promised, result))
        return not isinstance(result, jittor.Var) or bool(np.isfinite(result.numpy()).all())

    @contextmanager
    def losses(self, note: Callable[[float], object]) -> Iterator[None]:
        """What an optimizer gets, the last alone: for each that is looked at, other code would be compiled."""
        backward, last = jittor.optim.Optimizer.backward, list[Any]()

        @functools.wraps(backward)
        def noting(optimizer: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
            last[:] = [loss]
            return backward(optimizer, loss, *args, **kwargs)

        jittor.optim.Optimizer.backward = noting
        try:
            yield
        finally:
            jittor.optim.Optimizer.backward = backward
        with suppress(Exception):
            note(last[0].item())
