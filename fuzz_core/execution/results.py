"""Results of programs as the controller reads them from a worker."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome

Array: TypeAlias = NDArray[Any]
Results: TypeAlias = Mapping[int, Array]
DTYPES = ("<f8", "<i8", "|b1")
MOST_NODES, MOST_RANK, MOST_BYTES = 1000, 32, 1 << 26


def read_results(line: bytes, number: int) -> Results | Outcome | None:
    """The answer to request `number`: arrays by node, or how the program ended instead; None for anything else."""
    try:
        message: Any = json.loads(line)
        if not isinstance(message, dict) or message.get("replayed") != number:
            return None
        outcome = Outcome.from_json(message["came"])
        if outcome.kind != "ok":
            return outcome
        return dict(_entry(node, told) for node, told in list(message["results"].items())[:MOST_NODES])
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError, CodecError):
        return None


def _entry(node: str, told: Any) -> tuple[int, Array]:
    dtype, shape, text = told
    if dtype not in DTYPES or len(shape) > MOST_RANK or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("no array")
    data = base64.b85decode(text)
    if len(data) > MOST_BYTES or len(data) != prod(shape) * np.dtype(dtype).itemsize:
        raise ValueError("not as many elements as the shape says")
    return int(node), np.frombuffer(data, dtype).reshape(shape)
