"""The class of fakelib."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar


class Window:
    """Every `stride`-th element, times `width`.

    >>> import fakelib
    >>> w = fakelib.nn.Window(2, stride=3)
    >>> w(np.ones((3, 4)))
    >>> w(np.ones(5))
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
        return x[:: max(self.stride, 1)] * self.width


class Gate:
    """Undocumented: takes arrays that lie in memory one element after the other, and falls over any other one."""

    def __call__(self, x: Any) -> Any:
        """The array, and a dimension of it that most have not."""
        return x if x.flags.c_contiguous else x.shape[x.ndim]


class Pair:
    """Undocumented: gives two arrays for one."""

    def __call__(self, x: Any) -> Any:
        """Both."""
        return [x, x]


class Vector:
    """Undocumented: falls over whatever has two dimensions or more."""

    def __call__(self, x: Any) -> Any:
        """The vector."""
        return x * (1, None)[x.ndim - 1]


class Hoard:
    """Undocumented: keeps 64 KB of every call for good."""

    kept: ClassVar[list[bytearray]] = []

    def __call__(self, x: Any) -> Any:
        """The array."""
        self.kept.append(bytearray(1 << 16))
        return x * 1


class Narrow:
    """Undocumented as an api, but not in its argument: takes what this text rules out.

    Args:
        width (int): Must be at most 1.
    """

    def __init__(self, width: int) -> None:
        self.width = width

    def __call__(self, x: Any) -> Any:
        """All elements times the width."""
        return x * self.width
