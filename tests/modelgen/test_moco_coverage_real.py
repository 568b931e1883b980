"""Tests of layers and functions made to fit, in programs of the real libraries: gradients pass, shapes stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakelib_plans import plan_of

from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.programs.texts import fitted_class
from fuzz_core.worker.programs_ran import TensorKind

pytestmark = pytest.mark.real

TORCH = """
from torch import nn
x = torch.rand(4, 3, 8, 8, requires_grad=True)
m = nn.Sequential(
    Fitted(__made__(0, nn.Bilinear)(2, 3, 4), ((8, 2), 'float32'), ((8, 3), 'float32')),
    Fitted(__made__(1, nn.Embedding)(2, 3), ((6,), 'int64')),
    Fitted(__made__(2, nn.LSTM)(4, 2), ((3, 5, 4), 'float32'), [((1, 5, 2), 'float32'), ((1, 5, 2), 'float32')]),
    Fitted(__made__(3, nn.MSELoss)(), ((3,), 'float32'), ((3,), 'float32')),
    Fitted(__made__(4, nn.functional.cosine_similarity), ((3, 2), 'float32'), ((3, 2), 'float32'), dim=0),
)
y = m(x)
y.sum().backward()
assert y.shape == x.shape and y.dtype == x.dtype
assert all(each.grad is not None for each in (x, *m.parameters()))
assert Fitted(nn.Identity(), ((2, 3), 'int32'))(x.double(), None, mask=1).dtype == torch.float64
"""
TENSORFLOW = """
layers = tf.keras.layers
shown = tf.keras.Input((8, 8, 3))
y = Fitted(__made__(0, layers.Add)(), [((8, 2), 'float32'), ((8, 2), 'float32')])(shown)
y = Fitted(__made__(1, layers.Hashing)(3), ((4, 2), 'string'))(y)
y = Fitted(__made__(2, layers.LSTMCell)(5), ((3, 2), 'float32'), [((3, 5), 'float32'), ((3, 5), 'float32')])(y)
y = Fitted(__made__(3, layers.Normalization)(), ((1, 3), 'float32'))(y)
y = Fitted(__made__(4, layers.dot), [((8, 2), 'float32'), ((8, 2), 'float32')], axes=1, normalize=True)(y)
m = tf.keras.Model(shown, y)
with tf.GradientTape() as tape:
    y = m(tf.random.uniform((4, 8, 8, 3)), training=True)
    loss = tf.reduce_sum(y)
assert m.output_shape == (None, 8, 8, 3) and y.shape == (4, 8, 8, 3)
assert all(each is not None for each in tape.gradient(loss, m.trainable_variables)) and m.trainable_variables
"""
JITTOR = """
from jittor import nn
x = jittor.rand(4, 3, 8, 8)
m = nn.Sequential(
    Fitted(__made__(0, nn.Bilinear)(2, 3, 4), ((8, 2), 'float32'), ((8, 3), 'float32')),
    Fitted(__made__(1, nn.Embedding)(2, 3), ((6,), 'int32')),
    Fitted(__made__(4, nn.bmm), ((2, 3, 4), 'float32'), ((2, 4, 5), 'float32')),
)
y = m(x)
assert y.shape == x.shape and y.dtype == x.dtype
assert all(each.abs().sum().item() >= 0 for each in jittor.grad(y.sum(), m.parameters()))
"""


@pytest.mark.parametrize(("library", "text"), [("torch", TORCH), ("tensorflow", TENSORFLOW), ("jittor", JITTOR)])
def test_they_run_keep_the_shape_and_let_gradients_through(
    library: str, text: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    python = str(request.getfixturevalue(f"{library}_python"))
    with Zygote(python, library, "fuzz", plan_of(tmp_path / "plan", [], library=library)) as zygote:
        replayer = Replayer(zygote, timeout=120.0, memory=4 << 30)
        ran = replayer.program(fitted_class(library) + text, 0, 1)
        replayer.close()
    assert ran.outcome.kind == "ok", ran.outcome.text
    assert 4 in ran.saw
    # The recorded argument of a layer is the tensor that was made to fit, not the activation.
    assert (first := ran.saw[0].took) is not None and first == TensorKind((8, 2), "float32")
    assert (second := ran.saw[1].took) is not None and second.dtype != "float32"
