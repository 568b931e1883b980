"""Results of programs as the controller reads them from a worker."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome

Array: TypeAlias = NDArray[Any]
Results: TypeAlias = Mapping[int, Array]
DTYPES = ("<f8", "<i8", "|b1")
MOST_NODES, MOST_RANK, MOST_BYTES = 1000, 32, 1 << 26


class Answer(NamedTuple):
    """Arrays by node, or how the program ended instead. spoilt: the process is not to be used again."""

    came: Results | Outcome
    spoilt: bool = False


def read_results(line: bytes, number: int) -> Answer | None:
    """The answer to request `number`; None for anything else on the pipe."""
    try:
        message: Any = json.loads(line)
        if not isinstance(message, dict) or message.get("replayed") != number:
            return None
        outcome = Outcome.from_json(message["came"])
        told = list(message["results"].items())[:MOST_NODES]
        came = dict(_entry(*each) for each in told) if outcome.kind == "ok" else outcome
        return Answer(came, message["spoilt"] is True)
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
