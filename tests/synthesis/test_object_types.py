"""Refusals of an object's type, and of dtypes that no kernel has, lead to what fits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.signatures import ApiSignature, SignatureParameter
from fuzz_core.ir.values import Invocation, Ref, Tensor, Value
from fuzz_core.synthesis.draft import Cast, Maker
from fuzz_core.synthesis.refusals import hints, misfit
from fuzz_core.synthesis.search import Search
from tests.synthesis.test_drafts import tried

MAKERS = [Maker(Invocation(f"lib.make{number}")) for number in range(150)]
FITTING = (("queue", Invocation("lib.make7")),)
WRONG = "Trying to access a handle's resource using the wrong type. The handle points to a resource of type 'Var'"
NONE = "Tried to convert 'queue' to a tensor and failed. Error: None values not supported."
VARIANT = "Expected variant passed to parameter 'queue' of op 'F', got <DatasetV2 x=1> of type 'DatasetV2' instead."


class Makers:
    """A source of 150 apis that make objects."""

    def named(self, rng: Rng, api: str, parameter: SignatureParameter) -> Value | None:
        """Return no value."""
        return None

    def makers(self, api: str, parameter: SignatureParameter) -> Sequence[Maker]:
        """Return all apis."""
        return MAKERS


@pytest.mark.parametrize(
    ("message", "argument"),
    [
        (WRONG, ""),
        (NONE, "queue"),
        (VARIANT, "queue"),
        ("Input 'queue' of 'F' Op has type float32 that does not match expected type of variant.", "queue"),
        ("Input 'queue' of 'F' Op has type float32 that does not match expected type of int32.", None),
        ("Tensor must be a Dataset object.", ""),
        ("{{function_node __wrapped__ApplyFtrl}} Invalid variable reference. [Op:ApplyFtrl]", ""),
        ("Error while reading x. This could mean that the variable was uninitialized.", ""),
        ("the queue is of type 'x'", None),
    ],
)
def test_a_refusal_of_an_object_names_the_argument_or_none(message: str, argument: str | None) -> None:
    assert misfit(message) == argument


@pytest.mark.parametrize("message", [WRONG, NONE, VARIANT, "Shape must be rank 0 but is rank 1 for '{{node F}}'"])
def test_an_api_whose_object_has_the_wrong_type_is_left_out(message: str) -> None:
    signature = ApiSignature("lib.close", (SignatureParameter("queue", "object"),))
    tries = []
    for seed in range(9):
        search = Search([signature], Rng(seed), Makers(), list(DTYPES))
        tries.append(tried(search, lambda call: "" if call.kwargs == FITTING else message)[0])
    # One of five searches needs more tries by chance alone.
    assert max(tries) <= 240


def test_several_objects_of_one_type_are_found() -> None:
    """Three arguments want the object that one of 150 apis makes. The search draws objects that are alike."""
    names = ("var", "m", "v")
    signature = ApiSignature("lib.apply", tuple(SignatureParameter(name, "object", dtypes=("x",)) for name in names))
    fitting = tuple((name, Invocation("lib.make7")) for name in names)
    tries = []
    for seed in range(9):
        search = Search([signature], Rng(seed), Makers(), list(DTYPES))
        tries.append(tried(search, lambda call: "" if call.kwargs == fitting else WRONG)[0])
    assert max(tries) <= 1000


def test_arguments_take_the_dtypes_of_a_kernel_that_a_refusal_lists() -> None:
    casts = {name: Cast("float32", "lib.quantize") for name in ("qint8", "qint32")}
    listed = (
        "Could not find device for node: All kernels registered for op F:\n"
        "  device='CPU'; T in [DT_QINT32]; out_type in [DT_QINT8, DT_UINT8]\n"
        "  device='GPU'; T in [DT_FLOAT]; out_type in [DT_FLOAT]\n"
        "  device='CPU'; T in [DT_DOUBLE]; out_type in [DT_HALF]\n"
    )
    kernels = hints(listed, (), frozenset(casts)).kernels
    assert kernels == (
        (("T", ("qint32",)), ("out_type", ("qint8", "uint8"))),
        (("T", ("float64",)), ("out_type", ("float16",))),
    )
    signature = ApiSignature(
        "lib.requantize",
        (
            SignatureParameter("x", "tensor", group="T"),
            SignatureParameter("out_type", "dtype", required=False, group="out_type"),
        ),
    )

    def check(call: Invocation) -> str:
        given = dict(call.kwargs)
        x, out = given["x"], given.get("out_type")
        fits = isinstance(x, Tensor) and x.dtype == "float64" and out == Ref("dtype", "float16")
        return "" if fits else listed

    tries = [tried(Search([signature], Rng(seed), Makers(), list(DTYPES), casts), check)[0] for seed in range(9)]
    assert sorted(tries)[4] <= 30
