"""Which ATen overloads a call dispatches to, and with which dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Operators(TorchDispatchMode):  # type: ignore[misc]
    """Tells `name dtype` of every operator executed within it; dtype is that of the first tensor."""

    def __init__(self, seen: Callable[[str], None]) -> None:
        super().__init__()
        self.seen = seen

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here: what keeps the compiler off this mode would import it, a second per process."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Runs the operator as it is."""
        self.seen(f"{func} {_dtype(args)}")
        return func(*args, **(kwargs or {}))


def _dtype(args: tuple[Any, ...]) -> str:
    for value in args:
        part = value[0] if isinstance(value, list | tuple) and value else value
        if isinstance(part, torch.Tensor):
            return str(part.dtype).removeprefix("torch.")
    return "-"
