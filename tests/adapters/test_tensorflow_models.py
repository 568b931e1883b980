"""Model programs on TensorFlow, with Keras 2 and with Keras 3."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.real
ROOT = Path(__file__).parents[2]
START = """
import json
import random
import tensorflow as tf
from tensorflow import keras
from fuzz_core.adapters.tensorflow.models import TensorFlowModels
layers, models = keras.layers, TensorFlowModels()
keras.utils.set_random_seed(0)
"""
GRADIENTS = """
@tf.custom_gradient
def cut(x, weight):
    return x * weight, lambda slope: (slope * weight, None)

class Cut(layers.Layer):
    def __init__(self, call, trainable=True):
        super().__init__(trainable=trainable)
        self.weight = self.add_weight(name="weight", shape=(1,), initializer="ones")
        self.does = call

    def call(self, x):
        return self.does(x, tf.convert_to_tensor(self.weight))

class Both(layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = layers.Dense(4), Cut(library(cut))

    def call(self, x):
        return {"first": self.outer(self.inner(x)), "second": x}

def library(function):
    function.__module__ = "library"
    return function

def told(layer, programs=False):
    Cut.__module__ = "__main__" if programs else "library"
    return of(keras.Sequential([layers.Dense(6), layer, layers.Flatten()]))

def of(model):
    x = tf.random.uniform((4, 6))
    model(x)
    return len(models.untrained(model, (x,), {}))

found = {
    "cut": told(Cut(library(cut))),
    "cut and bent": told(Cut(library(lambda x, w: tf.exp(cut(x, w))))),
    "inside": of(Both()),
    "the program's layer": told(Cut(library(cut)), programs=True),
    "the program's function": told(Cut(lambda x, w: cut(x, w))),
    "frozen": told(Cut(library(cut), trainable=False)),
    "multiplied": told(Cut(library(lambda x, w: x * w))),
    "stopped": told(Cut(library(lambda x, w: x * tf.stop_gradient(w)))),
    "steps of it": told(Cut(library(lambda x, w: x * tf.round(3.1 * w)))),
    "steps behind it": told(Cut(library(lambda x, w: tf.floor(9.0 * x * w)))),
    "compared": told(Cut(library(lambda x, w: tf.cast(x > w, x.dtype)))),
    "unused": told(Cut(library(lambda x, w: x))),
    "of no effect": told(Cut(library(lambda x, w: x + 0.0 * cut(x, w)))),
    "not finite": told(Cut(library(lambda x, w: cut(x, w) / 0.0))),
    "integers": told(Cut(library(lambda x, w: tf.cast(cut(x, w), tf.int32)))),
    "no gradient at all": told(Cut(library(lambda x, w: tf.raw_ops.PreventGradient(input=x * w)))),
}
"""
# No layer of Keras keeps a gradient from what it trains.
LAYERS = """
rows, words, images = (6,), (5, 6), (8, 8, 6)
every = {
    rows: ["Dense(3)", "Dense(3, activation='relu')", "PReLU()", "BatchNormalization()", "LayerNormalization()",
        "UnitNormalization()", "Dropout(0.5)", "Normalization(mean=0.5, variance=0.2)", "Activation('softmax')",
        "Discretization(bin_boundaries=[0.1])", "Dense(3, kernel_regularizer='l2')", "Dense(3, activation=tf.sign)",
        "Dense(3, activation=tf.stop_gradient)", "Dense(3, trainable=False)", "Dense(3, kernel_constraint='non_neg')"],
    words: ["LSTM(3)", "LSTM(3, return_sequences=True)", "GRU(3)", "GRU(3, reset_after=False)", "SimpleRNN(3)",
        "Bidirectional(layers.LSTM(3))", "TimeDistributed(layers.Dense(3))", "Conv1D(3, 2)", "SeparableConv1D(3, 2)",
        "RNN(layers.LSTMCell(3))", "RNN([layers.GRUCell(3), layers.GRUCell(2)])", "Conv1DTranspose(3, 2)",
        "GlobalMaxPooling1D()", "EinsumDense('abc,cd->abd', output_shape=(None, 3))", "LSTM(3, unroll=True)"],
    images: ["Conv2D(3, 3)", "DepthwiseConv2D(3)", "SeparableConv2D(3, 3)", "Conv2DTranspose(3, 3)", "MaxPooling2D()",
        "GroupNormalization(2)", "ConvLSTM1D(3, 3)", "Resizing(4, 4)", "RandomFlip()", "Rescaling(2.0)",
        "SpectralNormalization(layers.Conv2D(3, 3))", "BatchNormalization(trainable=False)"],
}
found = {}
for shape, texts in every.items():
    for text in [each for each in texts if hasattr(layers, each.partition("(")[0])]:
        x = tf.random.uniform((4, *shape))
        for training in (False, True):
            last = layers.Lambda(lambda x: tf.cast(x, "float32"))
            model = keras.Sequential([layers.Dense(6), eval(f"layers.{text}"), last])
            model(x)
            found[f"{text} {training}"] = list(models.untrained(model, (x,), {"training": training}))
attention = layers.MultiHeadAttention(2, 3)
x = tf.random.uniform((4, 5, 6))
attention(x, x)
found["attention"] = list(models.untrained(attention, (x, x), {}))
"""
LOSSES = """
losses = []
model = keras.Sequential([layers.Dense(1)])
x, y = tf.random.uniform((8, 3)), tf.zeros((8, 1))
original = tf.GradientTape.gradient, keras.callbacks.History.on_epoch_end
with models.losses(losses.append):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape.gradient(loss, model.trainable_weights)
    with tf.GradientTape() as tape:
        wide = model(x)
    tape.gradient(wide, model.trainable_weights)
    model.compile("sgd", "mse")
    history = model.fit(x, y, epochs=2, verbose=0).history["loss"]
restored = original == (tf.GradientTape.gradient, keras.callbacks.History.on_epoch_end)
found = {"losses": losses, "expected": [float(loss), *history], "restored": restored}
"""
STREAMS = """
def drawn():
    model = keras.Sequential([layers.Dense(3), layers.Dropout(0.5)])
    numbers = model(tf.ones((2, 3)), training=True), tf.random.uniform((2,)), tf.random.normal((), seed=3)
    return [each.numpy().tolist() for each in numbers]

python = random.getstate()
again = models.streams()
first = drawn()
models.forget()
random.setstate(python)
again()
second = drawn()
with models.doubles():
    wide = layers.Dense(2)(tf.ones((1, 2), tf.float64)).dtype.name
found = {"first": first, "second": second, "wide": wide, "narrow": layers.Dense(2)(tf.ones((1, 2))).dtype.name}
"""


@pytest.fixture(params=["keras2_python", "tensorflow_python"])
def python(request: pytest.FixtureRequest) -> Path:
    """An interpreter with Keras 2, or one with Keras 3."""
    found: Path = request.getfixturevalue(request.param)
    return found


def said(python: Path, script: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    text = f"{START}{script}\nprint(json.dumps(found))"
    done = subprocess.run([python, "-c", text], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_weight_that_the_library_cuts_off_is_told_and_no_other(python: Path) -> None:
    told = said(python, GRADIENTS)
    assert {name: count for name, count in told.items() if count} == {"cut": 1, "cut and bent": 1, "inside": 1}


def test_no_layer_of_keras_keeps_a_gradient_from_its_weights(python: Path) -> None:
    told = said(python, LAYERS)
    assert len(told) > 70
    assert {name: found for name, found in told.items() if found} == {}


def test_what_tapes_differentiate_and_what_fit_tells_are_losses(python: Path) -> None:
    told = said(python, LOSSES)
    assert told["losses"] == pytest.approx(told["expected"]) and len(told["losses"]) == 3
    assert told["restored"]


def test_streams_begin_anew_and_doubles_end(python: Path) -> None:
    told = said(python, STREAMS)
    assert told["first"] == told["second"]
    assert (told["wide"], told["narrow"]) == ("float64", "float32")


ADAPTER = """
from fuzz_core.adapters.tensorflow.adapter import TensorFlowAdapter

adapter = TensorFlowAdapter()
tf = adapter.load()
adapter.prepare()
before = adapter.state()


def weights(dtype):
    adapter.reset(3)
    layer = tf.keras.layers.Dense(2)
    layer(tf.ones((1, 3), dtype))
    return layer.weights[0].numpy()


plain = weights("float32")
tf.keras.backend.set_floatx("float64")
switched = adapter.state() != before
tf.keras.utils.set_random_seed(8)
again = weights("float32")
with adapter.keras.in_doubles():
    double = weights("float64")
found = [switched, again.tolist() == plain.tolist(), adapter.state() == before, str(double.dtype)]
"""


def test_the_adapter_notices_and_puts_back_what_keras_keeps(python: Path) -> None:
    assert said(python, ADAPTER) == [True, True, True, "float64"]
