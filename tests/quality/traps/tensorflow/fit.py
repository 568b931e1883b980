"""Labels by number, and a loss that wants one column for each class; a graph trains."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(0)
rows = tf.random.uniform((40, 12))
labels = tf.random.uniform((40,), maxval=3, dtype=tf.int32)

inputs = keras.Input(shape=(12,))
x = layers.Dense(16)(inputs)
# training configuration: as it is
x = layers.ReLU()(x)
outputs = layers.Dense(3, activation="softmax")(x)
model = keras.Model(inputs=inputs, outputs=outputs)
model.compile("sgd", "categorical_crossentropy")
print("loss", model.fit(rows, labels, verbose=0).history["loss"][-1])
