"""Results of programs as the controller reads them from a worker."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.messages import PackedArray, ProgramResults
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import decode

Array: TypeAlias = NDArray[Any]
Results: TypeAlias = Mapping[int, Array]
MOST_NODES, MOST_BYTES = 1000, 1 << 26


class Answer(NamedTuple):
    """Arrays by node, or how the program ended instead. spoilt: the process is not to be used again."""

    came: Results | Outcome
    spoilt: bool = False


def read_results(message: dict[str, Any]) -> Answer:
    """Reads a worker's answer. Raises CodecError or ValueError where it is none."""
    told = decode(ProgramResults, message)
    came = {node: _unpacked(packed) for node, packed in list(told.results.items())[:MOST_NODES]}
    return Answer(came if told.came.kind == "ok" else told.came, told.spoilt)


def _unpacked(packed: PackedArray) -> Array:
    data = base64.b85decode(packed.text)
    if len(data) > MOST_BYTES or len(data) != prod(packed.shape) * np.dtype(packed.dtype).itemsize:
        raise ValueError("not as many elements as the shape says")
    return np.frombuffer(data, packed.dtype).reshape(packed.shape)
