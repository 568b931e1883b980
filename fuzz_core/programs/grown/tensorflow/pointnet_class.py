"""PointNet on stock prices: each of 20 days is a point of 6 figures; it tells whether the price rises."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

CLASSES = 2
# 64 makes the model as wide as the published one.
WIDTH = 64

keras.utils.set_random_seed(0)
samples = tf.random.normal((120, 20, 6))
targets = tf.random.uniform((120,), maxval=CLASSES, dtype=tf.int32)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class PointNet(keras.Model):
    """Convolutions of each point alone, the peak over all points, and a classifier."""

    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv1D(WIDTH, 1)
        self.norm1 = layers.BatchNormalization()
        self.act1 = layers.ReLU()
        self.conv2 = layers.Conv1D(2 * WIDTH, 1)
        self.norm2 = layers.BatchNormalization()
        self.act2 = layers.ReLU()
        self.conv3 = layers.Conv1D(32 * WIDTH, 1)
        self.norm3 = layers.BatchNormalization()
        self.peak = layers.GlobalMaxPooling1D()
        self.dense1 = layers.Dense(16 * WIDTH)
        self.norm4 = layers.BatchNormalization()
        self.act4 = layers.ReLU()
        self.dense2 = layers.Dense(8 * WIDTH)
        self.drop = layers.Dropout(0.3)
        self.features = layers.Flatten()
        self.head = layers.Dense(CLASSES)

    def build(self, shape):
        """Each layer makes its weights when it first computes."""
        self.built = True

    def call(self, x, training=None):
        x = self.conv1(x)
        x = self.norm1(x)
        x = self.act1(x)
        x = self.conv2(x)
        x = self.norm2(x)
        x = self.act2(x)
        x = self.conv3(x)
        x = self.norm3(x)
        x = self.peak(x)
        x = self.dense1(x)
        x = self.norm4(x)
        x = self.act4(x)
        x = self.dense2(x)
        x = tf.nn.relu(x)
        x = self.drop(x)
        x = self.features(x)
        return self.head(x)


model = PointNet()
