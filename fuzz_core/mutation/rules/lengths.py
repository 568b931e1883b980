"""Sequences that are longer, shorter or empty."""

from __future__ import annotations

from fuzz_core.ir.values import Prim, Seq, Value
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import SeqRule

MAX_LENGTH = 64
_APPENDED = (Prim("int", 1), Prim("int", 0), Prim("int", -1))


class DropElement(SeqRule):
    """One element less."""

    name = "Drop Element"

    def change(self, value: Seq, ctx: Context) -> Seq:
        """The sequence without one of its elements."""
        at = ctx.rng.below(len(value.items))
        return Seq(value.kind, value.items[:at] + value.items[at + 1 :])


class DuplicateElement(SeqRule):
    """One element twice."""

    name = "Duplicate Element"

    def change(self, value: Seq, ctx: Context) -> Value | None:
        """The sequence with one of its elements repeated; None where it is long already."""
        if len(value.items) >= MAX_LENGTH:
            return None
        at = ctx.rng.below(len(value.items))
        return Seq(value.kind, value.items[: at + 1] + value.items[at:])


class AppendElement(SeqRule):
    """One element more: a small int, or a mutated copy of an element."""

    name = "Append Element"
    may_be_empty = True

    def change(self, value: Seq, ctx: Context) -> Value | None:
        """The sequence with another element at its end; None where it is long already."""
        if len(value.items) >= MAX_LENGTH:
            return None
        added = None
        if value.items and ctx.rng.chance(0.5):
            added = ctx.rules.apply("", ctx.rng.choice(value.items), ctx)
        return Seq(value.kind, (*value.items, ctx.rng.choice(_APPENDED) if added is None else added))


class EmptySequence(SeqRule):
    """Nothing in it."""

    name = "Empty Sequence"

    def change(self, value: Seq, ctx: Context) -> Seq:
        """The empty sequence of the same kind."""
        return Seq(value.kind, ())
