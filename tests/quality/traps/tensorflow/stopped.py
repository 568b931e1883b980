"""Weights without a gradient: step functions have none, some functions stop it by design, and the program stops others.

If the result of a layer does not depend on its weights or is not used, the layer has no gradient either.
"""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class Scale(layers.Layer):
    """A layer that stops the gradient of its own factor."""

    def __init__(self):
        super().__init__()
        self.factor = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        return x * tf.stop_gradient(self.factor)


@tf.custom_gradient
def forgets(x):
    """A gradient of its own, which is none."""
    return x * 2.0, lambda slope: None


def passed(x, before, layer):
    """Returns the features after a function that their number chooses."""
    match x.shape[-1]:
        # Stopped, or not recorded.
        case 20:
            return tf.stop_gradient(x)
        case 21:
            return forgets(x)
        case 22:
            with tf.GradientTape() as tape, tape.stop_recording():
                return 2.0 * x
        case 23:
            return tf.constant(x.numpy())
        # Steps.
        case 24:
            return tf.round(8.0 * x)
        case 25:
            return tf.one_hot(tf.argmax(x, axis=-1), 25)
        case 26:
            return tf.cast(tf.cast(8.0 * x, tf.int32), tf.float32)
        # The features are not used, have no effect, or their layer's weights are used outside of the layer.
        case 27:
            return before
        case 28:
            return before + 0.0 * tf.reduce_sum(x)
        case 29:
            return before @ tf.stop_gradient(layer.kernel)
    return x


class Net(keras.Model):
    """A layer in the middle, and what is made of it."""

    def __init__(self):
        super().__init__()
        self.enter = layers.Dense(16)
        # ok: layers.Dense(20)
        # ok: layers.Dense(21)
        # ok: layers.Dense(22)
        # ok: layers.Dense(23)
        # ok: layers.Dense(24)
        # ok: layers.Dense(25)
        # ok: layers.Dense(26)
        # ok: layers.Dense(27)
        # ok: layers.Dense(28)
        # ok: layers.Dense(29)
        # ok: layers.Dense(8, activation=tf.stop_gradient)
        # ok: layers.Dense(8, activation=tf.round)
        # ok: layers.Dense(8, activation=tf.sign)
        # ok: layers.Discretization(bin_boundaries=[0.0, 0.5], output_mode="one_hot")
        # ok: layers.Dense(8, trainable=False)
        # ok: layers.PReLU(trainable=False)
        # ok: layers.BatchNormalization(scale=False)
        # ok: layers.SpectralNormalization(layers.Dense(8))
        # ok: layers.PReLU()
        self.wide = layers.Dense(8)
        self.scale = Scale()
        self.leave = layers.Dense(3)

    def call(self, x, training=None):
        before = self.enter(x)
        x = self.wide(before)
        x = passed(x, before, self.wide)
        x = self.scale(x)
        return self.leave(tf.reshape(x, tf.stack([x.shape[0], -1])))


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
print("loss", float(loss))
