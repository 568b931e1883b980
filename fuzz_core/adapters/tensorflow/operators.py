"""Which operations a call executes eagerly, and with which dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tensorflow.python.framework import op_callbacks


@contextmanager
def operators(seen: Callable[[str], None]) -> Iterator[None]:
    """Tells `name dtype` of every operation executed within it or added to a graph; dtype of the first input."""

    def callback(
        op_type: str | bytes, inputs: Sequence[Any], attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        name = op_type.decode() if isinstance(op_type, bytes) else op_type
        dtype = getattr(inputs[0], "dtype", None) if inputs else None
        seen(f"{name} {getattr(dtype, 'name', '-')}")

    op_callbacks.add_op_callback(callback)
    try:
        yield
    finally:
        op_callbacks.clear_op_callbacks()
