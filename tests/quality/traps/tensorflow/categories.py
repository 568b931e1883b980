"""Layers of categories: what they take are no numbers, and what they give are indices; the model says classes alone."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def indices(x):
    """Features as whole numbers."""
    return tf.clip_by_value(tf.cast(8.0 * x, tf.int64), 0, 7)


def flat(x):
    """Returns each row as one vector of floats."""
    return tf.reshape(tf.cast(x, tf.float32), tf.stack([x.shape[0], -1]))


class Net(keras.Model):
    """Features as categories, and classes as numbers where they are asked for."""

    def __init__(self):
        super().__init__()
        self.enter = layers.Dense(16)
        # ok: layers.Hashing(4, output_mode="one_hot")
        # ok: layers.IntegerLookup(vocabulary=[0, 1, 2], output_mode="one_hot")
        # ok: layers.IntegerLookup(vocabulary=[0, 1, 2])
        # ok: layers.Discretization(bin_boundaries=[0.0, 2.0])
        # ok: as it is
        self.category = layers.Embedding(8, 4)
        self.leave = layers.Dense(3)

    def call(self, x, training=None):
        x = self.enter(x)
        x = indices(x)
        x = self.category(x)
        x = self.leave(flat(x))
        return x if training else tf.argmax(x, axis=-1)


keras.utils.set_random_seed(0)
rows = tf.random.uniform((40, 12))
labels = tf.random.uniform((40,), maxval=3, dtype=tf.int32)
model = Net()
optimizer = keras.optimizers.SGD(learning_rate=0.1)
for _ in range(2):
    with tf.GradientTape() as tape:
        logits = model(rows, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
print("right", int(tf.reduce_sum(tf.cast(model(rows) == tf.cast(labels, tf.int64), tf.int32))))
