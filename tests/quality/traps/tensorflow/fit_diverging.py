"""A learning rate with which weights explode, in a program that does not print its losses."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(0)
rows = tf.random.uniform((40, 12))
labels = tf.random.uniform((40, 1))

inputs = keras.Input(shape=(12,))
x = layers.Dense(16)(inputs)
# ok: as it is
# ok: layers.ReLU()
x = layers.Dense(16)(x)
outputs = layers.Dense(1)(x)
model = keras.Model(inputs=inputs, outputs=outputs)
model.compile(keras.optimizers.SGD(learning_rate=1e9), "mse")
model.fit(rows, labels, batch_size=4, epochs=2, verbose=0)
