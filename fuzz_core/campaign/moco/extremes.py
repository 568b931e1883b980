"""Extreme values: mutants of a block that works, by the mutation rules of single calls, outside of the tree.

MoCo (2024) has no such values. They are judged on the block alone and have no place in any program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzz_core.ir.rng import Rng, derive
from fuzz_core.ir.tree import argument_names, children, with_children
from fuzz_core.ir.values import Invocation, Prim, Seq, TestCase, Value
from fuzz_core.modelgen.moco.block_test import described
from fuzz_core.modelgen.moco.calls import parameters
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.mutation.contract import EDGE, Context
from fuzz_core.mutation.registry import STRIDED_ONLY, RuleBook
from fuzz_core.mutation.space import ArgumentSpace

# Most of the time that a tree may spend on extreme values.
SHARE = 0.3
# How often a rule is drawn for a value that this tree has not had.
TRIES = 8
# Rules whose values are extreme. The second half is for what a layer is called with.
RULES = (
    *("Boundary Integer", "Boundary Float", "None for Optional", "Empty Sequence", "Nested Element"),
    *("Empty Dimension", "Resized Dimension", "Scalar Tensor", "Tensor Dim Mutation", "Tensor Dtype Mutation"),
    *("NaN Contents", "Infinity Contents", "Minus One Contents", "Large Index Contents", "Extreme Contents"),
)
Public = Callable[[str], str | None]


class Mutations:
    """Makes mutants of blocks' test cases: one argument or input by one rule, no value of a parameter twice.

    Args:
        public: see `modelgen.moco.block_test.as_test`.
    """

    def __init__(self, public: Public) -> None:
        self._public = public
        # A nested element gets a value of the same type and layout: there are no recorded values to replace it with.
        self._book = RuleBook({}, ("database", "type", EDGE, *STRIDED_ONLY))
        every = RuleBook({}).rules
        self._rules = [every[name] for name in RULES]
        self._done = set[tuple[str, str, Value | str]]()

    def mutant(self, test: TestCase, facts: Facts, number: int) -> TestCase | None:
        """Return a mutant of a test case, or None if TRIES draws give no value that is new.

        The defaults of the api are written out, so that rules reach them. Other numbers give other mutants.
        """
        positional = [each.name for each in facts.parameters if each.positional]
        call = self._spelled(test.invocation, facts, positional)
        values, seed = list(children(call)), derive(test.seed, "extreme", number)
        names, rng = argument_names(call, {call.api: positional}), Rng(seed)
        for _ in range(TRIES if values else 0):
            place = rng.below(len(values))
            rules = [rule for rule in self._rules if rule.domain.applies(values[place])]
            if not rules:
                continue
            rule = rng.choice(rules)
            space = ArgumentSpace({}, (), {}, {})
            made = rule.mutate(values[place], Context(rng, call.api, names[place], space, self._book))
            key = (call.api, names[place], made if isinstance(made, Prim | Seq) else rule.name)
            if made is not None and made != values[place] and key not in self._done:
                self._done.add(key)
                changed = with_children(call, [*values[:place], made, *values[place + 1 :]])
                return TestCase(changed, seed & 0x7FFFFFFF, rules=(rule.name,))
        return None

    def _spelled(self, call: Invocation, facts: Facts, positional: Sequence[str]) -> Invocation:
        given = {*positional[: len(call.args)], *(name for name, _ in call.kwargs)}
        added = [
            (each.name, value)
            for each in parameters(facts)
            if each.name not in given and not each.name.startswith("_") and each.default is not None
            if (value := described(each.default, self._public)) is not None
        ]
        return call._replace(kwargs=(*call.kwargs, *added))


class Allowance:
    """Keeps extreme values to SHARE of what a tree spends: seconds of a time-box, else executions."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.extreme = 0.0

    def spend(self, amount: float, extreme: bool = False) -> None:
        """Count an execution."""
        self.spent += amount
        self.extreme += amount if extreme else 0.0

    @property
    def is_left(self) -> bool:
        """Return whether one more extreme value may be executed."""
        return self.extreme < SHARE * self.spent
