"""Programs with faults of their own: no case is the library's fault."""

import os
import random
import sys

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

kept = []


def act(width):
    """Runs one of the cases, chosen by the number of features that arrive."""
    match width:
        # The program ends, or is interrupted.
        case 20:
            sys.exit("enough")
        case 21:
            raise KeyboardInterrupt
        # The program has mistakes of its own.
        case 22:
            print({"a width": 8}[width])
        case 23:
            print(undefined)  # noqa: F821
        case 24:
            if width < 20:
                late = 1
            print(late)
        case 25:
            act(width)
        # Megabytes of text.
        case 26:
            print("x" * 5_000_000)
        case 27:
            os.write(1, b"x" * 5_000_000)
        # The program changes settings of the whole process.
        case 40:
            keras.config.set_floatx("float64")
        case 41:
            keras.mixed_precision.set_global_policy("mixed_float16")
        case 42:
            tf.config.run_functions_eagerly(True)
        case 43:
            keras.utils.set_random_seed(random.SystemRandom().randrange(2**31))
        case 44:
            tf.config.experimental.enable_op_determinism()
        case 45:
            tf.random.Generator.from_non_deterministic_state()
        case 46:
            tf.debugging.enable_check_numerics()
        case 47:
            print(tf.math.log(tf.constant(-1.0)))
        case 48:
            tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode="all")
        case 49:
            keras.config.set_epsilon(1.0)
        case 50:
            print(tf.constant(1, tf.int32) + tf.constant(1.0, tf.float64))
        case 51:
            assert keras.config.epsilon() < 1e-3


class Net(keras.Model):
    """A model that runs one of these cases between its layers; a graph cannot see what the case does with numbers."""

    def __init__(self):
        super().__init__()
        self.enter = layers.Dense(16)
        # training configuration: layers.Dense(20)
        # training configuration: layers.Dense(21)
        # training configuration: layers.Dense(22)
        # syntax: layers.Dense(23)
        # syntax: layers.Dense(24)
        # training configuration: layers.Dense(25)
        # ok: layers.Dense(26)
        # ok: layers.Dense(27)
        # ok: layers.Dense(40)
        # ok: layers.Dense(41)
        # ok: layers.Dense(42)
        # ok: layers.Dense(43)
        # ok: layers.Dense(44)
        # Settings for determinism or checks end with the program that makes them.
        # ok: layers.Dense(45)
        # ok: layers.Dense(46)
        # ok: layers.Dense(47)
        # ok: layers.Dense(48)
        # ok: layers.Dense(49)
        # misfit: layers.Dense(50)
        # ok: layers.Dense(51)
        self.wide = layers.Dense(8)
        self.leave = layers.Dense(3)

    def call(self, x, training=None):
        x = self.enter(x)
        x = self.wide(x)
        act(x.shape[-1])
        return self.leave(x)


keras.utils.set_random_seed(0)
rows = tf.random.uniform((40, 12))
labels = tf.random.uniform((40,), maxval=3, dtype=tf.int32)
model = Net()
optimizer = keras.optimizers.SGD(learning_rate=0.1)
for _ in range(2):
    with tf.GradientTape() as tape:
        logits = model(rows, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
print("loss", float(loss))
