"""MobileNet, for images of the shape of CIFAR-10's: thirteen depthwise convolutions, each before a pointwise one."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

CLASSES = 10
# 8 makes the model as wide as the published one.
WIDTH = 4

keras.utils.set_random_seed(0)
samples = tf.random.uniform((120, 32, 32, 3))
targets = tf.random.uniform((120,), maxval=CLASSES, dtype=tf.int32)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class MobileNet(keras.Model):
    """A stem, thirteen separable convolutions and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem = layers.Conv2D(4 * WIDTH, 3, strides=2, padding="same", use_bias=False)
        self.norm = layers.BatchNormalization()
        self.act = layers.ReLU(max_value=6.0)
        self.depth1 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point1 = layers.Conv2D(8 * WIDTH, 1, use_bias=False)
        self.norm1 = layers.BatchNormalization()
        self.act1 = layers.ReLU(max_value=6.0)
        self.depth2 = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)
        self.point2 = layers.Conv2D(16 * WIDTH, 1, use_bias=False)
        self.depth3 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point3 = layers.Conv2D(16 * WIDTH, 1, use_bias=False)
        self.depth4 = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)
        self.point4 = layers.Conv2D(32 * WIDTH, 1, use_bias=False)
        self.depth5 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point5 = layers.Conv2D(32 * WIDTH, 1, use_bias=False)
        self.norm5 = layers.BatchNormalization()
        self.act5 = layers.ReLU(max_value=6.0)
        self.depth6 = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)
        self.point6 = layers.Conv2D(64 * WIDTH, 1, use_bias=False)
        self.depth7 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point7 = layers.Conv2D(64 * WIDTH, 1, use_bias=False)
        self.act7 = layers.ReLU(max_value=6.0)
        self.depth8 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point8 = layers.Conv2D(64 * WIDTH, 1, use_bias=False)
        self.depth9 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point9 = layers.Conv2D(64 * WIDTH, 1, use_bias=False)
        self.depth10 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point10 = layers.Conv2D(64 * WIDTH, 1, use_bias=False)
        self.depth11 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point11 = layers.Conv2D(64 * WIDTH, 1, use_bias=False)
        self.norm11 = layers.BatchNormalization()
        self.act11 = layers.ReLU(max_value=6.0)
        self.depth12 = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)
        self.point12 = layers.Conv2D(128 * WIDTH, 1, use_bias=False)
        self.depth13 = layers.DepthwiseConv2D(3, padding="same", use_bias=False)
        self.point13 = layers.Conv2D(128 * WIDTH, 1, use_bias=False)
        self.norm13 = layers.BatchNormalization()
        self.act13 = layers.ReLU(max_value=6.0)
        self.pool = layers.GlobalAveragePooling2D()
        self.drop = layers.Dropout(0.001)
        self.features = layers.Flatten()
        self.head = layers.Dense(CLASSES)

    def build(self, shape):
        """Each layer makes its weights when it first computes."""
        self.built = True

    def call(self, x, training=None):
        x = self.stem(x)
        x = self.norm(x)
        x = self.act(x)
        x = self.depth1(x)
        x = self.point1(x)
        x = self.norm1(x)
        x = self.act1(x)
        x = self.depth2(x)
        x = self.point2(x)
        x = self.depth3(x)
        x = self.point3(x)
        x = tf.nn.relu6(x)
        x = self.depth4(x)
        x = self.point4(x)
        x = self.depth5(x)
        x = self.point5(x)
        x = self.norm5(x)
        x = self.act5(x)
        x = self.depth6(x)
        x = self.point6(x)
        x = self.depth7(x)
        x = self.point7(x)
        x = self.act7(x)
        x = self.depth8(x)
        x = self.point8(x)
        x = self.depth9(x)
        x = self.point9(x)
        x = tf.nn.relu6(x)
        x = self.depth10(x)
        x = self.point10(x)
        x = self.depth11(x)
        x = self.point11(x)
        x = self.norm11(x)
        x = self.act11(x)
        x = self.depth12(x)
        x = self.point12(x)
        x = self.depth13(x)
        x = self.point13(x)
        x = self.norm13(x)
        x = self.act13(x)
        x = self.pool(x)
        x = self.drop(x)
        x = self.features(x)
        return self.head(x)


model = MobileNet()
