"""Rules that change one part of a call to the next value that its other parts do not fit: sizes, ranks, forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.tree import argument_names, rewritten, tensors_of, with_tensors
from fuzz_core.ir.values import Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Value
from fuzz_core.mutation.contract import (
    EDGE,
    FLOATING,
    NUMERIC,
    Context,
    invocations,
    make_domain,
    mutator,
    scalars,
    sequences,
    tensors,
)
from fuzz_core.mutation.rules.calls import MAX_LENGTH, resized
from fuzz_core.mutation.rules.layout import reshape
from fuzz_core.mutation.rules.values import refill

# More than the rules of `layout` and `paper` make; kernels are often specialised up to 5 or 6.
MOST_RANK = 7
# At most so many tensors of a call lend their ranks and sizes, and so many different numbers are lent.
MOST_TENSORS = 4
MOST_EXTENTS = 6
# More elements than a 32-bit index counts, in the memory of one row. A random mutant rarely becomes so large, since a
# kernel may take its whole time limit for the elements.
HUGE_SIZE = 1 << 31
HUGE_SHARE = 0.1
# Values of the kinds that parameters have. The call has further ones: its own tensor, and that without elements.
_ADDED: dict[str, Value] = {
    **{str(number): Prim("int", number) for number in (0, -1, HUGE_SIZE)},
    "nan": Prim("float", float("nan")),
    "True": Prim("bool", True),
    "(0,)": Seq("tuple", (Prim("int", 0),)),
    "text": Prim("str", "nightfuzz"),
}
JOINT_CONTENTS: Mapping[str, tuple[tuple[str, ...], float]] = {
    "nan": (FLOATING, float("nan")),
    "inf": (FLOATING, float("inf")),
    "0": (NUMERIC, 0.0),
    "-1": (("int", *FLOATING), -1.0),
    "2147483648": (("int", *FLOATING), float(HUGE_SIZE)),
}
UNKNOWN_STRINGS = {"empty": "", "nightfuzz": "nightfuzz", "control character": "\0", "long": "é" * 1024}


def _outside(call: Invocation | None, ranks: bool) -> dict[str, int]:
    """Return the indices next to the valid ones of a call's tensors: the first behind the end, and before the start.

    Args:
        ranks: whether the ranks of the tensors count as well as the sizes of their dimensions.
    """
    found: dict[int, str] = {}
    for place, tensor in enumerate(islice(tensors_of(call), MOST_TENSORS) if call is not None else ()):
        if ranks:
            found.setdefault(len(tensor.shape), f"rank of tensor {place}")
        for axis, size in enumerate(tensor.shape):
            found.setdefault(size, f"size {axis} of tensor {place}")
    extents = list(found.items())[:MOST_EXTENTS]
    return {f"at {name}": number for number, name in extents} | {
        f"below {name}": -number - 1 for number, name in extents
    }


@mutator("Index Outside", scalars("int"), EDGE, boundary=True)
def index_outside(value: Prim, ctx: Context) -> Prim | None:
    """Return an index or dimension just outside the valid ones; None if the call has no tensor."""
    outside = _outside(ctx.call, ranks=True)
    return Prim("int", outside[ctx.rng.choice(tuple(outside))]) if outside else None


@mutator("Indices Outside", tensors("int", "uint"), EDGE, boundary=True)
def indices_outside(tensor: Tensor, ctx: Context) -> Tensor | None:
    """Fill an integer tensor with an index just outside of a dimension; None if there is none for its dtype."""
    outside = _outside(ctx.call, ranks=False)
    if DTYPES[tensor.dtype].kind == "uint":
        outside = {name: number for name, number in outside.items() if number >= 0}
    return refill(tensor, Fill("constant", float(outside[ctx.rng.choice(tuple(outside))]))) if outside else None


@mutator("Neighbour Dimension", tensors(least_rank=1), EDGE, boundary=True)
def neighbour_dimension(tensor: Tensor, ctx: Context) -> Tensor | None:
    """Make a dimension one longer or one shorter; None if it would be shorter than zero."""
    axis, step = ctx.rng.below(len(tensor.shape)), ctx.rng.choice((1, -1))
    shape = tensor.shape
    return reshape(tensor, (*shape[:axis], shape[axis] + step, *shape[axis + 1 :])) if shape[axis] + step >= 0 else None


@mutator("Neighbour Rank", tensors(), EDGE, boundary=True)
def neighbour_rank(tensor: Tensor, ctx: Context) -> Tensor:
    """Drop or add the first or the last dimension, or add dimensions of size 1 up to the rank of 7."""
    shape = tensor.shape
    shapes = {
        "without the first": shape[1:],
        "without the last": shape[:-1],
        "one before": (1, *shape),
        "one behind": (*shape, 1),
        "rank 7": (*(1,) * (MOST_RANK - len(shape)), *shape),
    }
    return reshape(tensor, shapes[ctx.rng.choice(tuple(shapes))])


@mutator("Huge View", tensors(least_rank=1, scope="strided"), EDGE, boundary=True)
def huge_view(tensor: Tensor, ctx: Context) -> Tensor | None:
    """Return zeros with 2**31 places along the first or the last dimension, as `expand` makes them; mostly None."""
    if not ctx.rng.chance(HUGE_SHARE):
        return None
    shape = [1] * len(tensor.shape)
    shape[{"first": 0, "last": -1}[ctx.rng.choice(("first", "last"))]] = HUGE_SIZE
    return tensor._replace(shape=tuple(shape), strides=(0,) * len(shape), fill=Fill("constant"))


@mutator("Other Container", tensors(), EDGE, boundary=True)
def other_container(tensor: Tensor, ctx: Context) -> Tensor:
    """Return a numpy array for a tensor, and a tensor for any other container."""
    return tensor._replace(
        container="ndarray" if tensor.container == "tensor" else "tensor", strides=None, requires_grad=False
    )


def _form(ctx: Context) -> Invocation | None:
    forms: Mapping[str, Invocation] = ctx.rules.forms
    return forms[ctx.rng.choice(tuple(forms))] if forms else None


@mutator("Other Form", tensors(), EDGE, boundary=True)
def other_form(tensor: Tensor, ctx: Context) -> Invocation | None:
    """Return a sparse, quantised, meta or other form of a tensor; None if the library has no other forms."""
    form = _form(ctx)
    return None if form is None else form._replace(args=(tensor, *form.args))


@mutator("Joint Size", invocations("call"), EDGE, boundary=True, random=False)
def joint_size(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Give every dimension of one size, and every int equal to it, the size 0 or 1, so that shapes still agree."""
    found = dict.fromkeys(size for tensor in islice(tensors_of(invocation), MOST_TENSORS) for size in tensor.shape)
    sizes = [size for size in found if size > 1][:MOST_EXTENTS]
    options = {f"{place} to {new}": (old, new) for place, old in enumerate(sizes) for new in (0, 1)}
    return resized(invocation, *options[ctx.rng.choice(tuple(options))]) if options else None


def _each_tensor(invocation: Invocation, change: Callable[[Tensor], Tensor]) -> Invocation | None:
    """Return the call with its tensors changed; None if fewer than two change."""
    changed = [change(tensor) is not tensor for tensor in islice(tensors_of(invocation), MOST_TENSORS)]
    return with_tensors(invocation, change) if sum(changed) > 1 else None


@mutator("Joint Contents", invocations("call"), EDGE, boundary=True, random=False)
def joint_contents(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Fill all tensors of a kind with one number: NaN, an infinity, 0, -1, or one beyond 32 bits."""
    kinds, number = JOINT_CONTENTS[ctx.rng.choice(tuple(JOINT_CONTENTS))]
    return _each_tensor(
        invocation,
        lambda tensor: refill(tensor, Fill("constant", number)) if DTYPES[tensor.dtype].kind in kinds else tensor,
    )


@mutator("Joint Rank", invocations("call"), EDGE, boundary=True, random=False)
def joint_rank(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Add or drop the first dimension of all tensors: a batch for single items, or one item of a batch."""
    if ctx.rng.choice(("more", "less")) == "more":
        return _each_tensor(invocation, lambda tensor: reshape(tensor, (1, *tensor.shape)))
    return _each_tensor(invocation, lambda tensor: reshape(tensor, tensor.shape[1:]) if tensor.shape else tensor)


@mutator("Joint Form", invocations("call"), EDGE, boundary=True)
def joint_form(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Give all tensors of a call one other form; None if it has fewer than two, or the library has no other forms."""
    form = _form(ctx)
    if form is None or len(list(islice(tensors_of(invocation), 2))) < 2:
        return None

    def leaf(value: Value) -> Value:
        return form._replace(args=(value, *form.args)) if isinstance(value, Tensor) else value

    return rewritten(invocation, leaf, Slice)


@mutator("Added Argument", invocations("call"), EDGE, boundary=True, random=False)
def added_argument(invocation: Invocation, ctx: Context) -> Invocation | None:
    """Give a value to a parameter that the call leaves to its default; None if it gives all known parameters."""
    given = argument_names(invocation._replace(then=None), ctx.rules.params)
    absent = [name for name in ctx.rules.params.get(invocation.api, ()) if name not in given]
    values = {**_ADDED}
    for tensor in islice(tensors_of(invocation), 1):
        values |= {"own tensor": tensor, "empty tensor": reshape(tensor, (0,))}
    added = {f"{name} {text}": (name, value) for name in absent for text, value in values.items()}
    if not added:
        return None
    return invocation._replace(kwargs=(*invocation.kwargs, added[ctx.rng.choice(tuple(added))]))


@mutator("Opposite Bool", scalars("bool"), EDGE, boundary=True)
def opposite_bool(value: Prim, ctx: Context) -> Prim:
    """Return True for False, and False for True."""
    return Prim("bool", not value.value)


@mutator("Unknown String", scalars("str"), EDGE, boundary=True)
def unknown_string(value: Prim, ctx: Context) -> Prim:
    """Return a text that is no name in any library: empty, a word, a control character, or a long one."""
    return Prim("str", UNKNOWN_STRINGS[ctx.rng.choice(tuple(UNKNOWN_STRINGS))])


@mutator("Nested Scalar", scalars("int", "float", "bool", "str"), EDGE, boundary=True)
def nested_scalar(value: Prim, ctx: Context) -> Seq:
    """Return a scalar as the item of a tuple, or of a list: one dimension more."""
    return Seq(ctx.rng.choice(("tuple", "list")), (value,))


@mutator("Neighbour Nesting", sequences("list", "tuple"), EDGE, boundary=True)
def neighbour_nesting(value: Seq, ctx: Context) -> Value:
    """Return the first item of a sequence, or a sequence with the sequence in it: one dimension less or more."""
    return value.items[0] if ctx.rng.choice(("less", "more")) == "less" else Seq(value.kind, (value,))


@mutator("Long Sequence", sequences("list", "tuple"), EDGE, boundary=True)
def long_sequence(value: Seq, ctx: Context) -> Seq:
    """Repeat the items until there are as many as any rule makes."""
    return Seq(value.kind, (value.items * MAX_LENGTH)[:MAX_LENGTH])


_MAPS = make_domain(lambda value: isinstance(value, Map) and bool(value.entries), (Map((("p", Prim("float", 0.5)),)),))


@mutator("Empty Dictionary", _MAPS, EDGE, boundary=True)
def empty_dictionary(value: Map, ctx: Context) -> Map:
    """Return a dictionary without entries."""
    return Map(())


_DEVICES = make_domain(lambda value: isinstance(value, Ref) and value.kind == "device", (Ref("device", "cpu"),))


@mutator("Other Device", _DEVICES, EDGE, boundary=True)
def other_device(value: Ref, ctx: Context) -> Ref:
    """Name a device without memory, one that this machine may lack, or none at all."""
    return Ref("device", ctx.rng.choice(("meta", "cuda:99", "nightfuzz")))
