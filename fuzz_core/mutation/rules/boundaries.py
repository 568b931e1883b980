"""Boundary scalars: values at which sizes, indices, casts and loops tend to break."""

from __future__ import annotations

from fuzz_core.ir.values import Prim
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import PrimRule

SMALL_INTEGERS = (0, 0, -1, -1, 1, 2, -2, -3)
LARGE_INTEGERS = (127, 255, 256, 65536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1, -(2**63))
INFINITY = float("inf")
NAN = float("nan")
FLOATS = (
    0.0,
    -0.0,
    NAN,
    INFINITY,
    -INFINITY,
    5e-324,
    1e-45,
    2.220446049250313e-16,
    -1.0,
    1.0,
    1e38,
    3.4028234663852886e38,
    1.7976931348623157e308,
    -1.7976931348623157e308,
)


class BoundaryInteger(PrimRule):
    """An int becomes 0, -1, 1, a small negative, or a limit of an 8 to 64-bit integer."""

    name = "Boundary Integer"
    types = ("int",)

    def change(self, value: Prim, ctx: Context) -> Prim:
        """A boundary int; two of three are small ones, which more calls accept."""
        return Prim("int", ctx.rng.choice(SMALL_INTEGERS if ctx.rng.chance(0.66) else LARGE_INTEGERS))


class NeighbourInteger(PrimRule):
    """An int becomes one more, one less, its negative or its double: one step across the limit that it keeps to."""

    name = "Neighbour Integer"
    types = ("int",)

    def change(self, value: Prim, ctx: Context) -> Prim:
        """An int close to the old one."""
        number = int(value.value)  # type: ignore[arg-type]
        return Prim("int", ctx.rng.choice((number + 1, number - 1, -number, number * 2)))


class BoundaryFloat(PrimRule):
    """A float becomes a zero of either sign, NaN, an infinity, a denormal, an epsilon or a largest number."""

    name = "Boundary Float"
    types = ("float",)

    def change(self, value: Prim, ctx: Context) -> Prim:
        """A boundary float."""
        return Prim("float", ctx.rng.choice(FLOATS))


class BoundaryComplex(PrimRule):
    """One part or both parts of a complex number become a boundary float."""

    name = "Boundary Complex"
    types = ("complex",)

    def change(self, value: Prim, ctx: Context) -> Prim:
        """A complex number of boundary parts."""
        number = complex(value.value)  # type: ignore[arg-type]
        real = ctx.rng.choice(FLOATS)
        imaginary = number.imag if ctx.rng.chance(0.5) else ctx.rng.choice(FLOATS)
        return Prim("complex", complex(real, imaginary))
