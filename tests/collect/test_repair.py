"""The repair: imports, usual values and current names."""

from __future__ import annotations

import ast
import builtins

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.collect.names import PublicNames, known_imports, stand_ins
from fuzz_core.collect.repair import repair, unbound_names, update_names
from fuzz_core.ir.catalogue import Api

LINEAR = Api("torch.nn.Linear", "class")
PROVIDED = {*dir(builtins), "__name__", "__file__", "__doc__"}
TORCH = PublicNames(
    "torch",
    [
        LINEAR,
        Api("torch.nn.ReLU", "class"),
        Api("torch.ao.nn.quantized.Linear", "class"),
        Api("torch.optim.SGD", "class"),
        Api("torch.distributions.Normal", "class"),
        Api("torch.linalg.inv", "function"),
        Api("torch.Tensor.add_", "method"),
    ],
)
UNIQUE = Api("tf.raw_ops.Unique", "function", ("x", "out_idx", "name"))
UNIQUE_2 = Api("tf.raw_ops.UniqueV2", "function", ("x", "axis", "out_idx", "name"))
TENSORFLOW = PublicNames(
    "tensorflow",
    [
        UNIQUE,
        UNIQUE_2,
        Api("tf.raw_ops.MatrixDiag", "function", ("diagonal", "name")),
        Api("tf.linalg.diag", "function"),
        Api("tf.math.conj", "function", aliases=("tf.keras.ops.conj",)),
        Api("tf.constant", "function"),
        Api("tf.keras.layers.Dense", "class"),
        Api("tf.shape", "function"),
    ],
)
JITTOR = PublicNames("jittor", [Api("jittor.nn.Linear", "class"), Api("jittor.transform.Compose", "class")])


def free_names(code: str) -> list[str]:
    """Returns names that a module reads before it binds them, without Python's builtins."""
    return [name for name in unbound_names(code) if name not in PROVIDED]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = x + 1", ["x"]),
        ("x = 1\nx += y", ["y"]),
        ("x += 1", ["x"]),
        ("for i in a:\n    print(i, b)", ["a", "b"]),
        ("def f(p):\n    return p + q\nq = 2\nf(1)", []),
        ("def f(p=d):\n    return len(p) + r", ["d", "r"]),
        ("class A(Base):\n    y = 1\n    def g(self):\n        return A, y", ["Base", "y"]),
        ("[i * s for i in t]", ["t", "s"]),
        ("with open('a') as f, g() as (h, k):\n    h, k, f", ["g"]),
        ("import a.b as c\nfrom d import e\na, c, e, d", ["a", "d"]),
        ("@decorate\ndef f():\n    pass", ["decorate"]),
        ("lambda x: x + y", ["y"]),
        ("try:\n    pass\nexcept E as error:\n    error", ["E"]),
        ("a = 1; b = a", []),
        ("if (n := f()) > 1:\n    n", ["f"]),
    ],
)
def test_free_names(code: str, expected: list[str]) -> None:
    assert sorted(free_names(code)) == sorted(expected)


@pytest.mark.parametrize(
    ("code", "api", "expected"),
    [
        ("m = nn.Linear(2, 3)", None, ["from torch import nn"]),
        ("m = Linear(2, 3)", None, ["from torch.nn import Linear"]),
        ("m = Linear(2, 3)", Api("torch.ao.nn.quantized.ReLU", "class"), ["from torch.ao.nn.quantized import Linear"]),
        ("F.relu(np.ones(2))", LINEAR, ["import torch.nn.functional as F", "import numpy as np"]),
        ("Normal(torch.zeros(1), 1)", LINEAR, ["from torch.distributions import Normal", "import torch"]),
        ("partial(math.sin, 1)", None, ["from functools import partial", "import math"]),
        ("import torch\ntorch.ones(2)", None, []),
        ("add_(1)", Api("torch.Tensor.add_", "method"), []),
    ],
)
def test_imports_for_torch(code: str, api: Api | None, expected: list[str]) -> None:
    repaired = repair(code, TORCH, api).code.split("\n")
    assert sorted(repaired[: -len(code.split("\n"))]) == sorted(expected)


def test_lazy_modules_of_tensorflow_are_read_as_attributes() -> None:
    repaired = repair("Dense(2)", TENSORFLOW).code
    assert repaired == "import tensorflow as tf\nDense = tf.keras.layers.Dense\nDense(2)"


def test_a_name_that_is_passed_on_is_no_module() -> None:
    assert "layers =" not in repair("f(layers)", TENSORFLOW, UNIQUE).code
    assert "data = tf.ones" in repair("f(data)", TENSORFLOW).code


def test_usual_values_bring_in_what_they_need() -> None:
    repaired = repair("scheduler = StepLR(optimizer, 2)\noptimizer.step()", TORCH)
    tree = ast.parse(repaired.code)
    names = [ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign)]
    assert names == ["model", "optimizer", "scheduler"]
    assert repaired.unresolved == ("StepLR",)


def test_a_builtin_that_is_passed_like_a_tensor_gets_a_value_and_one_that_is_called_does_not() -> None:
    assert "input = torch.rand" in repair("torch.relu(input)", TORCH).code
    assert "input =" not in repair("torch.relu(input())", TORCH).code


def test_elided_values_are_filled_in() -> None:
    repaired = repair("model = ...\nf(batch_size=..., other=...)\ny[..., 0]", TENSORFLOW).code
    assert "model = keras.Sequential" in repaired
    assert "batch_size=2, other=..." in repaired
    assert "y[..., 0]" in repaired


def test_calls_of_which_nothing_is_told_are_filled_in() -> None:
    repaired = repair("img = Image.open(...)\nother = Image.open(...)\nx = f(y, ...)", JITTOR).code
    assert "img = Image.new(" in repaired
    assert "other = Image.open(...)\nx = f(y, ...)" in repaired


def test_a_name_that_is_bound_anew_may_have_been_a_module_before() -> None:
    repaired = repair("transform = transform.Compose([])\ntransform(img)", JITTOR).code
    assert "from jittor import transform\n" in repaired


def test_usual_values_of_jittor() -> None:
    repaired = repair("optimizer.zero_grad()\noptimizer.step(loss)", JITTOR)
    assert repaired.unresolved == ()
    assert repaired.code.startswith("import jittor as jt\nmodel = jt.nn.Linear")


def test_imports_from_the_future_stay_in_front() -> None:
    repaired = repair("from __future__ import annotations\nnp.ones(2)", TORCH).code
    assert repaired == "from __future__ import annotations\nimport numpy as np\nnp.ones(2)"


@pytest.mark.parametrize(
    ("code", "api", "expected"),
    [
        ("y, i = unique(x)", UNIQUE, "y, i = tf.raw_ops.Unique(x=x)"),
        ("tf.unique(f(x), tf.int64, name='é')", UNIQUE, "tf.raw_ops.Unique(x=f(x), out_idx=tf.int64, name='é')"),
        ("s = 'é'; unique(\n  x)", UNIQUE, "s = 'é'; tf.raw_ops.Unique(\n  x=x)"),
        ("tf.raw_ops.MatrixDiag(d)", None, "tf.raw_ops.MatrixDiag(diagonal=d)"),
        ("tf.diag(d)", None, "tf.linalg.diag(d)"),
        ("tf.conj(tf.diag(d))", None, "tf.math.conj(tf.linalg.diag(d))"),
        ("keras.ops.conj(d)", None, "keras.ops.conj(d)"),
        ("tf.constant(1)", UNIQUE, "tf.constant(1)"),
        ("tf.compat.v1.conj(1)", None, "tf.compat.v1.conj(1)"),
        ("def unique(x): return x\nunique(1)", UNIQUE, "def unique(x): return x\nunique(1)"),
        ("unique(x)", UNIQUE_2, "tf.raw_ops.UniqueV2(x=x)"),
        ("unique((x))", UNIQUE, "unique((x))"),
        ("unique(*args)", UNIQUE, "tf.raw_ops.Unique(*args)"),
    ],
)
def test_calls_by_names_that_are_gone(code: str, api: Api | None, expected: str) -> None:
    assert update_names(code, TENSORFLOW, api) == expected


@pytest.mark.parametrize("library", ["torch", "tensorflow", "jittor"])
def test_every_import_binds_its_name_and_every_value_needs_only_known_names(library: str) -> None:
    imports, values = known_imports(library), stand_ins(library)
    for name, statement in imports.items():
        (node,) = ast.parse(statement).body
        assert isinstance(node, (ast.Import, ast.ImportFrom))
        assert [alias.asname or alias.name for alias in node.names] == [name]
    for expression in values.values():
        assert set(free_names(expression)) <= imports.keys() | values.keys()


CODES = st.lists(
    st.sampled_from(["x = f(y)", "model(x)", "y = np.ones(2)", "Linear(n)", "for i in a: unknown.b(i)", "a = x, y"]),
    min_size=1,
    max_size=5,
).map("\n".join)


@given(CODES)
def test_after_the_repair_only_the_unresolved_names_are_free_and_repairing_again_changes_nothing(code: str) -> None:
    repaired = repair(code, TORCH)
    assert set(free_names(repaired.code)) == set(repaired.unresolved)
    assert repair(repaired.code, TORCH).code == repaired.code
    assert repaired.code.endswith(code)
