"""MobileNet, for images of the shape of CIFAR-10's, by serial calls of layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 10
# 8 makes the model as wide as the published one.
WIDTH = 4

keras.utils.set_random_seed(0)
images = tf.random.uniform((TRAINING + TESTING, 32, 32, 3))
labels = tf.random.uniform((TRAINING + TESTING,), maxval=CLASSES, dtype=tf.int32)

inputs = keras.Input(shape=(32, 32, 3))
x = layers.Conv2D(4 * WIDTH, 3, strides=2, padding="same", use_bias=False)(inputs)
x = layers.BatchNormalization()(x)
x = layers.ReLU(max_value=6.0)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(8 * WIDTH, 1, use_bias=False)(x)
x = layers.BatchNormalization()(x)
x = layers.ReLU(max_value=6.0)(x)
x = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(x)
x = layers.Conv2D(16 * WIDTH, 1, use_bias=False)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(16 * WIDTH, 1, use_bias=False)(x)
x = layers.ReLU(max_value=6.0)(x)
x = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(x)
x = layers.Conv2D(32 * WIDTH, 1, use_bias=False)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(32 * WIDTH, 1, use_bias=False)(x)
x = layers.BatchNormalization()(x)
x = layers.ReLU(max_value=6.0)(x)
x = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(x)
x = layers.Conv2D(64 * WIDTH, 1, use_bias=False)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(64 * WIDTH, 1, use_bias=False)(x)
x = layers.ReLU(max_value=6.0)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(64 * WIDTH, 1, use_bias=False)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(64 * WIDTH, 1, use_bias=False)(x)
x = layers.ReLU(max_value=6.0)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(64 * WIDTH, 1, use_bias=False)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(64 * WIDTH, 1, use_bias=False)(x)
x = layers.BatchNormalization()(x)
x = layers.ReLU(max_value=6.0)(x)
x = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(x)
x = layers.Conv2D(128 * WIDTH, 1, use_bias=False)(x)
x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
x = layers.Conv2D(128 * WIDTH, 1, use_bias=False)(x)
x = layers.BatchNormalization()(x)
x = layers.ReLU(max_value=6.0)(x)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.001)(x)
x = layers.Flatten()(x)
outputs = layers.Dense(CLASSES)(x)
model = keras.Model(inputs, outputs)

criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(learning_rate=0.01)
for start in range(0, TRAINING, BATCH):
    with tf.GradientTape() as tape:
        logits = model(images[start : start + BATCH], training=True)
        loss = criterion(labels[start : start + BATCH], logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

loss = criterion(labels[TRAINING:], model(images[TRAINING:], training=False))
print("loss", float(loss))
