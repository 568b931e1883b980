"""LeNet on images of the shape of MNIST's, 28 x 28 x 1, by serial calls of layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

CLASSES = 10

keras.utils.set_random_seed(0)
samples = tf.random.uniform((120, 28, 28, 1))
targets = tf.random.uniform((120,), maxval=CLASSES, dtype=tf.int32)
criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

inputs = keras.Input(shape=(28, 28, 1))
x = layers.Conv2D(6, kernel_size=5, padding="same")(inputs)
x = layers.Activation("tanh")(x)
x = layers.AveragePooling2D(pool_size=2, strides=2)(x)
x = layers.Conv2D(16, kernel_size=5)(x)
x = layers.ReLU()(x)
x = layers.MaxPooling2D(pool_size=(2, 2))(x)
x = layers.Flatten()(x)
x = layers.Dense(120, activation="relu")(x)
x = layers.Dense(84)(x)
x = layers.Activation("sigmoid")(x)
x = layers.Flatten()(x)
outputs = layers.Dense(CLASSES)(x)
model = keras.Model(inputs=inputs, outputs=outputs)
