"""VGG19, for images of the shape of CIFAR-10's, by serial calls of layers."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 10
# 64 makes the model as wide as the published one.
WIDTH = 8

keras.utils.set_random_seed(0)
images = tf.random.uniform((TRAINING + TESTING, 32, 32, 3))
labels = tf.random.uniform((TRAINING + TESTING,), maxval=CLASSES, dtype=tf.int32)

inputs = keras.Input(shape=(32, 32, 3))
x = layers.Conv2D(WIDTH, 3, padding="same", activation="relu")(inputs)
x = layers.Conv2D(WIDTH, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D(2)(x)
x = layers.Conv2D(2 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(2 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D(2)(x)
x = layers.Conv2D(4 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(4 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(4 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(4 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D(2)(x)
x = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D(2)(x)
x = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(8 * WIDTH, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D(2)(x)
x = layers.Flatten()(x)
x = layers.Dense(64 * WIDTH)(x)
x = layers.ReLU()(x)
x = layers.Dropout(0.5)(x)
x = layers.Dense(64 * WIDTH)(x)
x = layers.ReLU()(x)
x = layers.Dropout(0.5)(x)
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
