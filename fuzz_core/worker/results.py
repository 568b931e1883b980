"""Programs whose results are wanted as arrays, for those who compare what several libraries make of one model."""

from __future__ import annotations

import base64
import contextlib
import io
from typing import Any

import numpy as np

from fuzz_core.ir.outcome import Outcome
from fuzz_core.worker.memory import resident
from fuzz_core.worker.programs import MOST_GROWN_BYTES, Programs
from fuzz_core.worker.programs_raised import PROGRAM

# What elements of each kind are told as: exact for all that programs compute with.
TOLD = {"f": "<f8", "i": "<i8", "u": "<i8", "b": "|b1"}


def answer(programs: Programs, request: dict[str, Any]) -> None:
    """Executes the program of a request and sends what it leaves in `results`: arrays, by the number of their node."""
    programs.first = programs.first or resident()
    programs.journal.begin(request["lease"], 0)
    began = programs.clock()
    try:
        outcome, told = Outcome("ok"), _executed(request["results"])
    except BaseException as error:  # noqa: BLE001 - what a program raises, even KeyboardInterrupt, is an outcome
        outcome, told = programs.failure(error, programs.clock() - began), {}
    programs.models.forget()
    programs.journal.end()
    grown = resident() - programs.first > MOST_GROWN_BYTES
    came = {"came": outcome.to_json(), "results": told, "spoilt": grown}
    programs.channel.send({"replayed": request["lease"], **came})


def _executed(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, PROGRAM, "exec"), names)
    return {str(node): _told(np.asarray(value)) for node, value in names["results"].items()}


def _told(value: Any) -> list[Any]:
    """Dtype, shape and bytes; narrow floats of a library's own kind (bfloat16) are widened."""
    kind = TOLD.get(value.dtype.kind) or TOLD["f"]
    return [kind, list(value.shape), base64.b85encode(value.astype(kind).tobytes()).decode("ascii")]
