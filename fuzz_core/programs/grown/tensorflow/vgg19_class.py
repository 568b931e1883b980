"""VGG19, for images of the shape of CIFAR-10's: sixteen convolutions and three dense layers."""

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


class Vgg19(keras.Model):
    """Five stages of convolutions, each with pooling, and a classifier."""

    def __init__(self):
        super().__init__()
        self.conv1a = layers.Conv2D(WIDTH, 3, padding="same", activation="relu")
        self.conv1b = layers.Conv2D(WIDTH, 3, padding="same", activation="relu")
        self.pool1 = layers.MaxPooling2D(2)
        self.conv2a = layers.Conv2D(2 * WIDTH, 3, padding="same", activation="relu")
        self.conv2b = layers.Conv2D(2 * WIDTH, 3, padding="same", activation="relu")
        self.pool2 = layers.MaxPooling2D(2)
        self.conv3a = layers.Conv2D(4 * WIDTH, 3, padding="same", activation="relu")
        self.conv3b = layers.Conv2D(4 * WIDTH, 3, padding="same", activation="relu")
        self.conv3c = layers.Conv2D(4 * WIDTH, 3, padding="same", activation="relu")
        self.conv3d = layers.Conv2D(4 * WIDTH, 3, padding="same", activation="relu")
        self.pool3 = layers.MaxPooling2D(2)
        self.conv4a = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")
        self.conv4b = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")
        self.conv4c = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")
        self.conv4d = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")
        self.pool4 = layers.MaxPooling2D(2)
        self.conv5a = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")
        self.conv5b = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")
        self.conv5c = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")
        self.conv5d = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")
        self.pool5 = layers.MaxPooling2D(2)
        self.flatten = layers.Flatten()
        self.dense1 = layers.Dense(64 * WIDTH)
        self.relu6 = layers.ReLU()
        self.drop6 = layers.Dropout(0.5)
        self.dense2 = layers.Dense(64 * WIDTH)
        self.drop7 = layers.Dropout(0.5)
        self.features = layers.Flatten()
        self.head = layers.Dense(CLASSES)

    def build(self, shape):
        """Each layer makes its weights when it first computes."""
        self.built = True

    def call(self, x, training=None):
        x = self.conv1a(x)
        x = self.conv1b(x)
        x = self.pool1(x)
        x = self.conv2a(x)
        x = self.conv2b(x)
        x = self.pool2(x)
        x = self.conv3a(x)
        x = self.conv3b(x)
        x = self.conv3c(x)
        x = self.conv3d(x)
        x = self.pool3(x)
        x = self.conv4a(x)
        x = self.conv4b(x)
        x = self.conv4c(x)
        x = self.conv4d(x)
        x = self.pool4(x)
        x = self.conv5a(x)
        x = self.conv5b(x)
        x = self.conv5c(x)
        x = self.conv5d(x)
        x = self.pool5(x)
        x = self.flatten(x)
        x = self.dense1(x)
        x = self.relu6(x)
        x = self.drop6(x)
        x = self.dense2(x)
        x = tf.nn.relu(x)
        x = self.drop7(x)
        x = self.features(x)
        return self.head(x)


model = Vgg19()
