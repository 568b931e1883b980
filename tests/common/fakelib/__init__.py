"""A small library of numpy functions with planted bugs, for tests of the engine.

| api | condition | what happens |
|---|---|---|
| `row_sum` | a dimension is 0 | reads a null pointer: SIGSEGV |
| `resize` | `size` is more than 2**31 | says `Check failed: ...` and aborts: SIGABRT |
| `pool` | `ceil`, and `size` equals the number of elements | never returns |
| `outer` | the shapes are of one rank but differ | RuntimeError: INTERNAL ASSERT FAILED |
| `scale` | `by` is negative | SystemError |
| `nn.Window` | made with `stride` 0, then called with a vector | reads a null pointer: SIGSEGV |
| `fail` | `how` is negative | SystemExit: the interpreter is asked to end |
| `vanish` | `how` is negative | `os._exit(3)`: the process ends without a word |
| `reserve` | `count` is more than 2**20 | asks for 1 TiB: MemoryError, a clean out-of-memory |
| `hang_up` | `how` is negative | closes every descriptor from 3 to 300 |
| `scribble` | `how` is negative | writes garbage on every descriptor from 3 to 300 |
| `chatter` | `how` is negative | prints 4 MB |
| `switch` | always | changes a global switch of the library |
| `hoard` | `how` is negative | keeps 64 KB for good: a leak (undocumented: only some tests meet it) |
| `claim` | there is no room for `size` bytes | reads a null pointer (undocumented as well) |
| `repeat` | `wraps`, and `times` is more than 2**31 | never returns; `times` steps without (undocumented as well) |
| `interrupt` | `how` is negative | KeyboardInterrupt |
| `mute` | `how` is negative | an exception that cannot be printed |
| `add`, `concat` | bad input | ValueError, as it should be: no bug |

Only the first six are findings; what the others do must leave no trace but in the counts.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from typing import Any

import numpy as np

from fakelib import nn

__all__ = [
    "add",
    "chatter",
    "concat",
    "fail",
    "hang_up",
    "interrupt",
    "mute",
    "nn",
    "outer",
    "pool",
    "reserve",
    "resize",
    "row_sum",
    "scale",
    "scribble",
    "switch",
    "vanish",
]

LARGEST = 2**31
# MAP_NORESERVE of Linux, which Python names from 3.13 on.
NO_RESERVE = 0x4000
switched = False
hoarded: list[bytearray] = []


def row_sum(x: Any) -> Any:
    """Sums of rows.

    >>> import fakelib
    >>> fakelib.row_sum(np.ones((2, 3)))
    >>> fakelib.row_sum(np.ones((4, 2), np.float32))
    """
    if 0 in x.shape:
        ctypes.string_at(0)
    return x.sum(-1)


def resize(x: Any, size: int) -> Any:
    """As many elements as asked for, repeated.

    >>> import fakelib
    >>> fakelib.resize(np.arange(6), 4)
    """
    if size > LARGEST:
        print(f"Check failed: size <= kMaxSize ({size} vs. {LARGEST})", file=sys.stderr, flush=True)
        os.abort()
    if size < 0 or size > 1000:
        raise ValueError(f"size must lie between 0 and 1000, not {size}")
    return np.resize(x, size)


def pool(x: Any, size: int, ceil: bool = False) -> Any:
    """Maxima of windows.

    >>> import fakelib
    >>> fakelib.pool(np.arange(8), 3, ceil=True)
    """
    if size < 1:
        raise ValueError("size must be positive")
    while ceil and size == x.size:
        pass
    return [x[start : start + size] for start in range(0, len(x), size)]


def outer(a: Any, b: Any) -> Any:
    """Differences of all pairs of rows.

    >>> import fakelib
    >>> fakelib.outer(np.ones((2, 3)), np.zeros((2, 3)))
    """
    if a.ndim != b.ndim:
        raise ValueError("both must have the same number of dimensions")
    if a.shape != b.shape:
        raise RuntimeError(f"a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:7: {a.shape} and {b.shape}")
    return np.multiply.outer(a, b)


def scale(x: Any, by: float) -> Any:
    """All elements times a number.

    >>> import fakelib
    >>> fakelib.scale(np.ones(3), 2.5)
    """
    if by < 0:
        raise SystemError("scale returned NULL without setting an exception")
    return x * by


def fail(how: int) -> int:
    """Asks the interpreter to end.

    >>> import fakelib
    >>> fakelib.fail(2)
    """
    if how < 0:
        sys.exit(7)
    return how


def vanish(how: int) -> int:
    """Ends the process.

    >>> import fakelib
    >>> fakelib.vanish(2)
    """
    if how < 0:
        os._exit(3)
    return how


def reserve(count: int) -> Any:
    """Zeros.

    >>> import fakelib
    >>> fakelib.reserve(16)
    """
    return np.zeros(2**37 if count > 2**20 else max(count, 0))


def hang_up(how: int) -> int:
    """Closes what is not its own.

    >>> import fakelib
    >>> fakelib.hang_up(2)
    """
    if how < 0:
        os.closerange(3, 301)
    return how


def scribble(how: int) -> int:
    """Writes on what is not its own.

    >>> import fakelib
    >>> fakelib.scribble(2)
    """
    for descriptor in range(3, 301) if how < 0 else ():
        try:
            os.write(descriptor, b"\xff{garbage}" * 4)
        except OSError:
            continue
    return how


def chatter(how: int) -> int:
    """Talks.

    >>> import fakelib
    >>> fakelib.chatter(2)
    """
    if how < 0:
        print("words, words, words\n" * 200_000)
    return how


def switch(how: int) -> int:
    """Changes how the library behaves from now on.

    >>> import fakelib
    >>> fakelib.switch(2)
    """
    global switched
    switched = not switched
    return how


def hoard(how: int) -> int:
    if how < 0:
        hoarded.append(bytearray(b"x" * 65536))
    return how


def claim(size: int) -> int:
    try:
        mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE).close()
    except OSError:
        ctypes.string_at(0)
    return size


def repeat(times: int, wraps: bool) -> int:
    while wraps and times > LARGEST:
        continue
    left = 0 if wraps else times
    while left > 0:
        left -= 1
    return times


def interrupt(how: int) -> int:
    """Pretends that somebody pressed Ctrl-C.

    >>> import fakelib
    >>> fakelib.interrupt(2)
    """
    if how < 0:
        raise KeyboardInterrupt
    return how


class Unprintable(Exception):  # noqa: N818 - named for what is wrong with it
    """Its message cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


def mute(how: int) -> int:
    """Fails without a message.

    >>> import fakelib
    >>> fakelib.mute(2)
    """
    if how < 0:
        raise Unprintable
    return how


def add(a: Any, b: Any) -> Any:
    """The sum of two arrays of one shape.

    >>> import fakelib
    >>> fakelib.add(np.ones((2, 2)), np.ones((2, 2)))
    """
    if a.shape != b.shape:
        raise ValueError(f"shapes {a.shape} and {b.shape} differ")
    return a + b


def concat(parts: list[Any], axis: int = 0) -> Any:
    """Arrays one behind the other.

    >>> import fakelib
    >>> fakelib.concat([np.ones(2), np.zeros(3)], axis=0)
    """
    if not parts or not all(-part.ndim <= axis < part.ndim for part in parts):
        raise ValueError(f"axis {axis} is out of range")
    return np.concatenate(parts, axis)
