"""Which rules apply to which FuzzType, looked up once each, and how one of them is tried."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from fuzz_core.ir.fuzztype import arguments, fuzz_type
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Invocation, Value
from fuzz_core.mutation.changed import Changed
from fuzz_core.mutation.contract import KINDS, Context
from fuzz_core.mutation.registry import CALL_MUTATORS, MUTATORS, check_off, load_mutators
from fuzz_core.mutation.slots import Params, argument_names, with_arguments

MAX_TRIES = 3
REDRAW = "Redrawn Contents"
MAX_CACHED_TYPES = 4096


class Choices(NamedTuple):
    """The rules that apply to one FuzzType, by kind."""

    type: tuple[Changed, ...]
    random: tuple[Changed, ...]
    database: tuple[Changed, ...]
    beyond: tuple[Changed, ...]


class Favourite(NamedTuple):
    """One rule, and the place of its kind in `Choices`."""

    rule: Changed
    kind: int


def try_rules(rules: Sequence[Changed], value: Value, ctx: Context) -> tuple[Value, str] | None:
    """A rule at random, or one of the two behind it where it finds nothing: the new value and the rule's name."""
    count = len(rules)
    if not count:
        return None
    at = int(ctx.rng.random() * count)
    for _ in range(count if count < MAX_TRIES else MAX_TRIES):
        rule = rules[at]
        made = rule.mutate(value, ctx)
        if made is not None:
            return made, rule.name
        at = at + 1 if at + 1 < count else 0
    return None


class RuleBook:
    """All rules that are on. Implements `contract.Rules` for those that reach into a value's parts.

    off: names or kinds of rules to leave out; raises UserError for an unknown one. params: see `slots.argument_names`.
    """

    def __init__(self, params: Params, off: Collection[str] = ()) -> None:
        check_off(off)
        self.params = params
        self.calls = tuple([Changed(mutator) for mutator in load_mutators(CALL_MUTATORS, off)])
        self._rules = [Changed(mutator) for mutator in load_mutators(MUTATORS, off)]
        self.redraw = next((rule for rule in self._rules if rule.name == REDRAW), None)
        self._choices: dict[str, Choices] = {}
        self._favourites = {rule.name: Favourite(rule, KINDS.index(rule.kind)) for rule in self._rules}

    def rule(self, name: str) -> Favourite | None:
        """A rule for arguments by name; None for any other name."""
        return self._favourites.get(name)

    def choices(self, value: Value) -> Choices:
        """The rules that apply to values of this FuzzType."""
        text = fuzz_type(value)
        found = self._choices.get(text)
        if found is None:
            if len(self._choices) >= MAX_CACHED_TYPES:
                self._choices.clear()
            found = self._choices[text] = self._compiled(value)
        return found

    def _compiled(self, value: Value) -> Choices:
        applying = [rule for rule in self._rules if rule.applies(value)]
        return Choices(*(tuple([rule for rule in applying if rule.kind == kind]) for kind in KINDS))

    def apply(self, kind: str, value: Value, ctx: Context) -> Value | None:
        """See `contract.Rules`."""
        choices = self.choices(value)
        made = try_rules(getattr(choices, kind) if kind else _any_kind(choices, ctx.rng), value, ctx)
        return None if made is None else made[0]

    def argument(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """See `contract.Rules`."""
        values = [value for *_, value in arguments(invocation)]
        if not values:
            return None
        at = ctx.rng.below(len(values))
        name = argument_names(invocation, self.params)[at]
        made = self.apply("", values[at], Context(ctx.rng, invocation.api, name, ctx.space, self))
        if made is None:
            return None
        values[at] = made
        return with_arguments(invocation, values)


def _any_kind(choices: Choices, rng: Rng) -> tuple[Changed, ...]:
    present = [rules for rules in choices if rules]
    return rng.choice(present) if present else ()
