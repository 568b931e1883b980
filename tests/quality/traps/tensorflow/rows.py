"""Rows of numbers in three classes, by serial calls of layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(0)
rows = tf.random.uniform((40, 12))
labels = tf.random.uniform((40,), maxval=3, dtype=tf.int32)

inputs = keras.Input(shape=(12,))
x = layers.Dense(16)(inputs)
# The layer takes another rank, or another number of elements, than arrives.
# misfit: layers.Conv2D(4, 3)
# misfit: layers.Reshape((5, 5))
# The layer returns indices, which pass no gradient.
# ok: layers.Discretization(bin_boundaries=[0.0, 0.5])
# The result has one dimension more: the layers accept it and the loss does not.
# training configuration: layers.Reshape((4, 4))
# More memory than there is.
# resources: layers.Dense(10**11)
# The library refuses the layer when it is made or used.
# refused: layers.Dropout(1.5)
# refused: layers.Dense("eight")
# refused: layers.Dense(8, activation="none")
# refused: layers.Softmax(axis=5)
# Random: two runs drop different elements.
# ok: layers.Dropout(0.9)
# ok: layers.GaussianNoise(0.9)
# The layer casts to half precision itself, is frozen, or has no effect.
# ok: layers.Dense(8, dtype="float16")
# ok: layers.Dense(8, trainable=False)
# ok: layers.ReLU(threshold=1000.0)
x = layers.Dense(8)(x)
# ok: layers.BatchNormalization(trainable=False)
x = layers.LeakyReLU()(x)
outputs = layers.Dense(3)(x)
model = keras.Model(inputs=inputs, outputs=outputs)

criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(learning_rate=0.1)
for start in range(0, 40, 20):
    with tf.GradientTape() as tape:
        loss = criterion(labels[start : start + 20], model(rows[start : start + 20], training=True))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
print("loss", float(loss))
