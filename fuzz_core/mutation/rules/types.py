"""Table 1 of the FreeFuzz paper: rules that change an argument's FuzzType."""

from __future__ import annotations

from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Prim, Scalar, Seq, Tensor, Value
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import PrimRule, SeqRule, TensorRule, change_items
from fuzz_core.mutation.rules.tensors import MAX_RANK, cast, other_dtype, random_size, reshaped

_LARGEST = 1 << 63


class TensorDimMutation(TensorRule):
    """tensor<n1,DT> becomes tensor<n2,DT>: dimensions are inserted or dropped at random places, the others stay."""

    name = "Tensor Dim Mutation"
    kind = "type"

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """A tensor of another rank, 0 to 6."""
        rank = len(tensor.shape)
        wanted = ctx.rng.below(MAX_RANK)
        wanted += wanted >= rank
        return reshaped(tensor, _of_rank(list(tensor.shape), wanted, ctx.rng))


def _of_rank(sizes: list[int], rank: int, rng: Rng) -> list[int]:
    while len(sizes) > rank:
        del sizes[rng.below(len(sizes))]
    while len(sizes) < rank:
        sizes.insert(rng.below(len(sizes) + 1), 1 if rng.chance(0.5) else random_size(rng))
    return sizes


class TensorDtypeMutation(TensorRule):
    """tensor<n,DT1> becomes tensor<n,DT2>."""

    name = "Tensor Dtype Mutation"
    kind = "type"

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """A tensor of the same shape and another dtype."""
        return cast(tensor, other_dtype(ctx.rng, tensor.dtype))


class PrimitiveMutation(PrimRule):
    """int, bool, float or str becomes another of the four, keeping the value as far as it goes."""

    name = "Primitive Mutation"
    kind = "type"

    def change(self, value: Prim, ctx: Context) -> Prim:
        """A scalar of another type."""
        return convert(value, ctx.rng.choice([kind for kind in self.types if kind != value.type]))


def convert(value: Prim, kind: str) -> Prim:
    """A bool, int, float or str as another of these types; a text counts as its length, NaN as 0."""
    raw = value.value
    if kind == "bool":
        return Prim("bool", bool(raw))
    if kind == "str":
        return Prim("str", str(raw if isinstance(raw, (bool, float)) else _number(raw)))
    return Prim("int", int(_number(raw))) if kind == "int" else Prim("float", float(_number(raw)))


def _number(raw: Scalar) -> int | float:
    if isinstance(raw, str):
        return len(raw)
    if isinstance(raw, (int, float)) and raw == raw:
        return max(-_LARGEST, min(_LARGEST - 1, raw))
    return 0


class TupleMutation(SeqRule):
    """(T1, …, Tn) becomes (type_mutate(T1), …, type_mutate(Tn)); of long tuples, sixteen elements at random."""

    name = "Tuple Mutation"
    kind = "type"
    seqs = ("tuple",)

    def change(self, value: Seq, ctx: Context) -> Value:
        """The tuple with the types of its elements mutated."""
        return change_items(value, "type", ctx)


class ListMutation(SeqRule):
    """[T1, …, Tn] becomes [type_mutate(T1), …, type_mutate(Tn)]; of long lists, sixteen elements at random."""

    name = "List Mutation"
    kind = "type"
    seqs = ("list",)

    def change(self, value: Seq, ctx: Context) -> Value:
        """The list with the types of its elements mutated."""
        return change_items(value, "type", ctx)
