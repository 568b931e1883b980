"""A learning rate with which weights explode, logarithms of 0, and a batch without rows."""

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

optimizer = keras.optimizers.SGD(learning_rate=1e9)
for start in range(0, 60, 20):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows[start : start + 20], training=True) - labels[start : start + 20]) ** 2)
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    print("loss", float(loss))
print("loss", float(-tf.reduce_mean(tf.math.log(tf.nn.softmax(tf.concat([rows, 300 * rows], 1))))))
