"""What the rules of one kind of value share: when they apply, and the narrowing of types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.values import Fill, Invocation, Prim, Seq, Tensor, Then, Value, prim
from fuzz_core.mutation.contract import Context

MAX_CHANGED_ITEMS = 16
FLOATING = ("float", "complex")
NUMERIC = ("bool", "uint", "int", "float", "complex")
MATRIX = Tensor("float32", (2, 3))
LABELS = Tensor("int64", (4,), Fill("values", data=bytes(32)))
VOLUME = Tensor("float64", (3, 1, 5), Fill("constant", 2.0), "parameter", (5, 5, 1), True)
CALLS = (
    Invocation("torch.add", (MATRIX, MATRIX), (("alpha", prim(2)),)),
    Invocation("torch.nn.Linear", (prim(3), prim(4)), (("bias", prim(True)),), Then("__call__", (MATRIX,))),
)


class TensorRule(ABC):
    """A rule for tensors of some kinds of dtype, some containers and at least some rank."""

    name: str
    kind = "beyond"
    dtype_kinds: ClassVar[tuple[str, ...]] = (*NUMERIC, "string")
    containers: ClassVar[tuple[str, ...]] = ("tensor", "parameter", "variable", "ndarray")
    least_rank: ClassVar[int] = 0

    def applies(self, value: Value) -> bool:
        """Decided by container, rank and dtype, which is what a tensor's FuzzType holds."""
        return (
            isinstance(value, Tensor)
            and len(value.shape) >= self.least_rank
            and value.container in self.containers
            and DTYPES[value.dtype].kind in self.dtype_kinds
        )

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """Another tensor, or None."""
        return self.change(value, ctx) if isinstance(value, Tensor) else None

    @abstractmethod
    def change(self, tensor: Tensor, ctx: Context) -> Tensor | None:
        """Another tensor, or None."""

    def examples(self) -> Sequence[Value]:
        """Those of the usual tensors that the rule applies to."""
        flags = Tensor("bool", (2, 2))
        return [tensor for tensor in (MATRIX, LABELS, VOLUME, flags) if self.applies(tensor)]


class PrimRule(ABC):
    """A rule for scalars of some types."""

    name: str
    kind = "beyond"
    types: ClassVar[tuple[str, ...]] = ("int", "bool", "float", "str")

    def applies(self, value: Value) -> bool:
        """Decided by the scalar's type."""
        return isinstance(value, Prim) and value.type in self.types

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """Another scalar, or None."""
        return self.change(value, ctx) if isinstance(value, Prim) else None

    @abstractmethod
    def change(self, value: Prim, ctx: Context) -> Value | None:
        """Another value, or None."""

    def examples(self) -> Sequence[Value]:
        """Those of the usual scalars that the rule applies to."""
        numbers = (prim(3), prim(-1), prim(2**40), prim(True), prim(0.5), prim(float("inf")), prim(1 + 2j))
        usual = (*numbers, prim("mean"), prim(""))
        return [value for value in usual if self.applies(value)]


class SeqRule(ABC):
    """A rule for sequences of some kinds."""

    name: str
    kind = "beyond"
    seqs: ClassVar[tuple[str, ...]] = ("list", "tuple", "set")
    may_be_empty: ClassVar[bool] = False

    def applies(self, value: Value) -> bool:
        """Decided by the sequence's kind, and by whether it holds anything."""
        return isinstance(value, Seq) and value.kind in self.seqs and (self.may_be_empty or bool(value.items))

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """Another sequence, or None."""
        return self.change(value, ctx) if isinstance(value, Seq) else None

    @abstractmethod
    def change(self, value: Seq, ctx: Context) -> Value | None:
        """Another value, or None."""

    def examples(self) -> Sequence[Value]:
        """Those of the usual sequences that the rule applies to."""
        inner = Seq("tuple", (prim(0.5), prim("same")))
        usual = [Seq(kind, (prim(1), prim(2))) for kind in ("list", "tuple", "set")]
        usual += [Seq("list", (MATRIX, MATRIX)), Seq("tuple", (inner, LABELS)), Seq("list", (inner,))]
        return [value for value in usual if self.applies(value)]


def change_items(value: Seq, kind: str, ctx: Context) -> Seq:
    """The sequence with a rule of the kind applied to each element; of long ones, to sixteen at random."""
    items = list(value.items)
    count = len(items)
    places = range(count) if count <= MAX_CHANGED_ITEMS else [ctx.rng.below(count) for _ in range(MAX_CHANGED_ITEMS)]
    for place in places:
        changed = ctx.rules.apply(kind, items[place], ctx)
        if changed is not None:
            items[place] = changed
    return Seq(value.kind, tuple(items))


class InvocationRule(ABC):
    """A rule for invocations: objects described by their construction, or the call under test itself."""

    name: str
    kind = "beyond"

    def applies(self, value: Value) -> bool:
        """True for every invocation: its FuzzType tells nothing of its arguments."""
        return isinstance(value, Invocation)

    def mutate(self, value: Value, ctx: Context) -> Value | None:
        """Another invocation, or None."""
        return self.change(value, ctx) if isinstance(value, Invocation) else None

    @abstractmethod
    def change(self, invocation: Invocation, ctx: Context) -> Invocation | None:
        """Another invocation, or None."""

    def examples(self) -> Sequence[Value]:
        """A function on tensors, and a layer that is made and then called."""
        return CALLS
