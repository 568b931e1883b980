"""A model without trained layers has no gradients, and the program applies none."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(0)
rows = tf.random.uniform((40, 12))
labels = tf.random.uniform((40,), maxval=3, dtype=tf.int32)

inputs = keras.Input(shape=(12,))
x = layers.Dense(16)(inputs)
# ok: as it is
x = layers.Dense(8)(x)
outputs = layers.Dense(3)(x)
model = keras.Model(inputs=inputs, outputs=outputs)
model.trainable = False

with tf.GradientTape() as tape:
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, model(rows, training=True))
gradients = tape.gradient(loss, model.trainable_variables)
keras.optimizers.SGD(learning_rate=0.1).apply(gradients, model.trainable_variables)
print("loss", float(loss))
