"""One part of a compound value, by any rule that applies to the part; the rest stays."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.ir.values import NONE, Invocation, Map, Prim, Seq, Slice, Value, prim
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import InvocationRule, SeqRule
from fuzz_core.mutation.rules.boundaries import SMALL_INTEGERS


class NestedArgument(InvocationRule):
    """An object by construction: one of its own arguments is mutated."""

    name = "Nested Argument"

    def change(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """The invocation with one argument mutated."""
        return ctx.rules.argument(invocation, ctx)


class NestedElement(SeqRule):
    """One element of a sequence is mutated."""

    name = "Nested Element"

    def change(self, value: Seq, ctx: Context) -> Value | None:
        """The sequence with one element mutated."""
        at = ctx.rng.below(len(value.items))
        changed = ctx.rules.apply("", value.items[at], ctx)
        return None if changed is None else Seq(value.kind, (*value.items[:at], changed, *value.items[at + 1 :]))


class NestedEntry:
    """One entry of a dictionary is mutated; its key is its argument name."""

    name = "Nested Entry"
    kind = "beyond"

    def applies(self, value: Value) -> bool:
        """True for dictionaries that hold something."""
        return isinstance(value, Map) and bool(value.entries)

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """The dictionary with one entry mutated."""
        if not isinstance(value, Map):
            return None
        at = ctx.rng.below(len(value.entries))
        key, old = value.entries[at]
        changed = ctx.rules.apply("", old, ctx._replace(argument=key))
        return None if changed is None else Map((*value.entries[:at], (key, changed), *value.entries[at + 1 :]))

    def examples(self) -> Sequence[Value]:
        """A dictionary of two."""
        return (Map((("p", prim(0.5)), ("size", prim(2)))),)


class SlicePart:
    """Start, stop or step of a slice becomes a small integer or None."""

    name = "Slice Part"
    kind = "beyond"

    def applies(self, value: Value) -> bool:
        """True for slices."""
        return isinstance(value, Slice)

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """The slice with one part changed."""
        parts = list(value)
        parts[ctx.rng.below(3)] = NONE if ctx.rng.chance(0.2) else Prim("int", ctx.rng.choice(SMALL_INTEGERS))
        return Slice(*parts)  # type: ignore[arg-type]

    def examples(self) -> Sequence[Value]:
        """A full and an open slice."""
        return (Slice(prim(0), prim(4), prim(2)), Slice(NONE, NONE, NONE))
