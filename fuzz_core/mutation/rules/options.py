"""Arguments that choose: None, dtypes, strings, flags, and what other calls gave for the same argument."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.ir.fuzztype import fuzz_type
from fuzz_core.ir.values import NONE, Map, Prim, Ref, Seq, Slice, Tensor, Value, prim
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import CALLS, FLOATING, MATRIX, VOLUME, PrimRule, TensorRule
from fuzz_core.mutation.rules.database import seen_value
from fuzz_core.mutation.rules.tensors import other_dtype, within_cap

UNPROVEN_NONE_SHARE = 0.25
DTYPE = Ref("dtype", "float32")
_OTHERS: tuple[Value, ...] = (NONE, prim(True), prim(1j), DTYPE, Map((("a", prim(1)),)), Slice(prim(0), NONE, NONE))


class NoneForOptional:
    """None in place of anything: always where a call gave None for the argument, else one time in four."""

    name = "None for Optional"
    kind = "beyond"

    def applies(self, value: Value) -> bool:
        """True for everything but None."""
        return value != NONE

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """None, or nothing where the argument does not look optional."""
        optional = ctx.space.pick(ctx.rng, ctx.api, ctx.argument, "none") is not None
        return NONE if optional or ctx.rng.chance(UNPROVEN_NONE_SHARE) else None

    def examples(self) -> Sequence[Value]:
        """A value of each sort."""
        return (MATRIX, prim(3), DTYPE, *CALLS)


class RequiresGrad(TensorRule):
    """requires_grad flipped, for dtypes that have gradients."""

    name = "Requires Grad"
    dtype_kinds = FLOATING
    containers = ("tensor", "parameter")

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """The same tensor, the flag flipped."""
        return tensor._replace(requires_grad=not tensor.requires_grad)


class OtherDtype:
    """A dtype argument names another dtype."""

    name = "Other Dtype"
    kind = "beyond"

    def applies(self, value: Value) -> bool:
        """True for dtypes."""
        return isinstance(value, Ref) and value.kind == "dtype"

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """Another dtype."""
        return Ref("dtype", other_dtype(ctx.rng, value.name)) if isinstance(value, Ref) else None

    def examples(self) -> Sequence[Value]:
        """A common and a rare dtype."""
        return (DTYPE, Ref("dtype", "complex32"))


class DamagedString(PrimRule):
    """A string with one character dropped, doubled or in the other case, cut to nothing, or with a tail."""

    name = "Damaged String"
    types = ("str",)

    def change(self, value: Prim, ctx: Context) -> Prim:
        """A string close to the old one."""
        text = str(value.value)
        at = ctx.rng.below(max(1, len(text)))
        one = text[at : at + 1]
        replacement = ctx.rng.choice(("", one + one, one.swapcase(), one + "_"))
        return Prim("str", "" if ctx.rng.chance(0.2) else text[:at] + replacement + text[at + 1 :])


class StringFromElsewhere(PrimRule):
    """A string that was seen for any argument of any api."""

    name = "String from Elsewhere"
    types = ("str",)

    def change(self, value: Prim, ctx: Context) -> Value | None:
        """A seen string."""
        return ctx.space.pick(ctx.rng, ctx.api, "", "str")


class SameTypeElsewhere:
    """A value of the same FuzzType seen for the argument name, for the FuzzTypes that table 2 leaves out."""

    name = "Same Type Elsewhere"
    kind = "beyond"

    def applies(self, value: Value) -> bool:
        """True for bools, complex numbers, bytes, sets, dictionaries, slices, dtypes, names and objects."""
        if isinstance(value, Prim):
            return value.type in ("bool", "complex", "bytes")
        return not isinstance(value, (Seq, Tensor)) or (isinstance(value, Seq) and value.kind == "set")

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """A seen value of the same FuzzType."""
        return seen_value(value, ctx)

    def examples(self) -> Sequence[Value]:
        """A value of each sort."""
        return [value for value in (*_OTHERS, *CALLS) if self.applies(value)]


class OtherTypeElsewhere:
    """A value of another FuzzType seen for the argument name: a tensor for None, a pair for an int."""

    name = "Other Type Elsewhere"
    kind = "beyond"

    def applies(self, value: Value) -> bool:
        """True for everything."""
        return True

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """A seen value of another FuzzType."""
        found = ctx.space.pick(ctx.rng, ctx.api, ctx.argument, "")
        if found is None or not within_cap(found) or fuzz_type(found) == fuzz_type(value):
            return None
        return found

    def examples(self) -> Sequence[Value]:
        """A value of each sort."""
        return (MATRIX, VOLUME, *_OTHERS, *CALLS)
