"""Descriptions of argument values: what is recorded, mutated, stored and rebuilt instead of live objects.

Every node is an immutable named tuple, so that descriptions can be shared, hashed and compared cheaply.
Names such as `torch.float32` are written library-neutrally where they can be (`Ref("dtype", "float32")`).
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple, TypeAlias

Scalar: TypeAlias = bool | int | float | complex | str | bytes | None


class Prim(NamedTuple):
    """A scalar.

    The field `type` separates 1, 1.0 and True, which compare equal in Python.

    Types: none, bool, int, float, complex, str, bytes, ellipsis (value None).
    """

    type: str
    value: Scalar


class Seq(NamedTuple):
    """A `list`, `tuple` or `set` of values."""

    kind: str
    items: tuple[Value, ...]


class Map(NamedTuple):
    """A dictionary with scalar keys."""

    entries: tuple[tuple[str, Value], ...]


class Slice(NamedTuple):
    """A slice of scalars or None."""

    start: Value
    stop: Value
    step: Value


class Ref(NamedTuple):
    """A reference by name: kind `dtype` or `device` (library-neutral), or `name` (a public attribute path)."""

    kind: str
    name: str


class Fill(NamedTuple):
    """The recipe of a tensor's elements.

    `uniform`: drawn from [low, high] with the stream `key`. `constant`: all equal `low`. `values`: `data` holds the
    elements little-endian, row-major, in the dtype's storage type (UTF-8 joined by NUL for strings). `special`, where
    set, overwrites every third element (a NaN among numbers).
    """

    kind: str = "uniform"
    low: float = 0.0
    high: float = 1.0
    key: int = 0
    data: bytes = b""
    special: float | None = None


class Tensor(NamedTuple):
    """A dense tensor; `strides` count elements, None means row-major.

    Container: tensor, parameter, variable, ndarray.
    """

    dtype: str
    shape: tuple[int, ...]
    fill: Fill = Fill()
    container: str = "tensor"
    strides: tuple[int, ...] | None = None
    requires_grad: bool = False

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


class Then(NamedTuple):
    """A call on the instance that an invocation of a class made: `method` is `__call__` or `step`, for example."""

    method: str
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()


class Invocation(NamedTuple):
    """A call of an api; as an argument of another call, an object described by its construction."""

    api: str
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()
    then: Then | None = None


Value: TypeAlias = Prim | Seq | Map | Slice | Ref | Tensor | Invocation

NONE = Prim("none", None)


def prim(value: Scalar) -> Prim:
    """Describe a Python scalar."""
    return NONE if value is None else Prim(type(value).__name__, value)


class TestCase(NamedTuple):
    """An invocation after mutation plus the seed of its random streams: it replays bit for bit.

    `origin` is the id of the traced invocation, `rules` the names of the mutators that were applied.
    """

    invocation: Invocation
    seed: int
    origin: int = 0
    rules: tuple[str, ...] = ()
    # The whole text that is executed. If the case is a program, the invocation is the call that the program is about.
    program: str = ""
