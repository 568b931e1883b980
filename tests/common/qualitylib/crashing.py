"""Functions that end the process, never end, or give up with an internal error."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import tempfile
from typing import Any

import numpy as np

from qualitylib.array import Array, op

LARGEST = 2**31
UNMAPPED = 0x5A5A_5A5A_5000


@op()
def row_max(x: Any) -> Any:
    """Largest elements of rows; a null pointer is read where there are none.

    >>> import qualitylib
    >>> qualitylib.row_max(qualitylib.array(np.ones((2, 3))))
    """
    if x.size == 0:
        ctypes.string_at(0)
    return x.max(-1)


@op()
def peek(x: Any, index: int) -> Any:
    """One element; a far place in memory is read for a large index.

    >>> import qualitylib
    >>> qualitylib.peek(qualitylib.array(np.arange(6)), 4)
    """
    if index > LARGEST:
        ctypes.string_at(UNMAPPED)
    return x.ravel()[index]


@op()
def window(x: Any, step: int) -> Any:
    """Every so-many-th element; the size is divided by a step of 0.

    >>> import qualitylib
    >>> qualitylib.window(qualitylib.array(np.arange(6)), 2)
    """
    if step == 0:
        os.kill(os.getpid(), signal.SIGFPE)
    return x[::step]


@op()
def resize(x: Any, size: int) -> Any:
    """As many elements as asked for, repeated; a check aborts for many.

    >>> import qualitylib
    >>> qualitylib.resize(qualitylib.array(np.arange(6)), 4)
    """
    if size > LARGEST:
        print(f"Check failed: size <= kMaxSize ({size} vs. {LARGEST})", file=sys.stderr, flush=True)
        os.abort()
    if not 0 <= size <= 1000:
        raise ValueError(f"size must lie between 0 and 1000, not {size}")
    return np.resize(x, size)


@op()
def parse(text: str) -> Any:
    """Codes of characters; an exception of C++ that nobody catches for an empty text.

    >>> import qualitylib
    >>> qualitylib.parse("abc")
    """
    if not text:
        print("terminate called after throwing an instance of 'std::out_of_range'", file=sys.stderr)
        print("  what():  basic_string::at: __n (which is 0) >= this->size()", file=sys.stderr, flush=True)
        os.abort()
    return np.array([ord(letter) for letter in text])


@op()
def nest(depth: int) -> Any:
    """A call within a call; the stack overflows where there are many.

    >>> import qualitylib
    >>> qualitylib.nest(3)
    """
    if depth < 0:
        raise ValueError("depth must not be negative")
    inner: Any = iter([depth])
    for _ in range(min(depth, 500_000)):
        inner = filter(None, inner)
    return next(inner, 0)


@op()
def release(x: Any, times: int) -> Any:
    """The sum; memory is freed twice for a negative number of times.

    >>> import qualitylib
    >>> qualitylib.release(qualitylib.array(np.ones(3)), 1)
    """
    if times < 0:
        memory = ctypes.CDLL(None)
        memory.malloc.restype = ctypes.c_void_p
        place = ctypes.c_void_p(memory.malloc(24))
        memory.free(place)
        memory.free(place)
    return x.sum()


@op()
def shared(count: int) -> Any:
    """Elements of a file; one that has been cut is read for a negative count.

    >>> import qualitylib
    >>> qualitylib.shared(4)
    """
    if count < 0:
        with tempfile.TemporaryFile() as file:
            file.truncate(mmap.PAGESIZE)
            pages = mmap.mmap(file.fileno(), mmap.PAGESIZE)
            file.truncate(0)
            return pages[0]
    return np.zeros(min(count, 64))


@op()
def codes(x: Any) -> Any:
    """Elements as bytes; an instruction that no machine has for booleans.

    >>> import qualitylib
    >>> qualitylib.codes(qualitylib.array(np.arange(4, dtype=np.uint8)))
    """
    if x.dtype == bool:
        os.kill(os.getpid(), signal.SIGILL)
    return np.frombuffer(x.tobytes(), np.uint8)


@op()
def search(x: Any, value: float) -> Any:
    """Where a value would have to stand; an infinite one is looked for without an end.

    >>> import qualitylib
    >>> qualitylib.search(qualitylib.array(np.arange(4.0)), 2.5)
    """
    place = 0
    while np.isinf(value) or (place < x.size and x.flat[place] < value):
        place += 1
    return np.int64(place)


@op()
def outer(a: Any, b: Any) -> Any:
    """Products of all pairs; an assertion for shapes of one rank that differ.

    >>> import qualitylib
    >>> qualitylib.outer(qualitylib.array(np.ones((2, 3))), qualitylib.array(np.zeros((2, 3))))
    """
    if a.ndim != b.ndim:
        raise ValueError("both must have the same number of dimensions")
    if a.shape != b.shape:
        raise RuntimeError(f"a.shape == b.shape INTERNAL ASSERT FAILED at outer.cpp:7: {a.shape} and {b.shape}")
    return np.multiply.outer(a, b)


@op()
def convert(x: Any, name: str) -> Any:
    """Another type by its name; the interpreter is misused for an empty one.

    >>> import qualitylib
    >>> qualitylib.convert(qualitylib.array(np.ones(3)), "int32")
    """
    if not name:
        raise SystemError("convert returned NULL without setting an exception")
    return x.astype(name)


def _fused(x: Any) -> Any:
    if (x < 0).any():
        ctypes.string_at(0)
    return np.abs(x) + 1


@op(compiled=_fused)
def fused(x: Any) -> Any:
    """Magnitudes and one more; compiled, a null pointer is read for a negative element.

    >>> import qualitylib
    >>> qualitylib.fused(qualitylib.array(np.linspace(0, 1, 4)))
    """
    return np.abs(x) + 1


def _gathered(x: Any) -> Any:
    if x.size == 0:
        print("Check failed: grid.x > 0 (0 vs. 0)", file=sys.stderr, flush=True)
        os.abort()
    return x.ravel()


@op(cuda=_gathered)
def gathered(x: Any) -> Any:
    """All elements in one row; there, a check aborts where there are none.

    >>> import qualitylib
    >>> qualitylib.gathered(qualitylib.array(np.ones((2, 3))))
    """
    return x.ravel()


def _scanned(x: Any) -> Any:
    if x.size > 4:
        raise RuntimeError(f"chunk * threads == size INTERNAL ASSERT FAILED at scan.cpp:9: {x.size}")
    return np.cumsum(x)


@op(threads=_scanned)
def scanned(x: Any) -> Any:
    """Sums so far; on several threads an assertion for five elements and more.

    >>> import qualitylib
    >>> qualitylib.scanned(qualitylib.array(np.arange(4)))
    """
    return np.cumsum(x)


class Tiles:
    """Every `stride`-th element, times `width`; a null pointer is read for a vector and a stride of 0.

    >>> import qualitylib
    >>> t = qualitylib.Tiles(2, stride=3)
    >>> t(qualitylib.array(np.ones((3, 4))))
    >>> t(qualitylib.array(np.ones(5)))
    """

    def __init__(self, width: int, stride: int = 1) -> None:
        if width < 1 or stride < 0:
            raise ValueError("width must be positive and stride not negative")
        self.width = width
        self.stride = stride

    def __call__(self, x: Any) -> Any:
        """The elements."""
        if self.stride == 0 and x.ndim == 1:
            ctypes.string_at(0)
        return Array(x.data[:: max(self.stride, 1)] * self.width, x.device)
