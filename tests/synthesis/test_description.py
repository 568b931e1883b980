"""A signature takes kinds, allowed values and hints for the first draft from documentation."""

from __future__ import annotations

import pytest

from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import LOOSE, ApiSignature, SignatureParameter
from fuzz_core.ir.values import Invocation, Seq, Tensor, prim
from fuzz_core.synthesis.description import described
from fuzz_core.synthesis.search import Search
from tests.synthesis.test_drafts import Nothing


def documented(text: str, *constraints: Constraint, kind: str = "any") -> SignatureParameter:
    """Returns the parameter `x` of a function, with an entry of its docstring."""
    signature = ApiSignature("lib.f", (SignatureParameter("x", kind, group=LOOSE if kind == "any" else ""),))
    return described(signature, f"Compute.\n\nArgs:\n  x{text}\n", constraints).parameters[0]


@pytest.mark.parametrize(
    ("text", "kind", "many"),
    [
        (": A `Tensor`. Must be one of the following types: `half`, `float32`.", "tensor", ""),
        (": A 4-D float `Tensor` of shape `[batch, height, width, depth]`.", "tensor", ""),
        (" (Tensor, optional): the weight", "tensor", ""),
        (": Images as a 4D tensor or NumPy array.", "tensor", ""),
        (": A list of `Tensor` objects with the same type.", "tensor", "*"),
        (": A list of at least 2 `Tensor` objects.", "tensor", "*"),
        (": A list of `ints` that has length `>= 5`.", "int", "*"),
        (": An int or list of `ints` that has length 1 or 3.", "int", "*"),
        (" (tuple of ints): the sizes", "int", "*"),
        (": List of strings with the names.", "str", "*"),
        (": A list of `DType` objects.", "dtype", "*"),
        (": A `tf.data.Dataset` of scalar `tf.int64` tensors.", "any", ""),
        (": A non-empty list of `tf.data.Dataset` objects.", "any", "*"),
        (": A `tf.Tensor` with values.", "tensor", ""),
        (": A `tf.DType`.", "dtype", ""),
        (': A `string` from: `"SAME", "VALID"`.', "str", ""),
        (': Either the string "SAME" or "VALID".', "str", ""),
        (": (optional) Python int, the rank.", "int", ""),
        (": A name for the operation (optional).", "str", ""),
        (": Whether to pad.", "bool", ""),
        (": True iff one is allowed.", "bool", ""),
        (": A float scalar tolerance.", "float", ""),
        (": The callable to be performed.", "function", ""),
        (" (callable): maps an element", "function", ""),
        (": A function that converts.", "function", ""),
        (": The opacity of the masks.", "any", ""),
        (": quantization scale of the output tensor", "any", ""),
        (": The data type of the returned `Tensor`.", "dtype", ""),
        (": A tensor with the sizes of the other tensor.", "tensor", ""),
    ],
)
def test_the_kind_of_an_argument_is_read_from_its_documentation(text: str, kind: str, many: str) -> None:
    parameter = documented(text)
    assert (parameter.kind, parameter.many) == (kind, many)


def test_a_kind_that_the_definition_states_is_kept() -> None:
    assert documented(": A `Tensor`.", kind="int").kind == "int"


def test_the_dtype_of_a_tensor_is_read_and_leaves_the_common_group() -> None:
    parameter = documented(": A `Tensor` of type `int32`. The lengths.")
    assert (parameter.dtypes, parameter.group) == (("int32",), "")
    assert documented(": A 2-D float Tensor.").dtypes == ("float32",)
    assert documented(": An input tensor.").dtypes == ()


def test_what_the_documentation_allows_is_drawn_alone() -> None:
    texts = Constraint("lib.f", "x", "choices", ("SAME", "VALID"), "", "docstring")
    assert documented(": A string.", texts).choices == (prim("SAME"), prim("VALID"))
    dtypes = Constraint("lib.f", "x", "dtypes", ("float32", "float64", "strange"), "", "docstring")
    assert documented(": A `Tensor`.", dtypes).dtypes == ("float32", "float64")


def test_a_group_has_no_dtype_that_a_member_forbids() -> None:
    """A tensor of a loose group takes the dtype of the others only if its documentation allows it."""
    first = SignatureParameter("a", "tensor", group=LOOSE, dtypes=("float32",))
    second = SignatureParameter("b", "tensor", group=LOOSE, dtypes=("int32", "int64"))
    search = Search([ApiSignature("lib.f", (first, second))], Rng(1), Nothing(), list(DTYPES))
    for _ in range(50):
        made = search.ask().values[1]
        assert isinstance(made, Tensor) and made.dtype in ("int32", "int64")


@pytest.mark.parametrize(
    ("text", "dtypes"),
    [
        (": A scalar `tf.variant` tensor representing a dataset.", ("variant",)),
        (": A resource tensor.", ("resource",)),
        (": A `Tensor` with variants of a word.", ()),
    ],
)
def test_another_call_makes_a_resource_or_variant(text: str, dtypes: tuple[str, ...]) -> None:
    parameter = documented(text)
    assert (parameter.kind == "object", parameter.dtypes) == (bool(dtypes), dtypes)


@pytest.mark.parametrize("seed", range(5))
def test_the_words_about_arguments_are_hints_for_the_first_draft(seed: int) -> None:
    """A call that needs a tensor of rank 5 and a list of six numbers is found without a refusal that says so."""
    said = ("x: A 5-D tensor.", "sizes: A list of `ints` that has length 6.", "mode: Either 'fast' or 'slow'.")
    doc = "\n  ".join(("Compute.\n\nArgs:", *said))
    parts = tuple(SignatureParameter(name) for name in ("x", "sizes", "mode"))

    def is_valid(call: Invocation) -> bool:
        x, sizes, mode = (value for _, value in call.kwargs)
        fits = isinstance(x, Tensor) and len(x.shape) == 5 and isinstance(sizes, Seq) and len(sizes.items) == 6
        return fits and mode in (prim("fast"), prim("slow"))

    def tries(signature: ApiSignature) -> int:
        search = Search([signature], Rng(seed), Nothing(), list(DTYPES))
        for number in range(400):
            draft = search.ask()
            if is_valid(draft.invocation()):
                return number
            search.tell(draft, "ValueError: no")
        return 400

    signature = ApiSignature("lib.f", parts)
    assert tries(described(signature, doc, ())) < 200
    assert tries(signature) == 400
