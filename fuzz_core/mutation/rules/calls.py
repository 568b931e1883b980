"""Rules that see the whole call: what several arguments must agree on is changed in all of them, or in one alone."""

from __future__ import annotations

from collections.abc import Callable

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.fuzztype import arguments
from fuzz_core.ir.parts import tensors_of
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Tensor, Value
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import InvocationRule
from fuzz_core.mutation.rules.tensors import COMMON_DTYPES, cast, other_dtype, random_size, reshaped
from fuzz_core.mutation.slots import with_arguments

SAME_KIND_SHARE = 0.6
POSITIONAL_SHARE = 0.25

Pairs = tuple[tuple[str, Value], ...]


def rewritten(value: Value, leaf: Callable[[Value], Value]) -> Value:
    """The value with every leaf (all but sequences, dictionaries and objects) replaced, from left to right."""
    if isinstance(value, Seq):
        return Seq(value.kind, tuple(rewritten(item, leaf) for item in value.items))
    if isinstance(value, Map):
        return Map(tuple((key, rewritten(item, leaf)) for key, item in value.entries))
    return rewritten_call(value, leaf) if isinstance(value, Invocation) else leaf(value)


def rewritten_call(invocation: Invocation, leaf: Callable[[Value], Value]) -> Invocation:
    """`rewritten` for an invocation."""
    return with_arguments(invocation, [rewritten(item, leaf) for *_, item in arguments(invocation)])


def _dtype_near(ctx: Context, dtype: str) -> str:
    if ctx.rng.chance(SAME_KIND_SHARE):
        kind = DTYPES[dtype].kind
        near = [name for name in COMMON_DTYPES if DTYPES[name].kind == kind and name != dtype]
        if near:
            return ctx.rng.choice(near)
    return other_dtype(ctx.rng, dtype)


class MixedDtypes(InvocationRule):
    """One tensor of several takes another dtype while the others stay: promotion, and kernels that forget it."""

    name = "Mixed Dtypes"

    def change(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """The call with one tensor cast; None where there are not two."""
        tensors = list(tensors_of(invocation))
        if len(tensors) < 2:
            return None
        chosen = ctx.rng.below(len(tensors))
        dtype = _dtype_near(ctx, tensors[chosen].dtype)
        left = iter(range(len(tensors)))

        def leaf(value: Value) -> Value:
            return cast(value, dtype) if isinstance(value, Tensor) and next(left) == chosen else value

        return rewritten_call(invocation, leaf)


class JointDtype(InvocationRule):
    """All tensors (and dtype arguments) of one dtype take another one together, so that they still agree."""

    name = "Joint Dtype"

    def change(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """The call in another dtype; None where it has no tensor."""
        tensors = list(tensors_of(invocation))
        if not tensors:
            return None
        old = ctx.rng.choice(tensors).dtype
        new = _dtype_near(ctx, old)

        def leaf(value: Value) -> Value:
            if isinstance(value, Tensor) and value.dtype == old:
                return cast(value, new)
            return Ref("dtype", new) if value == Ref("dtype", old) else value

        return rewritten_call(invocation, leaf)


class JointDimension(InvocationRule):
    """Every dimension of one size, and every int equal to it, takes another size, so that shapes still agree."""

    name = "Joint Dimension"

    def change(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """The call at another size; None where no tensor has dimensions."""
        sizes = [size for tensor in tensors_of(invocation) for size in tensor.shape]
        if not sizes:
            return None
        old, new = ctx.rng.choice(sizes), random_size(ctx.rng)
        # Ones and zeros are mostly flags, axes and defaults, not sizes.
        number = Prim("int", old) if old > 1 else None

        def leaf(value: Value) -> Value:
            if isinstance(value, Tensor) and old in value.shape:
                return reshaped(value, [new if size == old else size for size in value.shape])
            return Prim("int", new) if value == number else value

        return rewritten_call(invocation, leaf)


class DropArgument(InvocationRule):
    """One keyword is left to its default; one time in four, the last positional argument, which may be required."""

    name = "Drop Argument"

    def change(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """The call with one argument less; None where it has none to drop."""
        then = invocation.then
        positional = ctx.rng.chance(POSITIONAL_SHARE)
        if then is not None and (then.args if positional else then.kwargs) and ctx.rng.chance(0.5):
            args, kwargs = _dropped(then.args, then.kwargs, positional, ctx)
            return invocation._replace(then=then._replace(args=args, kwargs=kwargs))
        if not (invocation.args if positional else invocation.kwargs):
            return None
        args, kwargs = _dropped(invocation.args, invocation.kwargs, positional, ctx)
        return invocation._replace(args=args, kwargs=kwargs)


def _dropped(args: tuple[Value, ...], kwargs: Pairs, positional: bool, ctx: Context) -> tuple[tuple[Value, ...], Pairs]:
    if positional:
        return args[:-1], kwargs
    at = ctx.rng.below(len(kwargs))
    return args, kwargs[:at] + kwargs[at + 1 :]
