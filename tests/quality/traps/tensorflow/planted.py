"""Faults that a library has inside of programs alone, and that are to be found."""

import linecache

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FAULTS = """
import os, signal
import tensorflow as tf

def dies(self, inputs):
    os.kill(os.getpid(), signal.SIGSEGV)

def fails(self, inputs):
    raise tf.errors.InternalError(None, None, "no kernel image")

def slips(self, inputs):
    return inputs * {}["slope"]

def compiles_wrongly(self, inputs):
    return inputs * 1.0 if tf.executing_eagerly() else inputs + 1.0

@tf.custom_gradient
def cut(inputs, alpha):
    slopes = lambda slope: (tf.where(inputs > 0.0, slope, alpha * slope), None)
    return tf.nn.relu(inputs) - alpha * tf.nn.relu(-inputs), slopes

def cuts(self, inputs):
    return cut(inputs, tf.convert_to_tensor(self.alpha))
"""
linecache.cache["faults.py"] = (len(FAULTS), None, FAULTS.splitlines(keepends=True), "faults.py")
faults = {}
exec(compile(FAULTS, "faults.py", "exec"), faults)
layers.ELU.call = faults["dies"]
layers.Softmax.call = faults["fails"]
layers.UnitNormalization.call = faults["slips"]
layers.LeakyReLU.call = faults["compiles_wrongly"]
layers.PReLU.call = faults["cuts"]

keras.utils.set_random_seed(0)
rows = tf.random.uniform((40, 12))
labels = tf.random.uniform((40,), maxval=3, dtype=tf.int32)

inputs = keras.Input(shape=(12,))
x = layers.Dense(16)(inputs)
# finding crash: layers.ELU()
# finding internal-error: layers.Softmax()
# finding internal-error: layers.UnitNormalization()
# finding wrong-result: layers.LeakyReLU()
# finding wrong-gradient: layers.PReLU()
x = layers.ReLU()(x)
outputs = layers.Dense(3)(x)
model = keras.Model(inputs=inputs, outputs=outputs)

optimizer = keras.optimizers.SGD(learning_rate=0.1)
with tf.GradientTape() as tape:
    logits = model(rows, training=True)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
print("loss", float(loss))
