"""Table 2 of the FreeFuzz paper, lower half: values that were seen elsewhere, of the same FuzzType."""

from __future__ import annotations

from fuzz_core.ir.fuzztype import fuzz_type
from fuzz_core.ir.values import Prim, Seq, Tensor, Value
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import PrimRule, SeqRule, TensorRule
from fuzz_core.mutation.rules.tensors import refilled, reshaped, within_cap


def _seen(tensor: Tensor, ctx: Context) -> Tensor | None:
    found = ctx.space.pick_tensor(ctx.rng, len(tensor.shape), tensor.dtype)
    return found if isinstance(found, Tensor) else None


class DatabaseTensorShape(TensorRule):
    """pick_shape: the shape of a tensor of the same rank and dtype; the contents stay."""

    name = "Database Tensor Shape"
    kind = "database"

    def change(self, tensor: Tensor, ctx: Context) -> Tensor | None:
        """A tensor of a seen shape."""
        found = _seen(tensor, ctx)
        return None if found is None else reshaped(tensor, found.shape)


class DatabaseTensorValue(TensorRule):
    """pick_value: the contents of a tensor of the same rank and dtype, repeated or cut to the shape, which stays."""

    name = "Database Tensor Value"
    kind = "database"

    def change(self, tensor: Tensor, ctx: Context) -> Tensor | None:
        """A tensor of seen contents."""
        found = _seen(tensor, ctx)
        return None if found is None else refilled(tensor, found.fill)


def seen_value(value: Value, ctx: Context) -> Value | None:
    """A value of the same FuzzType seen for the argument in a similar api; None where it holds an outsized tensor."""
    found = ctx.space.pick(ctx.rng, ctx.api, ctx.argument, fuzz_type(value))
    return found if found is not None and within_cap(found) else None


class DatabasePrimitive(PrimRule):
    """pick: an int, float or str seen for the same argument name in a similar api."""

    name = "Database Primitive"
    kind = "database"
    types = ("int", "float", "str")

    def change(self, value: Prim, ctx: Context) -> Value | None:
        """A seen scalar of the same type."""
        return seen_value(value, ctx)


class DatabaseTuple(SeqRule):
    """pick: a tuple of the same element types seen for the same argument name in a similar api."""

    name = "Database Tuple"
    kind = "database"
    seqs = ("tuple",)

    def change(self, value: Seq, ctx: Context) -> Value | None:
        """A seen tuple of the same FuzzType."""
        return seen_value(value, ctx)


class DatabaseList(SeqRule):
    """pick: a list of the same element types seen for the same argument name in a similar api."""

    name = "Database List"
    kind = "database"
    seqs = ("list",)

    def change(self, value: Seq, ctx: Context) -> Value | None:
        """A seen list of the same FuzzType."""
        return seen_value(value, ctx)
