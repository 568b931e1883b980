"""Arrays, and functions that have a kernel for each way to be called."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

Kernel = Callable[..., Any]

# How kernels are chosen beyond what the arguments say: restored by whoever changes it.
settings: dict[str, Any] = {"compiled": False, "threads": 1, "slopes": None}


class Array:
    """Numbers on a device: `cpu`, `cuda` (which is none), or `meta`, where shape, dtype and strides count alone.

    batched: whether the first dimension counts calls.
    """

    def __init__(self, data: Any, device: str = "cpu", batched: bool = False) -> None:
        self.data = np.asarray(data)
        self.device = device
        self.batched = batched

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return self.data.shape

    @property
    def dtype(self) -> Any:
        """The element type, numpy's."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions."""
        return self.data.ndim

    def __getitem__(self, key: Any) -> Array:
        """A part."""
        return Array(self.data[key], self.device)

    def __repr__(self) -> str:
        """As numpy writes it."""
        return f"array({self.data!r})"

    def to(self, device: str) -> Array:
        """The same elsewhere."""
        return Array(self.data, device)

    def double(self) -> Array:
        """The same in double precision, where it is floating-point."""
        return Array(self.data.astype(np.float64), self.device) if self.data.dtype.kind == "f" else self


def array(data: Any) -> Array:
    """An array of given elements."""
    return Array(data)


def scattered(x: Array) -> Array:
    """The same elements in another order in memory: columns first, or every second place."""
    if x.ndim > 1:
        return Array(np.asfortranarray(x.data), x.device)
    return Array(np.repeat(x.data, 2)[::2], x.device)


def between(x: Array, large: bool) -> Array:
    """The same array, with a thousand zeros or large numbers in front of it, and as many behind it."""
    rooms = np.zeros((2, x.data.size + 2000), x.dtype)
    rooms[1] = np.finfo(x.dtype).max if x.dtype.kind in "fc" else 1
    rooms[:, 1000:-1000] = x.data.ravel()
    return Array(rooms[int(large), 1000:-1000].reshape(x.shape), x.device)


def empty_like(x: Any) -> Any:
    """Room for a result, with other numbers in it."""
    return Array(np.full_like(x.data, 7)) if isinstance(x, Array) else [empty_like(part) for part in x]


def op(slope: Kernel | None = None, inplace: Kernel | bool = False, **kernels: Kernel) -> Callable[[Kernel], Kernel]:
    """Makes a public function of a kernel on numpy arrays; others stand in for it where they are given.

    batched: with one more dimension in front. meta, cuda: on that device. compiled, threads: in that setting. out:
    writes into its last argument. slope: the derivative of the result's sum by the first argument. inplace: writes into
    its first argument, as a function with `_` behind its name.
    """

    def decorate(kernel: Kernel) -> Kernel:
        @functools.wraps(kernel)
        def function(*args: Any, out: Any = None, **keywords: Any) -> Any:
            return _call(kernel, kernels, slope, args, keywords, out)

        if inplace:
            setattr(sys.modules[kernel.__module__], f"{kernel.__name__}_", _inplace(kernel, inplace))
        return function

    return decorate


def _inplace(kernel: Kernel, given: Kernel | bool) -> Kernel:
    def function(x: Array, *args: Any, **keywords: Any) -> Array:
        if callable(given):
            given(x.data, *_plain(args), **_plain(keywords))
        else:
            x.data[...] = kernel(x.data, *_plain(args), **_plain(keywords))
        return x

    return function


def _call(kernel: Kernel, kernels: dict[str, Kernel], slope: Kernel | None, args: Any, keywords: Any, out: Any) -> Any:
    arrays = [each for each in args if isinstance(each, Array)]
    if any(each.batched for each in arrays):
        return Array(_batched(kernel, kernels.get("batched"), args, keywords), batched=True)
    plain, named = _plain(args), _plain(keywords)
    if settings["slopes"] is not None and slope is not None:
        settings["slopes"].append(slope(*plain, **named))
    device = arrays[0].device if arrays else "cpu"
    made = _chosen(kernel, kernels, device)(*plain, **named)
    if out is None:
        return _wrapped(made, device)
    kernels.get("out", _written)(made, out.data)
    return out


def _chosen(kernel: Kernel, kernels: dict[str, Kernel], device: str) -> Kernel:
    if settings["compiled"] and "compiled" in kernels:
        return kernels["compiled"]
    if settings["threads"] > 1 and "threads" in kernels:
        return kernels["threads"]
    return kernels.get(device, kernel)


def _written(made: Any, out: Any) -> None:
    out[...] = made


def _batched(kernel: Kernel, given: Kernel | None, args: Any, keywords: Any) -> Any:
    """All calls at once, or one after the other."""
    if given is not None:
        return given(*_plain(args), **_plain(keywords))
    count = next(len(each.data) for each in args if isinstance(each, Array) and each.batched)
    each_call = (
        [each.data[place] if isinstance(each, Array) and each.batched else _plain(each) for each in args]
        for place in range(count)
    )
    return np.stack([kernel(*call, **_plain(keywords)) for call in each_call])


def _plain(value: Any) -> Any:
    if isinstance(value, Array):
        return value.data
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, dict) else value


def _wrapped(value: Any, device: str) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return Array(value, device)
    return type(value)(_wrapped(part, device) for part in value) if isinstance(value, list | tuple) else value


@contextmanager
def setting(name: str, value: Any) -> Iterator[Any]:
    """The setting for a while."""
    before, settings[name] = settings[name], value
    try:
        yield value
    finally:
        settings[name] = before


def compiled(function: Kernel) -> Kernel:
    """The same function, compiled."""

    def call(*args: Any, **keywords: Any) -> Any:
        with setting("compiled", True):
            return function(*args, **keywords)

    return call


def threaded(function: Kernel) -> Kernel:
    """The same function on four threads."""

    def call(*args: Any, **keywords: Any) -> Any:
        with setting("threads", 4):
            return function(*args, **keywords)

    return call


def vmap(function: Kernel) -> Kernel:
    """The function of each member of its arrays."""

    def call(*args: Any, **keywords: Any) -> Any:
        return function(
            *(Array(a.data, a.device, batched=True) if isinstance(a, Array) else a for a in args), **keywords
        )

    return call


def twice(x: Array) -> Array:
    """Two members for `vmap`."""
    return Array(np.stack((x.data, x.data)), x.device)


def derivative(function: Kernel, *args: Any) -> float:
    """How the sum of the result changes with the first argument, along `direction`: by the function's own rule."""
    with setting("slopes", []) as slopes:
        function(*args)
    return float((slopes[0] * direction(args[0])).sum())


def quotient(function: Kernel, *args: Any, step: float = 1e-6, sides: tuple[int, int] = (1, -1)) -> float:
    """The same as a difference quotient, on both sides or on one."""
    turned = step * direction(args[0])
    first, last = (function(Array(args[0].data + side * turned), *args[1:]).data.sum() for side in sides)
    return float(first - last) / ((sides[0] - sides[1]) * step)


def direction(x: Array) -> Any:
    """Numbers in [-1, 1] that depend on the place alone."""
    return np.cos(0.9 + 1.7 * np.arange(x.data.size)).reshape(x.shape)
