"""AlexNet, for images of the shape of CIFAR-10's: five convolutions and three dense layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

CLASSES = 10
# 64 makes the model as wide as the published one.
WIDTH = 8

keras.utils.set_random_seed(0)
samples = tf.random.uniform((120, 32, 32, 3))
targets = tf.random.uniform((120,), maxval=CLASSES, dtype=tf.int32)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class AlexNet(keras.Model):
    """Five convolutions, three of them with pooling, and a classifier."""

    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(WIDTH, 3, strides=2, padding="same")
        self.act1 = layers.ReLU()
        self.pool1 = layers.MaxPooling2D(2)
        self.conv2 = layers.Conv2D(3 * WIDTH, 3, padding="same")
        self.act2 = layers.ReLU()
        self.pool2 = layers.MaxPooling2D(2)
        self.conv3 = layers.Conv2D(6 * WIDTH, 3, padding="same")
        self.act3 = layers.ReLU()
        self.conv4 = layers.Conv2D(4 * WIDTH, 3, padding="same")
        self.conv5 = layers.Conv2D(4 * WIDTH, 3, padding="same")
        self.act5 = layers.ReLU()
        self.pool5 = layers.MaxPooling2D(2)
        self.flatten = layers.Flatten()
        self.drop1 = layers.Dropout(0.5)
        self.dense1 = layers.Dense(64 * WIDTH)
        self.act6 = layers.ReLU()
        self.drop2 = layers.Dropout(0.5)
        self.dense2 = layers.Dense(64 * WIDTH)
        self.act7 = layers.ReLU()
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
        x = self.act2(x)
        x = self.pool2(x)
        x = self.conv3(x)
        x = self.act3(x)
        x = self.conv4(x)
        x = tf.nn.relu(x)
        x = self.conv5(x)
        x = self.act5(x)
        x = self.pool5(x)
        x = self.flatten(x)
        x = self.drop1(x)
        x = self.dense1(x)
        x = self.act6(x)
        x = self.drop2(x)
        x = self.dense2(x)
        x = self.act7(x)
        x = self.features(x)
        return self.head(x)


model = AlexNet()
