"""Signatures of functions, classes and methods from annotations, default values and docstrings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import pytest

from fuzz_core.adapters.definitions import declared_signatures, python_signatures
from fuzz_core.adapters.inventory import Listed, entry
from fuzz_core.ir.catalogue import Api


class Var:
    """A stand-in for a tensor of a library."""

    def __add__(self, other: object) -> Var:
        """Adds."""
        return self


class Layer:
    """A layer."""

    def __init__(self, size: int, bias: bool = True) -> None:
        self.size = size

    def forward(self, x: Var, mask=None):  # type: ignore[no-untyped-def]
        """Computes."""
        return x


def blend(a: Var, parts: Sequence[Var], size: list[int], f: Callable[[int], int], alpha=0.5, *, axis: int = 0):  # type: ignore[no-untyped-def]
    """Blends."""


def told(listed: Listed, then: str = "") -> list[tuple[object, ...]]:
    [found] = python_signatures(listed, then)
    return [(p.name, p.kind, p.many, p.required, p.positional) for p in found.parameters + found.own]


def test_annotations_and_defaults_tell_the_types() -> None:
    assert told(entry(["lib.blend"], blend, None)) == [
        ("a", "tensor", "", True, True),
        ("parts", "tensor", "*", True, True),
        ("size", "shape", "", True, True),
        ("f", "function", "", True, True),
        ("alpha", "float", "", False, False),
        ("axis", "int", "", False, False),
    ]


def test_a_class_is_made_and_then_called() -> None:
    assert told(entry(["lib.Layer"], Layer, None), "__call__") == [
        ("size", "int", "", True, True),
        ("bias", "bool", "", False, False),
        ("x", "tensor", "", True, True),
        ("mask", "any", "", False, False),
    ]


def test_a_method_gets_its_instance_and_an_operator_its_other_operand() -> None:
    method = entry(["lib.Var.__add__"], Var.__add__, Var, method=True)
    assert [name for name, *_ in told(method)] == ["self", "other"]
    native = Listed(Api("lib.Var.__iadd__", "method"), len, Var)
    assert [name for name, *_ in told(native)][:1] == ["self"]


def test_a_method_that_is_a_plain_function_gets_its_instance_once() -> None:
    def scaled(x: Var, by: float) -> Var:
        return x

    method = entry(["lib.Var.scaled"], scaled, Var, method=True)
    assert [(name, kind) for name, kind, *_ in told(method)] == [("self", "tensor"), ("by", "float")]


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("VarHolder* sin(VarHolder* x)", [("x", "tensor", "", True)]),
        (
            "VarHolder* argsort(VarHolder* x,  int dim=-1,  bool descending=false,  NanoString dtype=ns_int32)",
            [
                ("x", "tensor", "", True),
                ("dim", "int", "", False),
                ("descending", "bool", "", False),
                ("dtype", "dtype", "", False),
            ],
        ),
        (
            "VarHolder* reduce_add_(VarHolder* x,  NanoVector dims=NanoVector(),  vector<string>&& names={})",
            [("x", "tensor", "", True), ("dims", "shape", "", False), ("names", "str", "*", False)],
        ),
    ],
)
def test_docstrings_declare_operators_in_another_language(declaration: str, expected: list[tuple[object, ...]]) -> None:
    [found] = declared_signatures("lib.op", f"Some text.\nDeclaration:\n{declaration}\n\n")
    assert [(p.name, p.kind, p.many, p.required) for p in found.parameters] == expected


def test_a_docstring_without_a_declaration_declares_no_signature() -> None:
    assert declared_signatures("lib.op", "Calls lib.op(x, y).") == []


def test_a_wrapper_of_a_builtin_without_a_signature_is_a_method_like_others() -> None:
    """The signature of a wrapper is that of the wrapped function, and a builtin may have none."""

    @functools.wraps(max)
    def pow_(*args: object) -> object:
        return args

    assert [name for name, *_ in told(Listed(Api("lib.Var.pow_", "method"), pow_, Var))][:1] == ["self"]
