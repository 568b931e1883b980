"""A refusal that says what it was given leads to the argument that has it."""

from __future__ import annotations

import pytest

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import LOOSE, ApiSignature, SignatureParameter
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Invocation, Seq, Tensor, Value, prim
from fuzz_core.synthesis.draft import Draft
from fuzz_core.synthesis.drawer import Drawer
from fuzz_core.synthesis.refusals import hints
from fuzz_core.synthesis.repair import repairs
from fuzz_core.synthesis.search import Search
from tests.synthesis.test_drafts import Nothing, tried

NAMES = ("image", "filter", "strides")
SIGNATURE = ApiSignature(
    "lib.f",
    (
        SignatureParameter("image", "tensor", group=LOOSE),
        SignatureParameter("filter", "tensor", group=LOOSE),
        SignatureParameter("strides", "int", many="*"),
    ),
)


def repaired(message: str, signature: ApiSignature = SIGNATURE) -> dict[str, set[object]]:
    """Returns the new shapes, dtypes or lengths of the arguments of one draft, by name."""
    draft = Draft(signature)
    draft.values = [Tensor("float64", (2, 3)), Tensor("float32", (4, 3, 5)), Seq("list", (prim(1), prim(2)))]
    made: dict[str, set[object]] = {}
    for seed in range(8):
        for place, value in repairs(draft, hints(message, NAMES), Drawer(Rng(seed), Nothing(), list(DTYPES))):
            made.setdefault(NAMES[place], set()).add(_changed(draft.values[place], value))
    return made


def _changed(before: Value | None, after: Value) -> object:
    if isinstance(after, Seq):
        assert isinstance(before, Seq)
        return len(after.items) if len(after.items) != len(before.items) else after.kind
    assert isinstance(before, Tensor) and isinstance(after, Tensor)
    return after.dtype if after.shape == before.shape else after.shape


def test_a_rank_is_mended_where_a_tensor_has_the_wrong_one() -> None:
    shapes = repaired("ValueError: Shape must be rank 1 but is rank 3 for '{{node F}} = F[n=2](F/x)'")
    assert [*shapes] == ["filter"]
    assert {len(shape) for shape in shapes["filter"] if isinstance(shape, tuple)} == {1}


def test_a_size_becomes_the_demanded_one_or_the_other_of_two() -> None:
    assert repaired("Dimension must be 7 but is 5") == {"filter": {(4, 3, 7)}}
    assert repaired("Dimensions must be equal, but are 2 and 4") == {"image": {(4, 3)}, "filter": {(2, 3, 5)}}


def test_a_shape_becomes_the_other_one_that_it_must_fit() -> None:
    message = (
        "Dimension 0 in both shapes must be equal, but are 2 and 4. Shapes are [2,3] and [4, 3, 5]. for '{{node F}}'"
    )
    assert repaired(message) == {"image": {(4, 3, 5), (4, 3)}, "filter": {(2, 3), (2, 3, 5)}}
    assert repaired("Incompatible shapes: (2, 3) vs. (7,)") == {"image": {(7,)}}


def test_a_list_becomes_a_tensor_where_the_library_takes_it_for_one() -> None:
    draft = Draft(ApiSignature("lib.f", (SignatureParameter("x"), SignatureParameter("y"))))
    draft.values = [prim(1), Seq("list", (prim(1),))]
    found = repairs(draft, hints("'list' object has no attribute 'shape'", ()), Drawer(Rng(1), Nothing(), list(DTYPES)))
    assert [(place, type(value)) for place, value in found] == [(1, Tensor)]


def test_ranks_that_must_be_equal_are_exchanged() -> None:
    shapes = repaired("Shapes must be equal rank, but are 3 and 2 for '{{node F}} = F[n=2](F/x)'")
    ranks = {name: {len(shape) for shape in made if isinstance(shape, tuple)} for name, made in shapes.items()}
    assert ranks == {"image": {3}, "filter": {2}}


def test_the_tensor_that_makes_an_object_is_mended() -> None:
    variables = tuple(SignatureParameter(name, "object", dtypes=("resource",)) for name in "ab")
    draft = Draft(ApiSignature("lib.apply", variables))
    draft.values = [Invocation("lib.Variable", (Tensor(dtype, (2,)),)) for dtype in ("float64", "float32")]
    drawer = Drawer(Rng(1), Nothing(), list(DTYPES))

    def made(message: str) -> list[tuple[int, Tensor]]:
        found = repairs(draft, hints(message, ("a", "b")), drawer)
        return [(place, tensor) for place, value in found for tensor in tensors_of(value)]

    assert [(place, each.shape) for place, each in made("Incompatible shapes: [2] vs. [3]")] == [(0, (3,)), (1, (3,))]
    assert [(place, each.dtype) for place, each in made("expected double but got float")] == [(1, "float64")]


def test_a_list_becomes_a_tuple_where_one_is_demanded() -> None:
    message = "The strides must be either an int or a tuple of ints but the given strides has type <class 'list'>."
    assert repaired(message) == {"strides": {"tuple"}}
    assert repaired("f(x): Expected strides to be a tuple.") == {"strides": {"tuple"}}
    assert repaired("strides must be a tuple or a list") == {}
    assert repaired("strides must be a list of ints") == {}


def test_no_repair_makes_a_tensor_too_large_to_draw() -> None:
    signature = SIGNATURE._replace(parameters=SIGNATURE.parameters[:1])
    draft = Draft(signature)
    draft.values = [Tensor("float32", (60, 60, 2, 60))]
    made = repairs(draft, hints("dimension must be 64 but is 2", NAMES), Drawer(Rng(1), Nothing(), list(DTYPES)))
    assert made == []


def test_a_dtype_is_mended_where_a_tensor_has_the_wrong_one() -> None:
    assert repaired("conversion requested dtype int32 for Tensor with dtype float64") == {"image": {"int32"}}
    strict = tuple(each._replace(group="T") if each.group else each for each in SIGNATURE.parameters)
    assert repaired("requested dtype int32 for Tensor with dtype float64", SIGNATURE._replace(parameters=strict)) == {}
    fixed = (SIGNATURE.parameters[0]._replace(dtypes=("float64",)), *SIGNATURE.parameters[1:])
    assert repaired("requested dtype int32 for Tensor with dtype float64", SIGNATURE._replace(parameters=fixed)) == {}


def test_a_list_gets_the_demanded_length() -> None:
    assert repaired("F requires the stride attribute to contain 4 values, but got: 2")["strides"] == {4}


def test_an_argument_that_the_refusal_names_comes_before_others() -> None:
    assert [*repaired("filter: dimension must be 7 but is 3")] == ["filter"]
    assert [*repaired("dimension must be 7 but is 3")] == ["image", "filter"]


def test_a_refusal_that_gives_no_instead_repairs_nothing() -> None:
    assert repaired("x must be a matrix with 3 rows") == {}


@pytest.mark.parametrize("seed", range(5))
def test_repairs_find_a_call_with_many_scalars_soon(seed: int) -> None:
    """A quantised operation names the wrong rank alone. Most seeds need more than 2,000 tries without repairs."""
    signature = ApiSignature("lib.q", tuple(SignatureParameter(name, "tensor", group="T") for name in "abcdefgh"))

    def check(call: Invocation) -> str:
        shapes = [value.shape for _, value in call.kwargs if isinstance(value, Tensor)]
        for place, shape in enumerate(shapes):
            wanted = 2 if place < 2 else 0
            if len(shape) != wanted:
                return f"ValueError: Shape must be rank {wanted} but is rank {len(shape)} for '{{{{node Q}}}}'"
        if shapes[0][1] != shapes[1][0]:
            return (
                f"ValueError: Dimensions must be equal, but are {shapes[0][1]} and {shapes[1][0]} for '{{{{node Q}}}}'"
            )
        return ""

    assert tried(Search([signature], Rng(seed), Nothing(), list(DTYPES)), check, tries=700)[1].api == "lib.q"
