"""The contract of mutators: one argument's value in, another value out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Invocation, Value

KINDS = ("type", "random", "database", "beyond")
MAX_ELEMENTS = 1 << 20


class ValueSource(Protocol):
    """The argument value space, as database rules see it."""

    def pick(self, rng: Rng, api: str, argument: str, fuzz_type: str) -> Value | None:
        """A value seen for this argument name and FuzzType in an api sampled by similarity (lines 20 to 25).

        An empty `argument` or `fuzz_type` stands for any.
        """

    def pick_tensor(self, rng: Rng, rank: int, dtype: str) -> Value | None:
        """A tensor seen anywhere with this rank and dtype (`pick_shape` and `pick_value` of table 2)."""


class Rules(Protocol):
    """The rules that are switched on, for those that reach into a value's parts."""

    def apply(self, kind: str, value: Value, ctx: Context) -> Value | None:
        """The value after one rule of the kind (empty: of any kind); None where none changes it."""

    def argument(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """The invocation after one rule on one of its own arguments; None where none changes it."""


class NoRules:
    """A `Rules` that holds nothing."""

    def apply(self, kind: str, value: Value, ctx: Context) -> Value | None:
        """None, always."""
        return None

    def argument(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """None, always."""
        return None


class Context(NamedTuple):
    """What a mutator may use: its random stream, where the value stands, the argument value space, the other rules."""

    rng: Rng
    api: str
    argument: str
    space: ValueSource
    rules: Rules = NoRules()


class Mutator(Protocol):
    """One mutation rule. Pure: all randomness comes from `ctx.rng`; no tensor of more than MAX_ELEMENTS is made.

    name: the paper's name. kind: `type`, `random` and `database` are the paper's three (tables 1 and 2), each of
    which its ablation switches off; `beyond` are ours.
    """

    name: str
    kind: str

    def applies(self, value: Value) -> bool:
        """Whether the rule can say anything about a value of this FuzzType (and of nothing but its FuzzType)."""

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """Another value, or None where the rule finds none. May return an equal value; a wrapper drops those."""

    def examples(self) -> Sequence[Value]:
        """Values it applies to, for the generic tests that every mutator passes."""
