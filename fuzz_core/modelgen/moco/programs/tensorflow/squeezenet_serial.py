"""SqueezeNet, by serial calls of layers.

The images are of 64 x 64 x 3: those of ImageNet, 224 x 224, cost twelve times as much.
"""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TRAINING, TESTING, BATCH, CLASSES = 100, 20, 100, 10
# 8 makes the model as wide as the published one.
WIDTH = 4

keras.utils.set_random_seed(0)
images = tf.random.uniform((TRAINING + TESTING, 64, 64, 3))
labels = tf.random.uniform((TRAINING + TESTING,), maxval=CLASSES, dtype=tf.int32)

inputs = keras.Input(shape=(64, 64, 3))
x = layers.Conv2D(8 * WIDTH, 3, strides=2, padding="valid")(inputs)
x = layers.ReLU()(x)
x = layers.MaxPooling2D(3, strides=2)(x)
x = layers.Conv2D(2 * WIDTH, 1)(x)
x = layers.ReLU()(x)
left = layers.Conv2D(8 * WIDTH, 1)(x)
right = layers.Conv2D(8 * WIDTH, 3, padding="same")(x)
x = layers.Concatenate()([left, right])
x = layers.ReLU()(x)
x = layers.Conv2D(2 * WIDTH, 1)(x)
x = layers.ReLU()(x)
left = layers.Conv2D(8 * WIDTH, 1)(x)
right = layers.Conv2D(8 * WIDTH, 3, padding="same")(x)
x = layers.Concatenate()([left, right])
x = layers.ReLU()(x)
x = layers.MaxPooling2D(3, strides=2)(x)
x = layers.Conv2D(4 * WIDTH, 1)(x)
x = layers.ReLU()(x)
left = layers.Conv2D(16 * WIDTH, 1)(x)
right = layers.Conv2D(16 * WIDTH, 3, padding="same")(x)
x = layers.Concatenate()([left, right])
x = layers.ReLU()(x)
x = layers.Conv2D(4 * WIDTH, 1)(x)
x = layers.ReLU()(x)
left = layers.Conv2D(16 * WIDTH, 1)(x)
right = layers.Conv2D(16 * WIDTH, 3, padding="same")(x)
x = layers.Concatenate()([left, right])
x = layers.ReLU()(x)
x = layers.MaxPooling2D(3, strides=2)(x)
x = layers.Conv2D(6 * WIDTH, 1)(x)
x = layers.ReLU()(x)
left = layers.Conv2D(24 * WIDTH, 1)(x)
right = layers.Conv2D(24 * WIDTH, 3, padding="same")(x)
x = layers.Concatenate()([left, right])
x = layers.ReLU()(x)
x = layers.Conv2D(6 * WIDTH, 1)(x)
x = layers.ReLU()(x)
left = layers.Conv2D(24 * WIDTH, 1)(x)
right = layers.Conv2D(24 * WIDTH, 3, padding="same")(x)
x = layers.Concatenate()([left, right])
x = layers.ReLU()(x)
x = layers.Conv2D(8 * WIDTH, 1)(x)
x = layers.ReLU()(x)
left = layers.Conv2D(32 * WIDTH, 1)(x)
right = layers.Conv2D(32 * WIDTH, 3, padding="same")(x)
x = layers.Concatenate()([left, right])
x = layers.ReLU()(x)
x = layers.Conv2D(8 * WIDTH, 1)(x)
x = layers.ReLU()(x)
left = layers.Conv2D(32 * WIDTH, 1)(x)
right = layers.Conv2D(32 * WIDTH, 3, padding="same")(x)
x = layers.Concatenate()([left, right])
x = layers.ReLU()(x)
x = layers.Dropout(0.5)(x)
x = layers.GlobalAveragePooling2D()(x)
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
