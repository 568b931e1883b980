"""The mutators, the subset that is switched on, and the choice of those that apply to a value."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.tree import Params, fuzz_type
from fuzz_core.ir.values import Invocation, Prim, Tensor, Value
from fuzz_core.mutation.contract import EDGE, KINDS, Context, Mutator
from fuzz_core.mutation.rules import calls, edges, layout, paper, values

MAX_TRIES = 3
MAX_CACHED_TYPES = 4096


# A rule's place in these files is its place in the draw order.
_ALL = {
    made.name: made
    for file in (paper, values, layout, calls, edges)
    for made in vars(file).values()
    if isinstance(made, Mutator)
}
MUTATORS = {name: made for name, made in _ALL.items() if made.domain.scope != "call"}
CALL_MUTATORS = {name: made for name, made in _ALL.items() if made.domain.scope == "call"}
# Rules that have no meaning for a library whose tensors have neither strides nor requires_grad.
STRIDED_ONLY = tuple(name for name, made in _ALL.items() if made.domain.scope == "strided")


def load_mutators(table: Mapping[str, Mutator], off: Collection[str] = ()) -> list[Mutator]:
    """Return the rules of a table, in its order, without those that are off by name or by kind."""
    return [made for made in table.values() if made.name not in off and made.kind not in off]


def check_off(off: Collection[str]) -> None:
    """Raise UserError where `off` holds what is neither a rule nor a kind."""
    for name in off:
        if name not in KINDS and name not in _ALL:
            near = get_close_matches(name, [*KINDS, *_ALL], n=3)
            said = f"; the nearest names: {', '.join(near)}" if near else ""
            raise UserError(
                f"disable: unknown mutation rule {name!r}",
                f"write a kind ({', '.join(KINDS)}) or the name of a rule{said}",
            )


# The rules that apply to one FuzzType, by kind.
Choices = Mapping[str, tuple[Mutator, ...]]


def drop_unchanged(mutator: Mutator) -> Mutator:
    """Return the mutator with None in place of a value that describes the same as the one that it was given."""
    mutate = mutator.mutate

    def changed(value: Value, ctx: Context) -> Value | None:
        made = mutate(value, ctx)
        return None if made is None or same(made, value) else made

    return mutator._replace(mutate=changed)


def same(one: Value, other: Value) -> bool:
    """Return whether two values describe the same, see `identity`."""
    if one is other:
        return True
    # Keys of large contents are dear: they are compared for values that are equal, or hold NaN.
    return type(one) is type(other) and (one == other or _holds_nan(one)) and identity(one) == identity(other)


def identity(part: object) -> object:
    """Return a key that is equal for values that describe the same: 0.0 and -0.0 do not, two NaN do.

    The key has the bits of floats: some libraries have the processor take denormals for zeros, and a mutant has to be
    the same in all processes.
    """
    match part:
        case float():
            return "nan" if math.isnan(part) else struct.pack("<d", part)
        case complex():
            return "complex", identity(part.real), identity(part.imag)
        case bytes():
            return hash(part)
        case tuple():
            return type(part).__name__, *map(identity, part)
    return repr(part)


def _holds_nan(value: Value) -> bool:
    # A NaN alone is unequal to itself.
    if isinstance(value, Tensor):
        special, low = value.fill.special, value.fill.low
        return special != special or low != low
    return isinstance(value, Prim) and value.value != value.value


def try_rules(rules: Sequence[Mutator], value: Value, ctx: Context, applied: list[str]) -> Value | None:
    """Return the value after a rule at random.

    If it finds no value, two more rules are tried; None if these fail too.

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
    """The rules that are switched on.

    Attributes:
        off: names or kinds of rules to leave out; raises UserError for an unknown one.
        params: see `argument_names`.
        rules: for arguments, by name.
        calls: for the whole call.
        forms: see `Dialect.forms`.
        boundaries: for the sweep: each choice of one of them is a boundary class.
    """

    def __init__(
        self, params: Params, off: Collection[str] = (), forms: Mapping[str, Invocation] = MappingProxyType({})
    ) -> None:
        check_off(off)
        self.params = params
        self.forms = forms
        self.calls = tuple(drop_unchanged(rule) for rule in load_mutators(CALL_MUTATORS, off) if rule.random)
        self.rules = {rule.name: drop_unchanged(rule) for rule in load_mutators(MUTATORS, off)}
        self.boundaries = tuple(drop_unchanged(rule) for rule in load_mutators(_ALL, off) if rule.boundary)
        self._choices: dict[str, Choices] = {}

    def choices(self, value: Value) -> Choices:
        """Return the rules that apply to values of this FuzzType, looked up once each."""
        text = fuzz_type(value)
        found = self._choices.get(text)
        if found is None:
            if len(self._choices) >= MAX_CACHED_TYPES:
                self._choices.clear()
            applying = [rule for rule in self.rules.values() if rule.domain.applies(value)]
            found = {kind: tuple([rule for rule in applying if rule.kind == kind]) for kind in KINDS}
            self._choices[text] = found
        return found

    def apply(self, kind: str, value: Value, ctx: Context) -> Value | None:
        """Return the value after one rule of the kind (empty: of any kind but `edge`); None where none changes it."""
        choices = self.choices(value)
        if kind:
            return try_rules(choices[kind], value, ctx, [])
        present = [rules for name, rules in choices.items() if rules and name != EDGE]
        return try_rules(ctx.rng.choice(present), value, ctx, []) if present else None
