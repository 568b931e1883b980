"""Tests that scripts are short, run, and contain no code that an untrusted name could smuggle in."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.elements import pack
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import NONE, Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, TestCase, Then, Value, prim
from fuzz_core.triage.script import COLUMNS, comment, render

TORCH, TF = dialect_of("torch"), dialect_of("tensorflow")
ONES = Tensor("float32", (2, 3), Fill("constant", 1.0))


def body(invocation: Invocation, **options: bool) -> list[str]:
    """Returns the statements of a script, without imports and the blank line after the imports."""
    lines = render(TestCase(invocation, 5), TORCH, **options).splitlines()
    assert lines[0] == "import torch"
    return lines[lines.index("") + 1 :]


def call(*args: Value, **kwargs: Value) -> Invocation:
    return Invocation("torch.f", args, tuple(kwargs.items()))


class DescribeRender:
    def test_writes_a_whole_script(self) -> None:
        test = TestCase(Invocation("tf.math.add", (Tensor("float32", (2,), Fill("constant", 0.0)), prim(1))), 5)
        assert render(test, TF, "a sum", "SIGABRT: Check failed", seeded=True).splitlines() == [
            "import tensorflow as tf",
            "",
            "tf.keras.utils.set_random_seed(5)",
            "tf.math.add(tf.zeros([2]), 1)",
            "# expected: a sum",
            "# observed: SIGABRT: Check failed",
        ]

    def test_makes_an_instance_and_then_uses_it(self) -> None:
        layer = Invocation("torch.nn.Conv2d", (prim(3), prim(6)), (("bias", prim(False)),), Then("__call__", (ONES,)))
        assert body(layer) == ["m = torch.nn.Conv2d(3, 6, bias=False)", "m(torch.ones(2, 3))"]
        assert body(layer._replace(then=Then("step")))[1] == "m.step()"

    def test_calls_methods_on_their_instance(self) -> None:
        assert body(Invocation("torch.Tensor.add", (ONES, prim(1)))) == ["torch.ones(2, 3).add(1)"]
        assert body(Invocation("torch.Tensor.__add__", (ONES, prim(1)))) == ["torch.ones(2, 3).__add__(1)"]
        drawn = Tensor("float32", (64,), Fill("uniform", -1.0, 1.0))
        assert body(Invocation("torch.Tensor.abs", (drawn,))) == ["(torch.rand(64) * 2 - 1).abs()"]

    def test_leaves_class_methods_and_arrays_unbound(self) -> None:
        array = ONES._replace(container="ndarray")
        assert body(Invocation("torch.Tensor.add", (array,))) == ["torch.Tensor.add(np.ones((2, 3), np.float32))"]
        made = Invocation("torch.nn.Embedding.from_pretrained", (ONES,))
        assert body(made) == ["torch.nn.Embedding.from_pretrained(torch.ones(2, 3))"]

    def test_imports_numpy_where_an_array_needs_it(self) -> None:
        script = render(TestCase(call(Seq("list", (ONES._replace(container="ndarray"),))), 0), TORCH)
        assert script.splitlines()[:3] == ["import torch", "import numpy as np", ""]

    def test_writes_nested_objects_inline(self) -> None:
        inner = Invocation("torch.nn.ReLU", (), (), Then("__call__", (ONES,)))
        assert body(call(inner, inner)) == [
            "torch.f(torch.nn.ReLU()(torch.ones(2, 3)), torch.nn.ReLU()(torch.ones(2, 3)))"
        ]

    @pytest.mark.parametrize(
        ("value", "source"),
        [
            (NONE, "None"),
            (prim(float("nan")), "float('nan')"),
            (prim(float("-inf")), "float('-inf')"),
            (prim(2**31 - 1), "2**31 - 1"),
            (prim(1 + 2j), "1+2j"),
            (prim("it's\n"), '"it\'s\\n"'),
            (prim(b"\x00"), "b'\\x00'"),
            (Prim("ellipsis", None), "..."),
            (Slice(prim(1), NONE, prim(2)), "slice(1, None, 2)"),
            (Seq("tuple", (prim(1),)), "(1,)"),
            (Seq("tuple", ()), "()"),
            (Seq("set", ()), "set()"),
            (Seq("set", (prim(1), prim(2))), "{1, 2}"),
            (Seq("list", (prim(True), prim(1.5))), "[True, 1.5]"),
            (Map((("a'", prim(1)), ("b", ONES))), "{\"a'\": 1, 'b': torch.ones(2, 3)}"),
            (Ref("dtype", "float16"), "torch.float16"),
            (Ref("device", "cpu"), "torch.device('cpu')"),
            (Ref("name", "torch.nn.functional.relu"), "torch.nn.functional.relu"),
            (Ref("name", "int"), "int"),
        ],
    )
    def test_writes_values(self, value: Value, source: str) -> None:
        assert body(call(value)) == [f"torch.f({source})"]

    def test_passes_arguments_whose_names_are_keywords(self) -> None:
        made = Invocation("torch.f", (), (("from", prim(0)), ("to", prim(1))))
        assert body(made) == ["torch.f(**{'from': 0}, to=1)"]

    def test_gives_big_arguments_a_statement_of_their_own(self) -> None:
        numbers = Tensor("int64", (12,), Fill("values", data=pack(np.arange(12) + 1_000_000)))
        lines = body(call(numbers, ONES, weight=numbers))
        assert [line.split("(")[0] for line in lines] == ["x = torch.tensor", "weight = torch.tensor", "torch.f"]
        assert lines[-1] == "torch.f(x, torch.ones(2, 3), weight=weight)"

    def test_does_not_shadow_what_the_call_needs(self) -> None:
        long = prim("a" * 90)
        lines = body(Invocation("torch.f", (long,), (("torch", long), ("x", long))))
        assert lines[-1] == "torch.f(x2, torch=torch2, x=x)" or lines[-1] == "torch.f(x, torch=torch2, x=x2)"
        ast.parse("\n".join(lines))


class DescribeTrust:
    @pytest.mark.parametrize(
        "api", ["os.system", "torch.f();x", "torch.f\n", "torch..f", "torch.if", "", "torch.ﬁ", "torch.f(1).g"]
    )
    def test_refuses_apis_that_are_no_public_name(self, api: str) -> None:
        with pytest.raises(CodecError, match="not a public name"):
            render(TestCase(Invocation(api), 0), TORCH)
        with pytest.raises(CodecError, match="not a public name"):
            render(TestCase(call(Ref("name", api)), 0), TORCH)

    @pytest.mark.parametrize("name", ["a b", "a=1,b", "a\n", "", "1a"])
    def test_refuses_keywords_methods_and_dtypes_that_are_no_names(self, name: str) -> None:
        then = Then(name)
        hostile = [
            Invocation("torch.f", (), ((name, NONE),)),
            Invocation("torch.f", then=then),
            call(Invocation("torch.g", then=then)),
            call(Ref("dtype", name)),
        ]
        for invocation in hostile:
            with pytest.raises(CodecError):
                render(TestCase(invocation, 0), TORCH)

    @given(st.text())
    def test_keeps_comments_in_their_line(self, text: str) -> None:
        line = comment(text)
        assert len(line) <= COLUMNS
        assert ast.parse(line).body == []
        assert len(line.splitlines()) == 1

    @given(st.text(), st.text())
    def test_writes_any_text_as_a_literal(self, text: str, key: str) -> None:
        source = render(TestCase(call(prim(text), Map(((key, prim(text)),))), 0), TORCH, text, text)
        statements = ast.parse(source).body
        literals = {node.value for node in ast.walk(statements[-1]) if isinstance(node, ast.Constant)}
        assigned = {node.value for s in statements for node in ast.walk(s) if isinstance(node, ast.Constant)}
        assert {text, key} <= literals | assigned
        assert {type(s) for s in statements} <= {ast.Import, ast.Expr, ast.Assign}


def test_a_comment_has_quotes_as_a_keyboard_has_them() -> None:
    said = "no match for \N{LEFT SINGLE QUOTATION MARK}operator>\N{RIGHT SINGLE QUOTATION MARK}"
    assert comment(said) == "# no match for 'operator>'"


def test_long_names_are_moved_once_each() -> None:
    wide = tuple((f"a_keyword_as_long_as_those_of_raw_ops_{n}", Prim("str", "x" * 40)) for n in range(4))
    lines = render(TestCase(Invocation("torch.add", (), wide), 0), dialect_of("torch")).splitlines()
    assert len([line for line in lines if " = " in line]) == len(wide)
