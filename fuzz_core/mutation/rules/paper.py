"""Tables 1 and 2 of the FreeFuzz paper: rules for types, random values, and values of other apis and calls."""

from __future__ import annotations

from math import ldexp

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.tree import fuzz_type
from fuzz_core.ir.values import Prim, Scalar, Seq, Tensor, Value
from fuzz_core.mutation.contract import MAX_ELEMENTS, Context, mutator, scalars, sequences, tensors
from fuzz_core.mutation.rules.layout import draw_size, reshape
from fuzz_core.mutation.rules.values import cast, draw_dtype, refill, uniform_fill

MAX_RANK = 6
MAX_CHANGED_ITEMS = 16
PRIMITIVES = ("int", "bool", "float", "str")
_LARGEST = 1 << 63
_FLOAT_RANGES = ((0.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0), (-10.0, 10.0), (-1e3, 1e3), (0.5, 4.0), (-1e6, 1e6))
# Wider ranges of 64-bit integers would be drawn one by one (2**52 is the limit of exact scaling).
_INTEGER_RANGES = ((0, 1), (0, 4), (0, 9), (-5, 5), (-128, 127), (0, 1000), (-(2**31), 2**31 - 1), (-(2**40), 2**40))
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_-.,:/> "
_LONGEST_TEXT = 8


@mutator("Tensor Dim Mutation", tensors(), "type")
def tensor_dim_mutation(tensor: Tensor, ctx: Context) -> Tensor:
    """tensor<n1,DT> becomes tensor<n2,DT>, n2 from 0 to 6: dimensions are inserted or dropped at random places."""
    rng, sizes = ctx.rng, list(tensor.shape)
    wanted = rng.below(MAX_RANK)
    wanted += wanted >= len(sizes)
    while len(sizes) > wanted:
        del sizes[rng.below(len(sizes))]
    while len(sizes) < wanted:
        sizes.insert(rng.below(len(sizes) + 1), 1 if rng.chance(0.5) else draw_size(rng))
    return reshape(tensor, sizes)


@mutator("Tensor Dtype Mutation", tensors(), "type", boundary=True)
def tensor_dtype_mutation(tensor: Tensor, ctx: Context) -> Tensor:
    """tensor<n,DT1> becomes tensor<n,DT2>."""
    return cast(tensor, draw_dtype(ctx.rng, tensor.dtype))


@mutator("Primitive Mutation", scalars(*PRIMITIVES), "type", boundary=True)
def primitive_mutation(value: Prim, ctx: Context) -> Prim:
    """int, bool, float or str becomes another of the four; a text counts as its length, NaN as 0."""
    kind, raw = ctx.rng.choice([kind for kind in PRIMITIVES if kind != value.type]), value.value
    if kind == "bool":
        return Prim("bool", bool(raw))
    if kind == "str":
        return Prim("str", str(raw if isinstance(raw, (bool, float)) else _number(raw)))
    return Prim("int", int(_number(raw))) if kind == "int" else Prim("float", float(_number(raw)))


def _number(raw: Scalar) -> int | float:
    if isinstance(raw, str):
        return len(raw)
    if isinstance(raw, (int, float)) and raw == raw:
        return max(-_LARGEST, min(_LARGEST - 1, raw))
    return 0


def change_items(value: Seq, kind: str, ctx: Context) -> Seq:
    """Return the sequence with a rule of the kind applied to each element; of long ones, to sixteen at random."""
    items = list(value.items)
    count = len(items)
    places = range(count) if count <= MAX_CHANGED_ITEMS else [ctx.rng.below(count) for _ in range(MAX_CHANGED_ITEMS)]
    for place in places:
        changed = ctx.rules.apply(kind, items[place], ctx)
        if changed is not None:
            items[place] = changed
    return Seq(value.kind, tuple(items))


@mutator("Tuple Mutation", sequences("tuple"), "type")
def tuple_mutation(value: Seq, ctx: Context) -> Seq:
    """(T1, …, Tn) becomes (type_mutate(T1), …, type_mutate(Tn))."""
    return change_items(value, "type", ctx)


@mutator("List Mutation", sequences("list"), "type")
def list_mutation(value: Seq, ctx: Context) -> Seq:
    """[T1, …, Tn] becomes [type_mutate(T1), …, type_mutate(Tn)]."""
    return change_items(value, "type", ctx)


@mutator("Random Tensor Shape", tensors(least_rank=1), "random")
def random_tensor_shape(tensor: Tensor, ctx: Context) -> Tensor:
    """Give a tensor n random sizes; rank, dtype and way of filling stay."""
    return reshape(tensor, [draw_size(ctx.rng) for _ in tensor.shape])


@mutator("Random Tensor Value", tensors(), "random")
def random_tensor_value(tensor: Tensor, ctx: Context) -> Tensor:
    """Draw the elements anew from one of several ranges; shape and dtype stay."""
    ranges = _FLOAT_RANGES if DTYPES[tensor.dtype].floating else _INTEGER_RANGES
    low, high = ctx.rng.choice(ranges)
    return refill(tensor, uniform_fill(ctx.rng, float(low), float(high)))


@mutator("Random Primitive", scalars(*PRIMITIVES), "random")
def random_primitive(value: Prim, ctx: Context) -> Prim:
    """Return another int, float, bool or str of the same type.

    Ints: three of five in -2 to 10, one of four in -100 to 100, and otherwise of any width up to 62 bits. Floats: half
    of them in (-1, 1), the second half of any magnitude between 2**-20 and 2**20. Texts: up to eight characters.
    """
    rng = ctx.rng
    if value.type == "int":
        share = rng.random()
        if share < 0.85:
            return Prim("int", rng.between(-2, 10) if share < 0.6 else rng.between(-100, 100))
        width = rng.between(7, 62)
        return Prim("int", rng.between(-(1 << width), 1 << width))
    if value.type == "float":
        number = rng.uniform(-1.0, 1.0)
        return Prim("float", number if rng.chance(0.5) else ldexp(number, rng.between(-20, 20)))
    if value.type == "bool":
        return Prim("bool", not value.value)
    return Prim("str", "".join([rng.choice(_LETTERS) for _ in range(rng.between(0, _LONGEST_TEXT))]))


@mutator("Random Tuple", sequences("tuple"), "random")
def random_tuple(value: Seq, ctx: Context) -> Seq:
    """(v1, …, vn) becomes (value_mutate(v1), …, value_mutate(vn))."""
    return change_items(value, "random", ctx)


@mutator("Random List", sequences("list"), "random")
def random_list(value: Seq, ctx: Context) -> Seq:
    """[v1, …, vn] becomes [value_mutate(v1), …, value_mutate(vn)]."""
    return change_items(value, "random", ctx)


@mutator("Database Tensor Shape", tensors(), "database")
def database_tensor_shape(tensor: Tensor, ctx: Context) -> Tensor | None:
    """pick_shape: the shape of a tensor of the same rank and dtype; the contents stay."""
    found = ctx.space.pick_tensor(ctx.rng, len(tensor.shape), tensor.dtype)
    return reshape(tensor, found.shape) if isinstance(found, Tensor) else None


@mutator("Database Tensor Value", tensors(), "database")
def database_tensor_value(tensor: Tensor, ctx: Context) -> Tensor | None:
    """pick_value: the contents of a tensor of the same rank and dtype, repeated or cut to the shape, which stays."""
    found = ctx.space.pick_tensor(ctx.rng, len(tensor.shape), tensor.dtype)
    return refill(tensor, found.fill) if isinstance(found, Tensor) else None


def pick_seen(fuzz_type: str, ctx: Context) -> Value | None:
    """Return a value of this FuzzType (empty: any) seen for the argument in a similar api; None for a huge tensor."""
    found = ctx.space.pick(ctx.rng, ctx.api, ctx.argument, fuzz_type)
    return found if found is not None and _within_cap(found) else None


def _within_cap(value: Value) -> bool:
    if isinstance(value, Tensor):
        return value.size <= MAX_ELEMENTS
    return all(map(_within_cap, value.items)) if isinstance(value, Seq) else True


@mutator("Database Primitive", scalars("int", "float", "str"), "database")
def database_primitive(value: Prim, ctx: Context) -> Value | None:
    """pick: an int, float or str seen for the same argument name in a similar api."""
    return pick_seen(value.type, ctx)


@mutator("Database Tuple", sequences("tuple"), "database")
def database_tuple(value: Seq, ctx: Context) -> Value | None:
    """pick: a tuple of the same element types seen for the same argument name in a similar api."""
    return pick_seen(fuzz_type(value), ctx)


@mutator("Database List", sequences("list"), "database")
def database_list(value: Seq, ctx: Context) -> Value | None:
    """pick: a list of the same element types seen for the same argument name in a similar api."""
    return pick_seen(fuzz_type(value), ctx)
