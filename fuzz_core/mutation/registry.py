"""All mutators, those that are switched on, and which of them apply to a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.tree import Params, argument_names, children, fuzz_type, with_children
from fuzz_core.ir.values import Invocation, Value
from fuzz_core.mutation.changed import drop_unchanged
from fuzz_core.mutation.contract import KINDS, Context, Mutator
from fuzz_core.mutation.rules import calls, layout, paper, values

MAX_TRIES = 3
MAX_CACHED_TYPES = 4096


# A rule's place in these files is its place in the draw order.
_ALL = {
    made.name: made
    for file in (paper, values, layout, calls)
    for made in vars(file).values()
    if isinstance(made, Mutator)
}
MUTATORS = {name: made for name, made in _ALL.items() if made.domain.scope != "call"}
CALL_MUTATORS = {name: made for name, made in _ALL.items() if made.domain.scope == "call"}
# What has no meaning for a library whose tensors know neither strides nor requires_grad.
STRIDED_ONLY = tuple(name for name, made in _ALL.items() if made.domain.scope == "strided")


def load_mutators(table: Mapping[str, Mutator], off: Collection[str] = ()) -> list[Mutator]:
    """The rules of a table, in its order, without those that are off by name or by kind."""
    return [made for made in table.values() if made.name not in off and made.kind not in off]


def check_off(off: Collection[str]) -> None:
    """Raises UserError where `off` holds what is neither a rule nor a kind."""
    for name in off:
        if name not in KINDS and name not in _ALL:
            raise UserError(f"unknown mutation rule {name!r}", f"choose a kind ({', '.join(KINDS)}) or a rule's name")


class Choices(NamedTuple):
    """The rules that apply to one FuzzType, by kind."""

    type: tuple[Mutator, ...]
    random: tuple[Mutator, ...]
    database: tuple[Mutator, ...]
    beyond: tuple[Mutator, ...]


def try_rules(rules: Sequence[Mutator], value: Value, ctx: Context, applied: list[str]) -> Value | None:
    """The value after a rule at random, or after one of the two behind it where it finds nothing; None after neither.

    The rule's name is appended to `applied`.
    """
    count = len(rules)
    if not count:
        return None
    at = int(ctx.rng.random() * count)
    for _ in range(count if count < MAX_TRIES else MAX_TRIES):
        rule = rules[at]
        made = rule.mutate(value, ctx)
        if made is not None:
            applied.append(rule.name)
            return made
        at = at + 1 if at + 1 < count else 0
    return None


class RuleBook:
    """All rules that are on. Implements `contract.Rules` for those that reach into a value's parts.

    off: names or kinds of rules to leave out; raises UserError for an unknown one. params: see `argument_names`.
    rules: those for arguments, by name. calls: those for the whole call.
    """

    def __init__(self, params: Params, off: Collection[str] = ()) -> None:
        check_off(off)
        self.params = params
        self.calls = tuple(map(drop_unchanged, load_mutators(CALL_MUTATORS, off)))
        self.rules = {rule.name: drop_unchanged(rule) for rule in load_mutators(MUTATORS, off)}
        self._choices: dict[str, Choices] = {}

    def choices(self, value: Value) -> Choices:
        """The rules that apply to values of this FuzzType, looked up once each."""
        text = fuzz_type(value)
        found = self._choices.get(text)
        if found is None:
            if len(self._choices) >= MAX_CACHED_TYPES:
                self._choices.clear()
            applying = [rule for rule in self.rules.values() if rule.domain.applies(value)]
            by_kind = (tuple([rule for rule in applying if rule.kind == kind]) for kind in KINDS)
            found = self._choices[text] = Choices(*by_kind)
        return found

    def apply(self, kind: str, value: Value, ctx: Context) -> Value | None:
        """See `contract.Rules`."""
        choices = self.choices(value)
        if kind:
            rules = getattr(choices, kind)
        else:
            present = [rules for rules in choices if rules]
            rules = ctx.rng.choice(present) if present else ()
        return try_rules(rules, value, ctx, [])

    def argument(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """See `contract.Rules`."""
        values = list(children(invocation))
        if not values:
            return None
        at = ctx.rng.below(len(values))
        name = argument_names(invocation, self.params)[at]
        made = self.apply("", values[at], Context(ctx.rng, invocation.api, name, ctx.space, self))
        if made is None:
            return None
        values[at] = made
        return with_children(invocation, values)
