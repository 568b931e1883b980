"""Algorithm 1 of the FreeFuzz paper (section 3.3), with the rules beyond the paper as a further choice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from fuzz_core.ir.rng import Rng
from fuzz_core.ir.tree import Params, argument_names, children, tensors_of, with_children
from fuzz_core.ir.values import Invocation, Tensor, TestCase, Value
from fuzz_core.mutation.contract import Context, ValueSource
from fuzz_core.mutation.registry import Choices, RuleBook, try_rules
from fuzz_core.mutation.space import ArgumentSpace

# Every further mutation halves a mutant's chance to be valid. So most mutants get few mutations; this share gets a
# uniform number.
UNIFORM_SHARE = 0.1
CONTINUE_SHARE = 0.4
# An invocation soon has no new mutants with few mutations. So later mutants of it get more, also of one argument.
LATER_CONTINUE_SHARE = 0.85
LATER_EXTRA = 3
EARLY_PER_SLOT = 10
# The least share of mutants with new elements in one tensor: invocations of one api often share theirs.
REDRAWN_SHARE = 0.8
# A call without tensors can only lose an argument as a whole.
SHARE_WITHOUT_TENSORS = 0.3
MAX_PLANS = 1 << 15
# How often a choice that the paper leaves open falls on each side.
TYPE_SHARE = 0.25  # doTypeMutation of line 11
RANDOM_SHARE = 0.5  # random against database values, selectRandOverDB of line 13
BEYOND_SHARE = 0.4  # mutations by a rule beyond the paper
EDGE_SHARE = 0.05  # mutations by a rule of the kind `edge`
CALL_SHARE = 0.2  # cases that end with a rule for the whole call
REDRAW = "Redrawn Contents"


class ArgumentSlot(NamedTuple):
    """An argument that can be mutated: where its value stands in the row, its name, and its rules."""

    place: int
    name: str
    choices: Choices


class MutationPlan(NamedTuple):
    """The facts that every case of one invocation shares."""

    invocation: Invocation
    values: tuple[Value, ...]
    slots: tuple[ArgumentSlot, ...]
    drawn: tuple[ArgumentSlot, ...]  # the slots that hold tensors whose elements can be redrawn
    tensors: bool  # whether there are any, nested ones too


class Algorithm1:
    """Makes test cases: `case` is a function of its arguments and of the seed alone.

    Args:
        params: names of the positional parameters by api.
        space: the argument value space.
        off: names or kinds of rules that are switched off. The kinds are `type`, `random`, `database` (the paper's
            ablations), `beyond` and `edge`. If `database` is off, no rule sees the space.
        few: whether few arguments are mutated most of the time. Otherwise the number is uniform, as in line 5.
        forms: see `Dialect.forms`.

    Raises:
        UserError: an unknown name in `off`.
    """

    def __init__(
        self,
        params: Params,
        space: ValueSource,
        off: Collection[str] = (),
        few: bool = True,
        forms: Mapping[str, Invocation] = MappingProxyType({}),
    ) -> None:
        self._params = params
        self._few = few
        self._space = ArgumentSpace({}, (), {}, {}) if "database" in off else space
        self._book = RuleBook(params, off, forms)
        self._plans: dict[int, MutationPlan] = {}

    def case(self, invocation: Invocation, origin: int, seed: int, earlier: int = 0) -> TestCase:
        """Return a mutant of the invocation whose id is `origin`; the invocation itself where every rule is off.

        Args:
            earlier: how many mutants of it were made before; the more, the more mutations.
        """
        plan = self._plans.get(origin)
        if plan is None or (plan.invocation is not invocation and plan.invocation != invocation):
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            plan = self._plans[origin] = self._compile(invocation)
        if not plan.slots and not self._book.calls:
            return TestCase(invocation, seed, origin)
        rng = Rng(seed)
        applied: list[str] = []
        share = CALL_SHARE * (1 if plan.tensors else SHARE_WITHOUT_TENSORS)
        whole = bool(self._book.calls) and rng.random() < share
        age = earlier / (earlier + EARLY_PER_SLOT * (len(plan.slots) + 1))
        made = self._mutate_arguments(plan, rng, applied, int(whole), age)
        if whole:
            ctx = Context(rng, made.api, "", self._space, self._book, made)
            changed = try_rules(self._book.calls, made, ctx, applied)
            made = changed if isinstance(changed, Invocation) else made
            if not applied:
                made = self._mutate_arguments(plan, rng, applied, 0, age)
        return TestCase(made, seed, origin, tuple(applied))

    def _compile(self, invocation: Invocation) -> MutationPlan:
        values = children(invocation)
        names = argument_names(invocation, self._params)
        slots = [ArgumentSlot(index, names[index], self._book.choices(value)) for index, value in enumerate(values)]
        redraw = self._book.rules.get(REDRAW)
        drawn = [slot for slot in slots if redraw is not None and redraw.domain.applies(values[slot.place])]
        mutable = [slot for slot in slots if any(slot.choices.values())]
        tensors = next(tensors_of(invocation), None) is not None
        return MutationPlan(invocation, values, tuple(mutable), tuple(drawn), tensors)

    def _mutate_arguments(self, plan: MutationPlan, rng: Rng, applied: list[str], done: int, age: float) -> Invocation:
        """Mutate `numMutation` arguments (lines 4 to 18).

        Args:
            done: mutations that the whole call already has.
        """
        slots = plan.slots
        wanted = self._count(len(slots), rng, age) - done if slots else 0
        if wanted <= 0:
            return plan.invocation
        values = list(plan.values)
        # A rule may find no value. As many further tries keep a mutant from being the original.
        for _ in range(2 * wanted + 2):
            slot = slots[int(rng.random() * len(slots))]
            changed = self._mutate_slot(plan, slot, values[slot.place], rng, applied)
            if changed is not None:
                values[slot.place] = changed
                wanted -= 1
                if not wanted:
                    break
        if plan.drawn and rng.random() < max(age, REDRAWN_SHARE):
            self._redraw(plan, values, rng, applied)
        return with_children(plan.invocation, values) if applied else plan.invocation

    def _redraw(self, plan: MutationPlan, values: list[Value], rng: Rng, applied: list[str]) -> None:
        """Give new elements to a tensor that no rule has touched: the cheapest way not to repeat a test."""
        slot = plan.drawn[int(rng.random() * len(plan.drawn))]
        value, before = values[slot.place], plan.values[slot.place]
        if isinstance(value, Tensor) and isinstance(before, Tensor) and value.fill is before.fill:
            ctx = Context(rng, plan.invocation.api, slot.name, self._space, self._book, plan.invocation)
            changed = try_rules((self._book.rules[REDRAW],), value, ctx, applied)
            values[slot.place] = value if changed is None else changed

    def _count(self, limit: int, rng: Rng, age: float) -> int:
        """Return `numMutation` of line 5: 1 to limit, and beyond it for an invocation that has been mutated often."""
        if not self._few or rng.random() < UNIFORM_SHARE:
            return 1 + int(rng.random() * limit)
        limit += int(age * (LATER_EXTRA + 1))
        go_on = CONTINUE_SHARE + age * (LATER_CONTINUE_SHARE - CONTINUE_SHARE)
        count = 1
        while count < limit and rng.random() < go_on:
            count += 1
        return count

    def _mutate_slot(
        self, plan: MutationPlan, slot: ArgumentSlot, value: Value, rng: Rng, applied: list[str]
    ) -> Value | None:
        """Return the new value of one argument (lines 8 to 17), or None if no rule changed it."""
        choices = slot.choices if value is plan.values[slot.place] else self._book.choices(value)
        ctx = Context(rng, plan.invocation.api, slot.name, self._space, self._book, plan.invocation)
        of_type, of_random, of_database, of_beyond, of_edge = choices.values()
        usual = of_type or of_random or of_database or of_beyond
        if of_edge and (rng.random() < EDGE_SHARE or not usual):
            return try_rules(of_edge, value, ctx, applied)
        if of_beyond and (rng.random() < BEYOND_SHARE or not (of_type or of_random or of_database)):
            return try_rules(of_beyond, value, ctx, applied)
        changed = None
        if of_type and (rng.random() < TYPE_SHARE or not (of_random or of_database)):
            changed = try_rules(of_type, value, ctx, applied)
            if changed is not None:
                value = changed
                _, of_random, of_database, *_ = self._book.choices(value).values()
        randomly = rng.random() < RANDOM_SHARE
        for rules in (of_random, of_database) if randomly else (of_database, of_random):
            made = try_rules(rules, value, ctx, applied)
            if made is not None:
                return made
        return changed
