"""LeNet on images of the shape of MNIST's, 28 x 28 x 1: convolutions and averages, then three dense layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

CLASSES = 10

keras.utils.set_random_seed(0)
samples = tf.random.uniform((120, 28, 28, 1))
targets = tf.random.uniform((120,), maxval=CLASSES, dtype=tf.int32)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class LeNet(keras.Model):
    """Two convolutional stages and a classifier."""

    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(6, kernel_size=5, padding="same")
        self.act1 = layers.Activation("tanh")
        self.pool1 = layers.AveragePooling2D(pool_size=2, strides=2)
        self.conv2 = layers.Conv2D(16, kernel_size=5)
        self.pool2 = layers.MaxPooling2D(pool_size=(2, 2))
        self.flatten = layers.Flatten()
        self.dense1 = layers.Dense(120, activation="relu")
        self.dense2 = layers.Dense(84)
        self.act2 = layers.Activation("sigmoid")
        self.features = layers.Flatten()
        self.head = layers.Dense(CLASSES)

    def build(self, shape):
        """Each layer makes its weights when it first computes."""
        self.built = True

    def call(self, x, training=None):
        x = self.conv1(x)
        x = self.act1(x)
        x = self.pool1(x)
        x = self.conv2(x)
        x = tf.nn.relu(x)
        x = self.pool2(x)
        x = self.flatten(x)
        x = self.dense1(x)
        x = self.dense2(x)
        x = self.act2(x)
        x = self.features(x)
        return self.head(x)


model = LeNet()
