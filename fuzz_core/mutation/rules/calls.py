"""Rules for the shape of a call: optional arguments, lengths of sequences, parts of values, and the whole call.

Rules for the whole call see properties that several arguments share, and change them in all arguments or in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.tree import argument_names, children, fuzz_type, rewritten, tensors_of, with_children
from fuzz_core.ir.values import NONE, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Then, Value, prim
from fuzz_core.mutation.contract import (
    CALLS,
    MATRIX,
    VOLUME,
    Context,
    Domain,
    invocations,
    make_domain,
    mutator,
    scalars,
    sequences,
)
from fuzz_core.mutation.rules.layout import draw_size, reshape
from fuzz_core.mutation.rules.paper import pick_seen
from fuzz_core.mutation.rules.values import COMMON_DTYPES, SMALL_INTEGERS, cast, draw_dtype

UNPROVEN_NONE_SHARE = 0.25
MAX_LENGTH = 64
SAME_KIND_SHARE = 0.6
POSITIONAL_SHARE = 0.25
_APPENDED = (Prim("int", 1), Prim("int", 0), Prim("int", -1))
_DTYPE = Ref("dtype", "float32")
_OTHERS = (NONE, prim(True), prim(1j), _DTYPE, Map((("a", prim(1)),)), Slice(prim(0), NONE, NONE), *CALLS)

_Called = TypeVar("_Called", Invocation, Then)
_Whole = TypeVar("_Whole", Invocation, Seq, Map)


@mutator(
    "None for Optional", make_domain(lambda value: value != NONE, (MATRIX, prim(3), _DTYPE, *CALLS)), boundary=True
)
def none_for_optional(value: Value, ctx: Context) -> Value | None:
    """Replace a value by None: always if a call gave None for the argument, otherwise one time in four."""
    optional = ctx.space.pick(ctx.rng, ctx.api, ctx.argument, "none") is not None
    return NONE if optional or ctx.rng.chance(UNPROVEN_NONE_SHARE) else None


_DTYPES: Domain[Ref] = make_domain(
    lambda value: isinstance(value, Ref) and value.kind == "dtype", (_DTYPE, Ref("dtype", "complex32"))
)


@mutator("Other Dtype", _DTYPES, boundary=True)
def other_dtype(value: Ref, ctx: Context) -> Ref:
    """Let a dtype argument name another dtype."""
    return Ref("dtype", draw_dtype(ctx.rng, value.name))


@mutator("Damaged String", scalars("str"))
def damaged_string(value: Prim, ctx: Context) -> Prim:
    """Drop or double a character, swap its case, add a tail, or return the empty string."""
    text = str(value.value)
    at = ctx.rng.below(max(1, len(text)))
    one = text[at : at + 1]
    replacement = ctx.rng.choice(("", one + one, one.swapcase(), one + "_"))
    return Prim("str", "" if ctx.rng.chance(0.2) else text[:at] + replacement + text[at + 1 :])


@mutator("String from Elsewhere", scalars("str"))
def string_from_elsewhere(value: Prim, ctx: Context) -> Value | None:
    """Return a string that was seen for any argument of any api."""
    return ctx.space.pick(ctx.rng, ctx.api, "", "str")


def _beyond_table_2(value: Value) -> bool:
    """Return whether table 2 has no row for a value, such as a bool, a dictionary, a slice, a name or an object."""
    if isinstance(value, Prim):
        return value.type in ("bool", "complex", "bytes")
    return value.kind == "set" if isinstance(value, Seq) else not isinstance(value, Tensor)


@mutator("Same Type Elsewhere", make_domain(_beyond_table_2, _OTHERS))
def same_type_elsewhere(value: Value, ctx: Context) -> Value | None:
    """Return a value of the same FuzzType seen for the argument name, for the FuzzTypes that table 2 leaves out."""
    return pick_seen(fuzz_type(value), ctx)


@mutator("Other Type Elsewhere", make_domain(lambda value: True, (MATRIX, VOLUME, *_OTHERS)))
def other_type_elsewhere(value: Value, ctx: Context) -> Value | None:
    """Return a value of another FuzzType seen for the argument name: a tensor for None, a pair for an int."""
    found = pick_seen("", ctx)
    return None if found is None or fuzz_type(found) == fuzz_type(value) else found


@mutator("Drop Element", sequences(), boundary=True)
def drop_element(value: Seq, ctx: Context) -> Seq:
    """Remove an element."""
    at = ctx.rng.below(len(value.items))
    return Seq(value.kind, value.items[:at] + value.items[at + 1 :])


@mutator("Duplicate Element", sequences(), boundary=True)
def duplicate_element(value: Seq, ctx: Context) -> Seq | None:
    """Repeat an element; None if the sequence is long already."""
    if len(value.items) >= MAX_LENGTH:
        return None
    at = ctx.rng.below(len(value.items))
    return Seq(value.kind, value.items[: at + 1] + value.items[at:])


@mutator("Append Element", sequences(may_be_empty=True))
def append_element(value: Seq, ctx: Context) -> Seq | None:
    """Append a small int, or a mutated copy of an element; None if the sequence is long already."""
    if len(value.items) >= MAX_LENGTH:
        return None
    added = None
    if value.items and ctx.rng.chance(0.5):
        added = ctx.rules.apply("", ctx.rng.choice(value.items), ctx)
    return Seq(value.kind, (*value.items, ctx.rng.choice(_APPENDED) if added is None else added))


@mutator("Empty Sequence", sequences(), boundary=True)
def empty_sequence(value: Seq, ctx: Context) -> Seq:
    """Return the empty sequence of the same kind."""
    return Seq(value.kind, ())


def _change_part(value: _Whole, ctx: Context, names: Sequence[str]) -> _Whole | None:
    """Return the value with one part mutated by any rule that applies to it; None where there is none.

    Args:
        names: the argument name of each part.
    """
    parts = list(children(value))
    if not parts:
        return None
    at = ctx.rng.below(len(parts))
    changed = ctx.rules.apply("", parts[at], ctx._replace(argument=names[at]))
    if changed is None:
        return None
    parts[at] = changed
    return with_children(value, parts)


@mutator("Nested Argument", invocations())
def nested_argument(value: Invocation, ctx: Context) -> Invocation | None:
    """Return an object by construction with one of its own arguments mutated."""
    return _change_part(value, ctx._replace(api=value.api), argument_names(value, ctx.rules.params))


@mutator("Nested Element", sequences())
def nested_element(value: Seq, ctx: Context) -> Seq | None:
    """Mutate an element of a sequence, by any rule that applies to it."""
    return _change_part(value, ctx, [ctx.argument] * len(value.items))


_MAPS: Domain[Map] = make_domain(
    lambda value: isinstance(value, Map) and bool(value.entries), (Map((("p", prim(0.5)), ("size", prim(2)))),)
)


@mutator("Nested Entry", _MAPS)
def nested_entry(value: Map, ctx: Context) -> Map | None:
    """Mutate an entry of a dictionary, by any rule that applies to it; its key is its argument name."""
    return _change_part(value, ctx, [key for key, _ in value.entries])


_SLICES: Domain[Slice] = make_domain(
    lambda value: isinstance(value, Slice), (Slice(prim(0), prim(4), prim(2)), Slice(NONE, NONE, NONE))
)


@mutator("Slice Part", _SLICES, boundary=True)
def slice_part(value: Slice, ctx: Context) -> Slice:
    """Start, stop or step of a slice becomes a small integer or None."""
    parts = list(value)
    parts[ctx.rng.below(3)] = NONE if ctx.rng.chance(0.2) else Prim("int", ctx.rng.choice(SMALL_INTEGERS))
    return Slice(*parts)


def _dtype_near(ctx: Context, dtype: str) -> str:
    """Return another dtype, three of five times one of the same kind."""
    if ctx.rng.chance(SAME_KIND_SHARE):
        kind = DTYPES[dtype].kind
        near = [name for name in COMMON_DTYPES if DTYPES[name].kind == kind and name != dtype]
        if near:
            return ctx.rng.choice(near)
    return draw_dtype(ctx.rng, dtype)


@mutator("Mixed Dtypes", invocations("call"))
def mixed_dtypes(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Give another dtype to one of several tensors: finds faults of promotion, and kernels that forget it."""
    tensors = list(tensors_of(invocation))
    if len(tensors) < 2:
        return None
    chosen = ctx.rng.below(len(tensors))
    dtype = _dtype_near(ctx, tensors[chosen].dtype)
    left = iter(range(len(tensors)))

    def leaf(value: Value) -> Value:
        return cast(value, dtype) if isinstance(value, Tensor) and next(left) == chosen else value

    return rewritten(invocation, leaf, Slice)


@mutator("Joint Dtype", invocations("call"), boundary=True)
def joint_dtype(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Give another dtype to all tensors (and dtype arguments) of one dtype, so that they still agree."""
    tensors = list(tensors_of(invocation))
    if not tensors:
        return None
    old = ctx.rng.choice(tensors).dtype
    new = _dtype_near(ctx, old)

    def leaf(value: Value) -> Value:
        if isinstance(value, Tensor) and value.dtype == old:
            return cast(value, new)
        return Ref("dtype", new) if value == Ref("dtype", old) else value

    return rewritten(invocation, leaf, Slice)


@mutator("Joint Dimension", invocations("call"))
def joint_dimension(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Give every dimension of one size, and every int equal to it, another size, so that shapes still agree."""
    sizes = [size for tensor in tensors_of(invocation) for size in tensor.shape]
    if not sizes:
        return None
    return resized(invocation, ctx.rng.choice(sizes), draw_size(ctx.rng))


def resized(invocation: Invocation, old: int, new: int) -> Invocation:
    """Return the call with another size for every dimension of one size, and for every int equal to it."""
    # Ones and zeros are mostly flags, axes and defaults, not sizes.
    number = Prim("int", old) if old > 1 else None

    def leaf(value: Value) -> Value:
        if isinstance(value, Tensor) and old in value.shape:
            return reshape(value, [new if size == old else size for size in value.shape])
        return Prim("int", new) if value == number else value

    return rewritten(invocation, leaf, Slice)


@mutator("Drop Argument", invocations("call"), boundary=True)
def drop_argument(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Leave a keyword to its default; one time in four, the last positional argument, which may be required."""
    then = invocation.then
    positional = ctx.rng.chance(POSITIONAL_SHARE)
    if then is not None and (then.args if positional else then.kwargs) and ctx.rng.chance(0.5):
        return invocation._replace(then=_shorten(then, positional, ctx.rng))
    present = invocation.args if positional else invocation.kwargs
    return _shorten(invocation, positional, ctx.rng) if present else None


def _shorten(called: _Called, positional: bool, rng: Rng) -> _Called:
    if positional:
        return called._replace(args=called.args[:-1])
    at = rng.below(len(called.kwargs))
    return called._replace(kwargs=called.kwargs[:at] + called.kwargs[at + 1 :])
