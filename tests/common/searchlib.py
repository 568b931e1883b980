"""searchlib: a library without examples, whose functions check their arguments step by step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "Handle",
    "Tiling",
    "abandon",
    "die",
    "drop",
    "grow",
    "leave",
    "measure",
    "owe",
    "pool",
    "reverse",
    "vow",
    "write",
]


def pool(image: ArrayLike, ksize: list[int], padding: str) -> object:
    """Pools."""
    image = np.asarray(image)
    if image.ndim != 4:
        raise ValueError(f"image must be 4-dimensional, got {image.shape}")
    if image.dtype != np.float64:
        raise TypeError(f"image must be float64, not {image.dtype}")
    if len(ksize) != 2 or min(ksize) < 1:
        raise ValueError(f"ksize must be a list of 2 positive sizes, got {ksize}")
    if padding not in ("VALID", "SAME"):
        raise ValueError(f"padding must be 'VALID' or 'SAME', got {padding!r}")
    if image.shape[3] != image.shape[0]:
        raise ValueError(f"depth must match the batch, got {image.shape[3]} and {image.shape[0]}")
    return image[:, :: ksize[0], :: ksize[1]]


def reverse(image: ArrayLike, key: int) -> object:
    """Takes what `pool` gives it, which no other caller knows."""
    if key != 1_234_567:
        raise ValueError("wrong key")
    return np.asarray(image)[::-1]


class Handle:
    """A handle of so many places."""

    def __init__(self, places: int) -> None:
        if places < 3:
            raise ValueError(f"places must be at least 3, got {places}")
        self.places = places


class Tiling:
    """A layer whose construction refuses most arguments."""

    def __init__(self, places: int, mode: str) -> None:
        if mode != "ragged-edge":
            raise ValueError(f"Tiling: mode must be 'ragged-edge', got {mode!r}")
        if places != 13:
            raise ValueError(f"Tiling: places must be 13, got {places}")

    def __call__(self, image: ArrayLike) -> int:
        """Counts dimensions."""
        return np.asarray(image).ndim


class Promise:
    """A promise of so many values."""

    def __init__(self, count: int) -> None:
        self.count = count


def vow(count: int) -> Promise:
    """Promises values."""
    return Promise(count)


def owe(count: int) -> Promise:
    """Promises values, and ends the process that wants one."""
    return Promise(-1)


def measure(handle: Handle) -> int:
    """Measures a handle."""
    if not isinstance(handle, Handle):
        raise TypeError("no handle")
    return handle.places


def grow(count: int) -> int:
    """Takes any count, although its documentation asks for one above 1."""
    return count


def write(count: int) -> None:
    """Writes a file."""
    Path("left-behind").write_text(str(count))


def leave(count: int) -> None:
    """Starts a process that goes on."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def die(count: int) -> None:
    """Ends the process."""
    os.abort()


def drop(count: int) -> None:
    """Refuses every count."""
    raise ValueError(f"dropped {count}")


def abandon(count: int) -> None:
    """Wants a device."""
    raise RuntimeError("no wire is plugged in")
