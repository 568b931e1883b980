"""SqueezeNet: eight fire modules, each of which squeezes and then expands in two ways side by side.

The images are of 64 x 64 x 3: those of ImageNet, 224 x 224, cost twelve times as much.
"""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

CLASSES = 10
# 8 makes the model as wide as the published one.
WIDTH = 4

keras.utils.set_random_seed(0)
samples = tf.random.uniform((120, 64, 64, 3))
targets = tf.random.uniform((120,), maxval=CLASSES, dtype=tf.int32)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class SqueezeNet(keras.Model):
    """A stem, eight fire modules and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = layers.Conv2D(8 * WIDTH, 3, strides=2, padding="valid")
        self.act1 = layers.ReLU()
        self.pool1 = layers.MaxPooling2D(3, strides=2)
        self.squeeze2 = layers.Conv2D(2 * WIDTH, 1)
        self.act2 = layers.ReLU()
        self.left2 = layers.Conv2D(8 * WIDTH, 1)
        self.right2 = layers.Conv2D(8 * WIDTH, 3, padding="same")
        self.join2 = layers.Concatenate()
        self.squeeze3 = layers.Conv2D(2 * WIDTH, 1)
        self.act3 = layers.ReLU()
        self.left3 = layers.Conv2D(8 * WIDTH, 1)
        self.right3 = layers.Conv2D(8 * WIDTH, 3, padding="same")
        self.join3 = layers.Concatenate()
        self.pool3 = layers.MaxPooling2D(3, strides=2)
        self.squeeze4 = layers.Conv2D(4 * WIDTH, 1)
        self.act4 = layers.ReLU()
        self.left4 = layers.Conv2D(16 * WIDTH, 1)
        self.right4 = layers.Conv2D(16 * WIDTH, 3, padding="same")
        self.join4 = layers.Concatenate()
        self.squeeze5 = layers.Conv2D(4 * WIDTH, 1)
        self.act5 = layers.ReLU()
        self.left5 = layers.Conv2D(16 * WIDTH, 1)
        self.right5 = layers.Conv2D(16 * WIDTH, 3, padding="same")
        self.join5 = layers.Concatenate()
        self.pool5 = layers.MaxPooling2D(3, strides=2)
        self.squeeze6 = layers.Conv2D(6 * WIDTH, 1)
        self.act6 = layers.ReLU()
        self.left6 = layers.Conv2D(24 * WIDTH, 1)
        self.right6 = layers.Conv2D(24 * WIDTH, 3, padding="same")
        self.join6 = layers.Concatenate()
        self.squeeze7 = layers.Conv2D(6 * WIDTH, 1)
        self.act7 = layers.ReLU()
        self.left7 = layers.Conv2D(24 * WIDTH, 1)
        self.right7 = layers.Conv2D(24 * WIDTH, 3, padding="same")
        self.join7 = layers.Concatenate()
        self.squeeze8 = layers.Conv2D(8 * WIDTH, 1)
        self.act8 = layers.ReLU()
        self.left8 = layers.Conv2D(32 * WIDTH, 1)
        self.right8 = layers.Conv2D(32 * WIDTH, 3, padding="same")
        self.join8 = layers.Concatenate()
        self.squeeze9 = layers.Conv2D(8 * WIDTH, 1)
        self.act9 = layers.ReLU()
        self.left9 = layers.Conv2D(32 * WIDTH, 1)
        self.right9 = layers.Conv2D(32 * WIDTH, 3, padding="same")
        self.join9 = layers.Concatenate()
        self.drop = layers.Dropout(0.5)
        self.pool = layers.GlobalAveragePooling2D()
        self.features = layers.Flatten()
        self.head = layers.Dense(CLASSES)

    def build(self, shape):
        """Each layer makes its weights when it first computes."""
        self.built = True

    def call(self, x, training=None):
        x = self.stem(x)
        x = self.act1(x)
        x = self.pool1(x)
        x = self.squeeze2(x)
        x = self.act2(x)
        left = self.left2(x)
        right = self.right2(x)
        x = self.join2([left, right])
        x = tf.nn.relu(x)
        x = self.squeeze3(x)
        x = self.act3(x)
        left = self.left3(x)
        right = self.right3(x)
        x = self.join3([left, right])
        x = tf.nn.relu(x)
        x = self.pool3(x)
        x = self.squeeze4(x)
        x = self.act4(x)
        left = self.left4(x)
        right = self.right4(x)
        x = self.join4([left, right])
        x = tf.nn.relu(x)
        x = self.squeeze5(x)
        x = self.act5(x)
        left = self.left5(x)
        right = self.right5(x)
        x = self.join5([left, right])
        x = tf.nn.relu(x)
        x = self.pool5(x)
        x = self.squeeze6(x)
        x = self.act6(x)
        left = self.left6(x)
        right = self.right6(x)
        x = self.join6([left, right])
        x = tf.nn.relu(x)
        x = self.squeeze7(x)
        x = self.act7(x)
        left = self.left7(x)
        right = self.right7(x)
        x = self.join7([left, right])
        x = tf.nn.relu(x)
        x = self.squeeze8(x)
        x = self.act8(x)
        left = self.left8(x)
        right = self.right8(x)
        x = self.join8([left, right])
        x = tf.nn.relu(x)
        x = self.squeeze9(x)
        x = self.act9(x)
        left = self.left9(x)
        right = self.right9(x)
        x = self.join9([left, right])
        x = tf.nn.relu(x)
        x = self.drop(x)
        x = self.pool(x)
        x = self.features(x)
        return self.head(x)


model = SqueezeNet()
