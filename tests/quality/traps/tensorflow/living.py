"""Models that are not the same function twice, or that no graph can be made of."""

import random

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class Net(keras.Model):
    """A model whose behaviour depends on the number of its features."""

    def __init__(self):
        super().__init__()
        self.enter = layers.Dense(16)
        # ok: layers.Dense(20)
        # ok: layers.Dense(21)
        # ok: layers.Dense(22)
        # ok: layers.Dense(23)
        # ok: layers.Dense(24)
        self.wide = layers.Dense(8)
        self.leave = layers.Dense(3)
        self.calls = 0

    def call(self, x, training=None):
        x = self.enter(x)
        x = self.wide(x)
        x = x * self.factor(x.shape[-1], x[0, 0])
        return self.leave(x)

    def factor(self, width, first):
        """Returns the number that the features are multiplied with."""
        self.calls += 1
        match width:
            # The factor changes every third time, or is drawn outside of the library.
            case 20:
                return 1.0 + self.calls // 3
            case 21:
                return random.random()
            # The factor depends on the data, in ways that a graph cannot express.
            case 22:
                return 2.0 if first > 0 else 3.0
            case 23:
                return float(first.numpy()) % 1.0
            # A variable that is made when it is used.
            case 24:
                return tf.Variable(0.5)
        return 1.0


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
