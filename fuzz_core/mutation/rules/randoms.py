"""Table 2 of the FreeFuzz paper, upper half: random values of the same FuzzType."""

from __future__ import annotations

from math import ldexp

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Fill, Prim, Seq, Tensor, Value
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import PrimRule, SeqRule, TensorRule, change_items
from fuzz_core.mutation.rules.tensors import random_key, random_size, refilled, reshaped

_FLOAT_RANGES = ((0.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (-10.0, 10.0), (-1e3, 1e3), (0.5, 4.0), (-1e6, 1e6))
# Wider ranges of 64-bit integers would be drawn one by one (2**52 is the limit of exact scaling).
_INTEGER_RANGES = ((0, 1), (0, 4), (0, 9), (-5, 5), (-128, 127), (0, 1000), (-(2**31), 2**31 - 1), (-(2**40), 2**40))
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_-.,:/> "
_LONGEST_TEXT = 8


class RandomTensorShape(TensorRule):
    """The shape becomes n random sizes; dtype and way of filling stay."""

    name = "Random Tensor Shape"
    kind = "random"
    least_rank = 1

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """A tensor of the same rank."""
        return reshaped(tensor, [random_size(ctx.rng) for _ in tensor.shape])


class RandomTensorValue(TensorRule):
    """The elements are drawn anew from one of several ranges; shape and dtype stay."""

    name = "Random Tensor Value"
    kind = "random"

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """A tensor of the same shape and dtype with a new uniform fill."""
        floating = DTYPES[tensor.dtype].kind in ("float", "complex")
        low, high = ctx.rng.choice(_FLOAT_RANGES if floating else _INTEGER_RANGES)
        return refilled(tensor, Fill("uniform", float(low), float(high), random_key(ctx.rng)))


def random_int(rng: Rng) -> int:
    """An int: three of five in -2 to 10, one of four in -100 to 100, the rest of any width up to 62 bits."""
    share = rng.random()
    if share < 0.6:
        return rng.between(-2, 10)
    if share < 0.85:
        return rng.between(-100, 100)
    width = rng.between(7, 62)
    return rng.between(-(1 << width), 1 << width)


def random_float(rng: Rng) -> float:
    """A float: half of them in (-1, 1), the rest of any magnitude between 2**-20 and 2**20."""
    number = rng.uniform(-1.0, 1.0)
    return number if rng.chance(0.5) else ldexp(number, rng.between(-20, 20))


def random_text(rng: Rng) -> str:
    """Up to eight characters."""
    return "".join([rng.choice(_LETTERS) for _ in range(rng.between(0, _LONGEST_TEXT))])


class RandomPrimitive(PrimRule):
    """Another int, float, bool or str of the same type."""

    name = "Random Primitive"
    kind = "random"

    def change(self, value: Prim, ctx: Context) -> Prim:
        """A random scalar of the same type."""
        if value.type == "int":
            return Prim("int", random_int(ctx.rng))
        if value.type == "float":
            return Prim("float", random_float(ctx.rng))
        if value.type == "bool":
            return Prim("bool", not value.value)
        return Prim("str", random_text(ctx.rng))


class RandomTuple(SeqRule):
    """(v1, …, vn) becomes (value_mutate(v1), …, value_mutate(vn)); of long tuples, sixteen elements at random."""

    name = "Random Tuple"
    kind = "random"
    seqs = ("tuple",)

    def change(self, value: Seq, ctx: Context) -> Value:
        """The tuple with its elements mutated by random value rules."""
        return change_items(value, "random", ctx)


class RandomList(SeqRule):
    """[v1, …, vn] becomes [value_mutate(v1), …, value_mutate(vn)]; of long lists, sixteen elements at random."""

    name = "Random List"
    kind = "random"
    seqs = ("list",)

    def change(self, value: Seq, ctx: Context) -> Value:
        """The list with its elements mutated by random value rules."""
        return change_items(value, "random", ctx)
